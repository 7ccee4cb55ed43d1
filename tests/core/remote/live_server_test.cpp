// A server of a growing recording, and clients that misbehave.
#include "core/remote/live_server.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/remote/raw_peer.hpp"

namespace sluice::remote {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::ms;

class live_server_test : public ::testing::Test {
 protected:
  /// Limits with deadlines that are short enough for a test.
  static server_limits short_limits() {
    return {.connections = 3,
            .greeting = milliseconds(200),
            .stalled = milliseconds(300),
            .reply = milliseconds(2'000),
            .silent = milliseconds(200)};
  }
  void serve(const server_limits& limits = short_limits()) {
    auto output = live_server::start(recorded_.path(), socket_, limits);
    ASSERT_TRUE(output) << output.error().to_string();
    server_ = std::move(*output);
  }
  /// Makes the recording larger than any socket buffer.
  void write_megabytes() {
    std::ofstream more(recorded_.path(), std::ios::binary | std::ios::app);
    more << std::string(std::size_t{8} << 20, 'x');
  }
  void TearDown() override {
    server_.reset();
    EXPECT_FALSE(fs::exists(socket_)) << "the server removes its socket";
  }

  testing::recording recorded_;
  const std::string socket_ = recorded_.path() + ".live";
  std::unique_ptr<live_server> server_;
};

TEST_F(live_server_test, tells_how_much_there_is_and_sends_it) {
  serve();
  raw_peer peer(socket_);
  peer.greet();
  const auto hello = peer.next();
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->kind, frame_kind::hello);
  peer.send(frame_kind::look, look_message{});
  const auto extent = message_in<extent_message>(peer.next().value().payload).value();
  EXPECT_EQ(extent.generation, 1U);
  EXPECT_EQ(extent.newest, 1U);
  EXPECT_EQ(extent.growing, 1U);
  EXPECT_EQ(extent.bytes, fs::file_size(recorded_.path()));
  peer.send(frame_kind::read, read_message{1, 0, 64, 0}, 9);
  const auto bytes = peer.next();
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->id, 9U);
  ASSERT_EQ(bytes->payload.size(), 64U);
  EXPECT_EQ(message_in<std::uint64_t>(bytes->payload), trace::file_magic);
}

TEST_F(live_server_test, is_for_this_user_alone) {
  serve();
  struct stat status {};
  ASSERT_EQ(::stat(socket_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(live_server_test, reads_behind_the_end_and_of_absent_files_are_answered_and_do_no_harm) {
  serve();
  raw_peer peer(socket_);
  peer.greet();
  ASSERT_TRUE(peer.next());
  peer.send(frame_kind::look, look_message{});
  ASSERT_TRUE(peer.next());
  peer.send(frame_kind::read, read_message{1, std::uint64_t{1} << 62, 100, 0});
  EXPECT_TRUE(peer.next().value().payload.empty());
  peer.send(frame_kind::read, read_message{1, ~std::uint64_t{0}, max_read, 0});
  EXPECT_TRUE(peer.next().value().payload.empty());
  peer.send(frame_kind::read, read_message{5, 0, 100, 0});
  EXPECT_EQ(peer.next().value().kind, frame_kind::failure);
  peer.send(frame_kind::read, read_message{1, 0, max_read + 1, 0});
  EXPECT_EQ(peer.next().value().kind, frame_kind::failure);
  peer.send(frame_kind::look, look_message{77});
  EXPECT_EQ(peer.next().value().kind, frame_kind::failure);
  peer.send(frame_kind::look, look_message{});
  EXPECT_EQ(peer.next().value().kind, frame_kind::extent) << "the connection stays open";
}

TEST_F(live_server_test, cuts_off_who_says_nothing) {
  serve();
  const raw_peer silent(socket_);
  EXPECT_TRUE(silent.is_cut_off_within(3'000));
}

TEST_F(live_server_test, cuts_off_who_speaks_another_language) {
  serve();
  const raw_peer browser(socket_);
  browser.send(std::as_bytes(std::span("GET / HTTP/1.1\r\n\r\n", 18)));
  EXPECT_TRUE(browser.ends_within(3'000));
  const raw_peer huge(socket_);
  frame_header header;
  header.bytes = 4'000'000'000;
  huge.send(get_bytes(header));
  EXPECT_TRUE(huge.ends_within(150)) << "at once, not by a deadline";
  const raw_peer unknown(socket_);
  unknown.greet();
  unknown.send(frame_kind::bytes, look_message{});
  EXPECT_TRUE(unknown.ends_within(3'000));
}

TEST_F(live_server_test, cuts_off_who_asks_and_takes_nothing) {
  write_megabytes();
  serve();
  const raw_peer stuck(socket_);
  stuck.greet();
  stuck.send(frame_kind::look, look_message{});
  for (int i = 0; i < 8; ++i) stuck.send(frame_kind::read, read_message{1, 0, max_read, 0});
  EXPECT_TRUE(stuck.is_cut_off_within(5'000));
}

TEST_F(live_server_test, serves_others_while_a_peer_takes_nothing) {
  write_megabytes();
  serve({.stalled = milliseconds(60'000)});
  const raw_peer stuck(socket_);
  stuck.greet();
  stuck.send(frame_kind::look, look_message{});
  for (int i = 0; i < 8; ++i) stuck.send(frame_kind::read, read_message{1, 0, max_read, 0});
  raw_peer other(socket_);
  other.greet();
  ASSERT_TRUE(other.next());
  other.send(frame_kind::look, look_message{});
  EXPECT_TRUE(other.next());
}

TEST_F(live_server_test, turns_away_more_peers_than_it_has_room_for_until_one_has_been_silent_for_long) {
  serve();
  std::vector<std::unique_ptr<raw_peer>> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(std::make_unique<raw_peer>(socket_));
    peers.back()->greet();
    ASSERT_TRUE(peers.back()->next());
  }
  raw_peer fourth(socket_);
  EXPECT_TRUE(fourth.ends_within(3'000));
  std::this_thread::sleep_for(milliseconds(300));
  raw_peer fifth(socket_);
  fifth.greet();
  EXPECT_TRUE(fifth.next());
  EXPECT_TRUE(peers[0]->ends_within(3'000));
}

TEST_F(live_server_test, takes_the_place_of_a_socket_that_nobody_listens_on_and_of_nothing_else) {
  serve();
  EXPECT_EQ(live_server::start(recorded_.path(), socket_).error().code, error_code::invalid_argument);
  server_.reset();
  {
    const auto address = socket_address(socket_).value();
    const int left = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(left, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::close(left);
  }
  serve();
  server_.reset();
  std::ofstream(socket_) << "precious";
  EXPECT_EQ(live_server::start(recorded_.path(), socket_).error().code, error_code::invalid_argument);
  EXPECT_EQ(fs::file_size(socket_), 8U);
  fs::remove(socket_);
  EXPECT_EQ(live_server::start(recorded_.path(), "/" + std::string(200, 'x')).error().code,
            error_code::invalid_argument);
}

TEST_F(live_server_test, the_end_waits_for_who_reads_and_not_for_who_does_not) {
  serve({});
  raw_peer idle(socket_);
  idle.greet();
  ASSERT_TRUE(idle.next());
  const auto begin = std::chrono::steady_clock::now();
  server_->finish(milliseconds(200));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(150));
  idle.send(frame_kind::look, look_message{});
  ASSERT_TRUE(idle.next());
  idle.send(frame_kind::read, read_message{1, 0, max_read, 0});
  ASSERT_TRUE(idle.next());
  const auto again = std::chrono::steady_clock::now();
  server_->finish(milliseconds(20'000));
  EXPECT_LT(std::chrono::steady_clock::now() - again, milliseconds(10'000));
}

}  // namespace
}  // namespace sluice::remote
