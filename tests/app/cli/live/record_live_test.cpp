// sluice record --live: peers can watch a recording while it is written, and cannot disturb it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <thread>

#include "core/remote/address.hpp"
#include "tests/app/cli/sluice_program.hpp"
#include "tests/core/remote/raw_peer.hpp"

namespace sluice {
namespace {

using remote::frame_kind;
using remote::raw_peer;
using testing::HasSubstr;
using testing::Not;
using writer::recorded;
using namespace trace;

bool becomes(const std::function<bool()>& true_) {
  for (int i = 0; i < 1'000; ++i) {
    if (true_()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

std::size_t allocations_in(const snapshot& recording) {
  std::size_t count = 0;
  EXPECT_TRUE(recording.for_each<alloc_event>([&](const alloc_event&) { ++count; }));
  return count;
}

class record_live_test : public sluice_program {
 protected:
  pid_t begin(const std::vector<std::string>& options, const std::string& method) {
    std::vector<std::string> words{"record"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"-o", "t.sluice", "--force", "--", guest, method});
    return begin_sluice(words);
  }
  /// The name of the socket that the program prints.
  std::string printed_socket() {
    const std::string before = "sluice open --live ";
    std::string line;
    EXPECT_TRUE(becomes([&] {
      const std::string text = make_content(file("err"));
      const std::size_t at = text.find(before);
      const std::size_t end = at == std::string::npos ? at : text.find('\n', at);
      if (end != std::string::npos) line = text.substr(at + before.size(), end - at - before.size());
      return !line.empty();
    }));
    return line;
  }
};

TEST_F(record_live_test, prints_a_socket_through_which_all_of_it_comes) {
  const pid_t child = begin({"--live"}, "trickle");
  const std::string socket = printed_socket();
  struct stat folder {};
  ASSERT_EQ(::stat(std::filesystem::path(socket).parent_path().c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
  const auto opened = remote::open_address("live:" + socket, {}, {});
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_EQ(opened->title, "t.sluice");
  std::shared_ptr<trace::file> shown = opened->file;
  EXPECT_TRUE(shown->latest()->growing());
  // When the recording ends, the finished file replaces the live file.
  EXPECT_TRUE(becomes([&] {
    EXPECT_TRUE(shown->refresh());
    if (const auto next = shown->successor(); next && *next) shown = *next;
    return shown->latest()->complete();
  }));
  const program_result done = end_sluice(child);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(allocations_in(*shown->latest()), recorded(file("t.sluice")).all<alloc_event>().size());
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(record_live_test, peers_that_stop_reading_or_say_nothing_or_nonsense_cost_no_event) {
  const std::string socket = file("s");
  const pid_t child = begin({"--live=s"}, "trickle");
  EXPECT_EQ(printed_socket(), std::filesystem::absolute(socket).lexically_normal().string());
  ASSERT_TRUE(becomes([&] { return exists("t.sluice") && std::filesystem::file_size(file("t.sluice")) > 20'000; }));
  const raw_peer stuck(socket), mute(socket), wrong(socket);
  stuck.greet();
  stuck.send(frame_kind::look, remote::look_message{});
  for (int i = 0; i < 50; ++i) stuck.send(frame_kind::read, remote::read_message{1, 0, remote::max_read, 0});
  std::vector<std::byte> noise(std::size_t{100'000}, std::byte{0xff});
  wrong.send(noise);
  std::vector<std::unique_ptr<raw_peer>> many;
  for (int i = 0; i < 50; ++i) many.push_back(std::make_unique<raw_peer>(socket));
  const program_result done = end_sluice(child);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr(", 0 lost"));
  const writer::recorded kept(file("t.sluice"));
  EXPECT_TRUE(kept.snapshot().complete());
}

TEST_F(record_live_test, a_socket_that_cannot_be_is_125_and_the_command_is_not_started) {
  write("taken", "precious");
  for (const char* option : {"--live=taken", "--live=/no/such/folder/s"}) {
    const program_result refused = run_sluice({"record", option, "-o", "t.sluice", "--", "touch", "ran"});
    EXPECT_EQ(refused.status, 125) << option;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
  EXPECT_FALSE(exists("ran"));
  EXPECT_FALSE(exists("t.sluice"));
  EXPECT_EQ(make_content(file("taken")), "precious");
  const program_result both = run_sluice({"record", "--live", "--on-oom", "-o", "t.sluice", "--", "touch", "ran"});
  EXPECT_EQ(both.status, 125);
  EXPECT_THAT(both.err, HasSubstr("--on-oom"));
}

}  // namespace
}  // namespace sluice
