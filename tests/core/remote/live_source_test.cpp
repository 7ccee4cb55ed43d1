// A recording watched through a socket while it is written.
#include "core/remote/live_source.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/remote/address.hpp"
#include "core/remote/live_server.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/remote/false_server.hpp"
#include "tests/core/remote/watched.hpp"

namespace sluice::remote {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ms;

class live_source_test : public ::testing::Test {
 protected:
  void SetUp() override {
    recorded_.standard_tables();
    server_ = live_server::start(recorded_.path(), socket_).value();
  }
  [[nodiscard]] result<opened_address> open() const { return open_address(std::string(live_scheme) + socket_, {}, {}); }

  testing::recording recorded_;
  const std::string socket_ = recorded_.path() + ".live";
  std::unique_ptr<live_server> server_;
};

TEST_F(live_source_test, grows_with_the_recording_and_ends_with_it) {
  recorded_.add_kernel(1 * ms, 2 * ms);
  recorded_.flush();
  const auto opened = open();
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto& file = opened->file;
  EXPECT_EQ(opened->title, fs::path(recorded_.path()).filename().string());
  EXPECT_TRUE(file->latest()->growing());
  EXPECT_EQ(kernels_in(*file->latest()), 1U);
  for (int i = 0; i < 20'000; ++i) recorded_.add_kernel((2 + i) * ms, (3 + i) * ms);
  recorded_.flush();
  EXPECT_TRUE(becomes([&] { return file->refresh().value_or(false) && kernels_in(*file->latest()) == 20'001; }));
  EXPECT_TRUE(file->latest()->growing());
  recorded_.close();
  EXPECT_TRUE(becomes([&] { return file->refresh() && file->latest()->complete(); }));
  EXPECT_FALSE(file->latest()->growing());
  EXPECT_TRUE(file->latest()->warnings().empty());
}

TEST_F(live_source_test, what_came_can_be_saved) {
  recorded_.add_kernel(1 * ms, 2 * ms);
  recorded_.close();
  const auto opened = open();
  ASSERT_TRUE(opened);
  const std::string saved = recorded_.path() + ".saved";
  const int to = ::open(saved.c_str(), O_WRONLY | O_CREAT, 0600);
  EXPECT_TRUE(trace::copy_bytes(*opened->source, to));
  ::close(to);
  EXPECT_EQ(bytes_of_file(saved), bytes_of_file(recorded_.path()));
  fs::remove(saved);
}

TEST_F(live_source_test, what_came_stays_when_the_connection_breaks_and_one_message_says_so) {
  for (int i = 0; i < 100; ++i) recorded_.add_kernel(i * ms, (i + 1) * ms);
  recorded_.flush();
  const auto opened = open();
  ASSERT_TRUE(opened);
  const auto& file = opened->file;
  server_.reset();
  EXPECT_TRUE(becomes([&] { return file->refresh() && !file->latest()->growing(); }));
  EXPECT_FALSE(file->latest()->complete());
  EXPECT_EQ(kernels_in(*file->latest()), 100U);
  ASSERT_EQ(file->latest()->warnings().size(), 1U);
  EXPECT_NE(file->latest()->warnings()[0].find("showing the recording up to then"), std::string::npos);
  EXPECT_FALSE(file->refresh().value());
}

TEST_F(live_source_test, follows_a_file_that_takes_the_place_of_the_recording) {
  for (int i = 0; i < 100; ++i) recorded_.add_kernel(i * ms, (i + 1) * ms);
  recorded_.flush();
  const auto opened = open();
  ASSERT_TRUE(opened);
  const std::uint64_t mark = recorded_.writer().mark().value();
  recorded_.add_kernel(1'000 * ms, 1'001 * ms);
  recorded_.flush();
  ASSERT_TRUE(recorded_.writer().drop_before(mark));
  std::shared_ptr<trace::file> next;
  EXPECT_TRUE(becomes([&] {
    EXPECT_TRUE(opened->file->refresh());
    next = opened->file->successor().value_or(nullptr);
    return next != nullptr;
  }));
  EXPECT_EQ(kernels_in(*next->latest()), 1U);
  EXPECT_TRUE(next->latest()->growing());
  EXPECT_EQ(kernels_in(*opened->file->latest()), 101U) << "the earlier file can still be read";
}

TEST_F(live_source_test, says_what_it_cannot_open) {
  const auto absent = open_address("live:/no/such/socket", {}, {});
  EXPECT_EQ(absent.error().code, error_code::not_found);
  const auto cancelled = follow_live(socket_, "live", [] { return true; });
  EXPECT_EQ(cancelled.error().code, error_code::cancelled);
}

TEST(live_source, an_invalid_greeting_is_foreign) {
  const std::string path = fs::temp_directory_path() / ("sluice-false-" + std::to_string(::getpid()));
  false_server server(path);
  server.run([](const frame&, std::vector<std::byte>& out) {
    const std::string text = "220 mail.example.org ESMTP ready, and more than a header's length";
    const auto bytes = std::as_bytes(std::span(text));
    out.assign(bytes.begin(), bytes.end());
    return false;
  });
  EXPECT_EQ(follow_live(path, "live").error().code, error_code::foreign);
}

TEST(live_source, a_server_that_lies_is_left_and_does_no_harm) {
  const std::string path = fs::temp_directory_path() / ("sluice-false-" + std::to_string(::getpid()));
  for (const int lie : {0, 1, 2, 3}) {
    false_server server(path);
    server.run([lie](const frame& asked, std::vector<std::byte>& out) {
      if (asked.kind == frame_kind::hello) {
        put_frame(out, frame_kind::hello, asked.id, get_bytes(hello_message{}));
      } else if (asked.kind == frame_kind::look) {
        extent_message message{1, 1, 1'000, 1};
        if (lie == 0) message.bytes = ~std::uint64_t{0};
        if (lie == 1) message.growing = 17;
        put_frame(out, frame_kind::extent, asked.id, get_bytes(message));
      } else if (lie == 2) {  // Sends more bytes than were requested.
        put_frame(out, frame_kind::bytes, asked.id, std::vector<std::byte>(2'000));
      } else {
        put_frame(out, frame_kind::extent, asked.id, get_bytes(extent_message{}));
      }
      return true;
    });
    const auto opened = follow_live(path, "live");
    ASSERT_FALSE(opened) << lie;
    EXPECT_EQ(opened.error().code, error_code::corrupt) << lie;
  }
}

}  // namespace
}  // namespace sluice::remote
