// A recording that is read over a connection: it is shown like the file itself, and servers that lie, end early or
// answer late are survived.
#include "core/remote/remote_source.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <random>
#include <thread>

#include "core/generate/generate.hpp"
#include "core/query/engine/engine.hpp"
#include "core/trace/file/byte_source.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/remote/false_server.hpp"
#include "tests/core/remote/slow_line.hpp"
#include "tests/core/remote/watched.hpp"

namespace sluice::remote {
namespace {

using std::chrono::milliseconds;
using testing::ms;

constexpr milliseconds delay{10};

/// A recording with sections and tiles, larger than a few requests.
class read_over_a_slow_line : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    path_ = std::filesystem::temp_directory_path() / ("sluice-remote-" + std::to_string(::getpid()) + ".sluice");
    generate::generate_options options;
    options.events = 400'000;
    ASSERT_TRUE(generate::generate(options, path_));
  }
  static void TearDownTestSuite() { std::filesystem::remove(path_); }
  void SetUp() override {
    line_ = std::make_unique<slow_line>(path_ + ".socket", trace::file::open(path_).value(), delay);
    by_ = connection::to_socket(path_ + ".socket", "ssh://host/a.sluice").value();
  }

  inline static std::string path_;
  std::unique_ptr<slow_line> line_;
  std::shared_ptr<connection> by_;
};

TEST_F(read_over_a_slow_line, every_zoom_shows_what_the_file_itself_shows) {
  const auto file = open_remote(by_);
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ((*file)->path(), "ssh://host/a.sluice");
  EXPECT_FALSE((*file)->latest()->recorded_here());
  query::engine there(*file), here(trace::file::open(path_).value());
  const auto tracks = here.ask_now(query::tracks_query{}).value();
  ASSERT_EQ(there.ask_now(query::tracks_query{}).value()->tracks.size(), tracks->tracks.size());
  for (time_range range = tracks->span; range.length() > 1'000'000;) {
    for (const query::track& each : tracks->tracks) {
      const query::series_query curves{each.id, range, 400, true};
      const query::slices_query slices{each.id, range, 400};
      if (const auto expected = here.ask_now(curves)) {
        EXPECT_EQ(in_words(*there.ask_now(curves).value()), in_words(**expected)) << each.label;
      } else if (const auto bars = here.ask_now(slices)) {
        EXPECT_EQ(in_words(*there.ask_now(slices).value()), in_words(**bars)) << each.label;
      }
    }
    range = {range.begin + range.length() / 3, range.end - range.length() / 3};
  }
  EXPECT_TRUE((*file)->latest()->warnings().empty());
}

TEST_F(read_over_a_slow_line, no_byte_is_sent_twice) {
  const auto source = open_remote(by_).value()->source();
  const std::string expected = bytes_of_file(path_);
  std::mt19937_64 random(7);
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i)
    readers.emplace_back([&, seed = random()] {
      std::mt19937_64 places(seed);
      std::vector<std::byte> bytes(300'000);
      for (int turn = 0; turn < 20; ++turn) {
        const std::size_t at = places() % expected.size();
        const std::size_t most = std::min(bytes.size(), expected.size() - at);
        EXPECT_EQ(source->read_at(at, bytes).value(), most);
        EXPECT_EQ(std::memcmp(bytes.data(), expected.data() + at, most), 0);
      }
    });
  for (std::thread& each : readers) each.join();
  EXPECT_LT(line_->passed(), expected.size() + expected.size() / 10);
}

TEST_F(read_over_a_slow_line, what_came_stays_when_the_connection_ends) {
  const auto source = open_remote(by_).value()->source();
  const std::size_t bytes = bytes_of_file(path_).size();
  std::vector<std::byte> some(1'000);
  ASSERT_TRUE(source->read_at(100, some));
  line_->cut();
  EXPECT_TRUE(becomes([&] { return !by_->alive(); }));
  EXPECT_EQ(source->read_at(200, some).value(), some.size());
  std::optional<error> failed;
  for (std::size_t at = 0; at < bytes && !failed; at += 100'000)
    if (const auto got = source->read_at(at, some); !got) failed = got.error();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->code, error_code::io);
  EXPECT_EQ(failed->message, "the connection has ended");
}

/// Replies in the way that a test chooses. The file of the server repeats the numbers 0 to 250.
class false_source_server : public ::testing::Test {
 protected:
  static std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset % 251); }

  void SetUp() override {
    recorded_.standard_tables();
    for (int i = 0; i < 10; ++i) recorded_.add_kernel(i * ms, (i + 1) * ms);
    recorded_.close();
    content_ = bytes_of_file(recorded_.path());
  }
  /// Starts a server that greets, and then replies with what `reply` appends.
  std::shared_ptr<connection> serve(std::function<bool(const frame&, std::vector<std::byte>&)> reply) {
    server_ = std::make_unique<false_server>(socket_);
    server_->run([reply = std::move(reply)](const frame& asked, std::vector<std::byte>& out) {
      if (asked.kind != frame_kind::hello) return reply(asked, out);
      put_frame(out, frame_kind::hello, asked.id, get_bytes(hello_message{}));
      return true;
    });
    return connection::to_socket(socket_, "host").value();
  }
  static void say_extent(const frame& asked, std::vector<std::byte>& out, const extent_message& there) {
    put_frame(out, frame_kind::extent, asked.id, get_bytes(there));
  }
  /// Sends the requested bytes of the recording, then numbers up to `end`.
  void send_bytes(const frame& asked, std::vector<std::byte>& out, std::uint64_t end) const {
    const read_message wanted = message_in<read_message>(asked.payload).value();
    std::vector<std::byte> some;
    for (std::uint64_t at = wanted.offset; at < std::min(end, wanted.offset + wanted.bytes); ++at)
      some.push_back(at < content_.size() ? static_cast<std::byte>(content_[at]) : byte_at(at));
    put_frame(out, frame_kind::bytes, asked.id, some);
  }
  /// Serves the recording, followed by numbers: `bytes` in all, of which `sent` exist.
  std::shared_ptr<connection> serve_size(std::uint64_t bytes, std::uint64_t sent, std::uint64_t growing = 0) {
    return serve([=, this](const frame& asked, std::vector<std::byte>& out) {
      if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, bytes, growing});
      if (asked.kind == frame_kind::read) send_bytes(asked, out, sent);
      return true;
    });
  }
  static std::string read_text(trace::byte_source& source, std::uint64_t at, std::size_t bytes) {
    std::string text(bytes, '\0');
    text.resize(source.read_at(at, std::as_writable_bytes(std::span(text))).value());
    return text;
  }

  testing::recording recorded_;
  std::string content_;
  const std::string socket_ = recorded_.path() + ".socket";
  std::unique_ptr<false_server> server_;
};

TEST_F(false_source_server, a_declared_size_takes_no_memory_and_ends_where_the_bytes_end) {
  const auto file = open_remote(serve_size(std::uint64_t{1} << 62, content_.size()));
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(kernels_in(*(*file)->latest()), 10U);
  std::byte one[1];
  EXPECT_EQ((*file)->source()->read_at(std::uint64_t{1} << 61, one).value(), 0U);
}

TEST_F(false_source_server, a_size_of_two_to_the_63_is_refused) {
  EXPECT_EQ(open_remote(serve_size(std::uint64_t{1} << 63, 0)).error().code, error_code::corrupt);
}

TEST_F(false_source_server, more_bytes_than_were_requested_are_refused) {
  const auto by = serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, content_.size(), 0});
    if (asked.kind == frame_kind::read)
      put_frame(out, frame_kind::bytes, asked.id, std::vector<std::byte>(2 * testing::mib));
    return true;
  });
  const auto file = open_remote(by);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, error_code::corrupt);
  EXPECT_EQ(file.error().message, "received an invalid reply");
  EXPECT_TRUE(becomes([&] { return !by->alive(); }));
}

TEST_F(false_source_server, an_end_while_the_recording_is_opened_is_an_error) {
  const auto file = open_remote(serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, 3 * testing::mib, 0});
    return asked.kind == frame_kind::look;
  }));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "the connection has ended");
}

TEST_F(false_source_server, a_recording_without_an_end_is_read_up_to_the_limit) {
  content_.resize(content_.size() / 2);  // The reader then looks for the next chunk in what follows.
  const auto file =
      open_remote(serve_size(~std::uint64_t{0} >> 1, ~std::uint64_t{0}, 1), {}, {}, {.max_bytes = 3 * testing::mib});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, error_code::no_space);
  EXPECT_EQ(file.error().message, "the copy would be larger than 3.00 MiB");
}

TEST_F(false_source_server, replies_in_another_order_are_put_where_they_belong) {
  std::atomic<bool> opened{false};
  std::vector<frame> held;
  const auto by = serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, 2 * testing::mib, 0});
    if (asked.kind != frame_kind::read) return true;
    held.push_back(asked);
    if (!opened || held.size() == 3)
      for (; !held.empty(); held.pop_back()) send_bytes(held.back(), out, 2 * testing::mib);
    return true;
  });
  const auto source = open_remote(by).value()->source();
  opened = true;
  const std::string text = read_text(*source, testing::mib, 3 * testing::mib / 4);
  ASSERT_EQ(text.size(), 3 * testing::mib / 4);
  for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(static_cast<std::byte>(text[i]), byte_at(testing::mib + i));
}

TEST_F(false_source_server, that_is_silent_keeps_nobody_who_cancels) {
  std::atomic<bool> now{false};
  const auto by = serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, 1'000, 0});
    now = asked.kind == frame_kind::read;
    return true;
  });
  EXPECT_EQ(open_remote(by, {}, [&] { return now.load(); }).error().code, error_code::cancelled);
}

TEST_F(false_source_server, bytes_that_were_removed_and_written_anew_are_requested_anew) {
  std::atomic<std::uint64_t> bytes{content_.size() + 1'000};
  std::atomic<char> fill{'a'};
  const auto by = serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) {
      say_extent(asked, out, {1, 1, bytes, 1});
      return true;
    }
    const read_message wanted = message_in<read_message>(asked.payload).value();
    std::string some = wanted.offset < content_.size() ? content_.substr(wanted.offset, wanted.bytes) : "";
    some.resize(wanted.bytes, fill);
    put_frame(out, frame_kind::bytes, asked.id, std::as_bytes(std::span(some)));
    return true;
  });
  const auto source = open_remote(by).value()->source();
  const auto follow = [&](std::uint64_t to) {
    bytes = to;
    EXPECT_TRUE(becomes([&] { return source->poll().value().bytes == to; }));
  };
  const std::size_t end = content_.size();
  EXPECT_EQ(read_text(*source, end, 2'000), std::string(1'000, 'a'));
  follow(end + 100);
  fill = 'b';
  follow(end + 200);
  EXPECT_EQ(read_text(*source, end, 2'000), std::string(100, 'a') + std::string(100, 'b'));
}

TEST(remote_source, grows_with_the_recording) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(1 * ms, 2 * ms);
  recorded.flush();
  const std::string socket = recorded.path() + ".socket";
  const slow_line line(socket, trace::file::open(recorded.path()).value(), delay);
  const auto file = open_remote(connection::to_socket(socket, "host").value()).value();
  EXPECT_TRUE(file->latest()->growing());
  EXPECT_EQ(kernels_in(*file->latest()), 1U);
  for (int i = 0; i < 20'000; ++i) recorded.add_kernel((2 + i) * ms, (3 + i) * ms);
  recorded.flush();
  EXPECT_TRUE(becomes([&] { return file->refresh().value_or(false) && kernels_in(*file->latest()) == 20'001; }));
  recorded.close();
  EXPECT_TRUE(becomes([&] { return file->refresh() && file->latest()->complete(); }));
  EXPECT_TRUE(file->latest()->warnings().empty());
}

TEST(remote_source, says_once_that_a_growing_recording_was_cut_off) {
  testing::recording recorded;
  recorded.standard_tables();
  recorded.add_kernel(1 * ms, 2 * ms);
  recorded.flush();
  const std::string socket = recorded.path() + ".socket";
  slow_line line(socket, trace::file::open(recorded.path()).value(), delay);
  const auto file = open_remote(connection::to_socket(socket, "host").value()).value();
  line.cut();
  EXPECT_TRUE(becomes([&] { return file->refresh() && !file->latest()->growing(); }));
  ASSERT_EQ(file->latest()->warnings().size(), 1U);
  EXPECT_EQ(file->latest()->warnings()[0], "the connection has ended: showing the recording up to then");
  EXPECT_EQ(kernels_in(*file->latest()), 1U);
}

}  // namespace
}  // namespace sluice::remote
