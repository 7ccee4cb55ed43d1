// Servers that lie about sizes, never end, or fail at length: the viewer's disk keeps its reserve, and received data is
// shown.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <thread>

#include "core/remote/live_source.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/remote/false_server.hpp"
#include "tests/core/remote/watched.hpp"

namespace sluice::remote {
namespace {

namespace fs = std::filesystem;
using testing::ms;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

/// The total length of this process's unnamed files, and the space that they take on disk.
struct scratch_bytes {
  std::uint64_t length = 0;
  std::uint64_t on_disk = 0;
};
scratch_bytes scratch_of_this_process() {
  scratch_bytes sum;
  for (const auto& each : fs::directory_iterator("/proc/self/fd")) {
    struct stat about {};
    if (::stat(each.path().c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 0) continue;
    sum.length += static_cast<std::uint64_t>(about.st_size);
    sum.on_disk += static_cast<std::uint64_t>(about.st_blocks) * 512;
  }
  return sum;
}

/// Polls the source until it reports why no more data arrives. Returns that text.
std::string format_remark(trace::byte_source& source) {
  std::string said;
  EXPECT_TRUE(becomes([&] {
    said = source.poll().value().remark;
    return !said.empty();
  }));
  return said;
}

/// A server with a valid recording of ten kernels that lies about the data after it.
class hostile_server : public ::testing::Test {
 protected:
  using lie = std::function<bool(const frame&, std::vector<std::byte>&)>;

  void SetUp() override {
    recorded_.standard_tables();
    for (int i = 0; i < 10; ++i) recorded_.add_kernel(i * ms, (i + 1) * ms);
    recorded_.flush();
    const std::string text = bytes_of_file(recorded_.path());
    const auto bytes = std::as_bytes(std::span(text));
    true_bytes_.assign(bytes.begin(), bytes.end());
  }

  /// Starts the server: it sends the greeting, then `said` makes the replies.
  void serve(lie said) {
    server_.reset();
    server_ = std::make_unique<false_server>(socket_);
    server_->run([said = std::move(said)](const frame& asked, std::vector<std::byte>& out) {
      if (asked.kind != frame_kind::hello) return said(asked, out);
      put_frame(out, frame_kind::hello, asked.id, get_bytes(hello_message{}));
      return true;
    });
  }

  static void say_extent(const frame& asked, std::vector<std::byte>& out, const extent_message& there) {
    put_frame(out, frame_kind::extent, asked.id, get_bytes(there));
  }

  /// Sends the requested bytes up to `end`: the recording, then zeros.
  void send_bytes(const frame& asked, std::vector<std::byte>& out, std::uint64_t end) const {
    const read_message wanted = message_in<read_message>(asked.payload).value();
    const std::uint64_t last = std::min(end, wanted.offset + wanted.bytes);
    std::vector<std::byte> some(last > wanted.offset ? last - wanted.offset : 0);
    for (std::size_t i = 0; i < some.size() && wanted.offset + i < true_bytes_.size(); ++i)
      some[i] = true_bytes_[wanted.offset + i];
    put_frame(out, frame_kind::bytes, asked.id, some);
  }

  /// Starts a server that declares `declared` bytes and sends `end` of them.
  void serve_size(std::uint64_t declared, std::uint64_t end) {
    serve([=, this](const frame& asked, std::vector<std::byte>& out) {
      if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, declared, 1});
      if (asked.kind == frame_kind::read) send_bytes(asked, out, end);
      return true;
    });
  }

  /// The text that the body of `in_own_process` returns if it cannot run here.
  static constexpr const char* skipped = "skipped: no mounts of one's own here";

  /// Runs `body` in a child process, in which it may change limits and mounts. Returns its error text.
  void in_own_process(const std::function<std::string()>& body) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const std::string complaint = body();
      server_.reset();
      if (!complaint.empty())
        static_cast<void>(!::write(STDERR_FILENO, (complaint + "\n").data(), complaint.size() + 1));
      ::_exit(complaint.empty() ? 0 : complaint == skipped ? 77 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << skipped;
    EXPECT_EQ(status, 0);
  }

  testing::recording recorded_;
  std::vector<std::byte> true_bytes_;
  std::atomic<std::uint64_t> count_{0};  ///< Counter for the server's lie.
  std::atomic<bool> now_{false};         ///< True once the event that the server awaits has happened.
  const std::string socket_ = recorded_.path() + ".live";
  std::unique_ptr<false_server> server_;
};

TEST_F(hostile_server, a_declared_size_takes_no_room) {
  for (const std::uint64_t declared : {std::uint64_t{1} << 40, std::uint64_t{1} << 62, ~std::uint64_t{0} >> 1}) {
    const scratch_bytes before = scratch_of_this_process();
    serve_size(declared, true_bytes_.size());
    const auto live = follow_live(socket_, "live");
    ASSERT_TRUE(live) << live.error().to_string();
    const auto file = trace::file::open(live->source, {});
    ASSERT_TRUE(file) << file.error().to_string();
    EXPECT_EQ(kernels_in(*(*file)->latest()), 10U);
    const scratch_bytes now = scratch_of_this_process();
    EXPECT_EQ(now.length - before.length, true_bytes_.size()) << declared;
    EXPECT_LT(now.on_disk - before.on_disk, true_bytes_.size() + mib) << declared;
  }
}

TEST_F(hostile_server, a_size_of_two_to_the_63_is_refused) {
  for (const std::uint64_t declared : {std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    serve_size(declared, declared);
    const auto live = follow_live(socket_, "live");
    ASSERT_FALSE(live);
    EXPECT_EQ(live.error().code, error_code::corrupt);
  }
}

TEST_F(hostile_server, sizes_that_grow_and_shrink_take_what_is_there_at_a_time) {
  const scratch_bytes before = scratch_of_this_process();
  serve([&](const frame& asked, std::vector<std::byte>& out) {
    const std::uint64_t sizes[] = {true_bytes_.size() + 3 * mib, 10, ~std::uint64_t{0} >> 1, 0, true_bytes_.size()};
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, sizes[count_++ % 5], 1});
    if (asked.kind == frame_kind::read) send_bytes(asked, out, true_bytes_.size() + 3 * mib);
    return true;
  });
  const auto live = follow_live(socket_, "live", {}, {.max_bytes = 5 * mib});
  ASSERT_TRUE(live) << live.error().to_string();
  EXPECT_TRUE(becomes([&] {
    EXPECT_LE(scratch_of_this_process().length - before.length, true_bytes_.size() + 3 * mib);
    return count_ > 50;
  })) << "what was cut is given back, so that the limit does not end it";
  EXPECT_EQ(live->source->poll().value().remark, "");
}

TEST_F(hostile_server, an_endless_recording_ends_at_the_limit_and_what_came_is_shown) {
  const scratch_bytes before = scratch_of_this_process();
  serve_size(~std::uint64_t{0} >> 1, ~std::uint64_t{0});
  const auto live = follow_live(socket_, "live", {}, {.max_bytes = 3 * mib});
  ASSERT_TRUE(live) << live.error().to_string();
  const std::string said = format_remark(*live->source);
  EXPECT_EQ(said,
            "the copy would be larger than 3.00 MiB: showing the recording up to then; open the recording's own file");
  EXPECT_EQ(live->source->poll().value().remark, "") << "once";
  EXPECT_FALSE(live->source->poll().value().growing);
  EXPECT_EQ(scratch_of_this_process().length - before.length, 3 * mib);
  const auto file = trace::file::open(live->source, {});
  ASSERT_TRUE(file) << file.error().to_string();
  EXPECT_EQ(kernels_in(*(*file)->latest()), 10U);
}

TEST_F(hostile_server, files_that_replace_one_another_without_end_share_the_limit) {
  const scratch_bytes before = scratch_of_this_process();
  serve([&](const frame& asked, std::vector<std::byte>& out) {
    const auto wanted = message_in<look_message>(asked.payload)->generation;
    const std::uint64_t here = wanted == 0 ? 1 : wanted;
    if (asked.kind == frame_kind::look) say_extent(asked, out, {here, here + 1, 2 * mib, 1});
    if (asked.kind == frame_kind::read) send_bytes(asked, out, 2 * mib);
    return true;
  });
  const auto live = follow_live(socket_, "live", {}, {.max_bytes = 3 * mib});
  ASSERT_TRUE(live) << live.error().to_string();
  // The first recording is kept because it is shown, and there is no space for the second.
  EXPECT_NE(format_remark(*live->source).find("larger than 3.00 MiB"), std::string::npos);
  EXPECT_LE(scratch_of_this_process().length - before.length, 3 * mib);
  EXPECT_EQ(live->source->successor().value(), nullptr);
}

TEST_F(hostile_server, that_sends_a_byte_and_then_is_silent_keeps_nobody) {
  serve([&](const frame& asked, std::vector<std::byte>& out) {
    say_extent(asked, out, {1, 1, 1000, 1});
    out.resize(1);
    now_ = true;
    return true;
  });
  const auto live = follow_live(socket_, "live", [&] { return now_.load(); });
  ASSERT_FALSE(live);
  EXPECT_EQ(live.error().code, error_code::cancelled);
}

TEST_F(hostile_server, that_sends_a_byte_a_time_is_shown_as_far_as_it_came_and_can_be_left) {
  serve([&](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::look) say_extent(asked, out, {1, 1, ~std::uint64_t{0} >> 1, 1});
    if (asked.kind == frame_kind::read && count_ < true_bytes_.size()) send_bytes(asked, out, ++count_);
    return true;  // The server does not reply to requests for bytes after the recording.
  });
  const auto live = follow_live(socket_, "live");
  ASSERT_TRUE(live) << live.error().to_string();
  EXPECT_TRUE(becomes([&] { return count_ == true_bytes_.size(); }));
  EXPECT_TRUE(live->source->poll().value().growing);
}

TEST_F(hostile_server, a_failure_is_cut_at_a_line) {
  serve([this, text = "no\x1b[2J" + std::string(10'000'000, '\x07')](const frame& asked, std::vector<std::byte>& out) {
    if (asked.kind == frame_kind::read) {
      send_bytes(asked, out, true_bytes_.size());
    } else if (!now_) {
      say_extent(asked, out, {1, 1, true_bytes_.size(), 1});
    } else {
      const std::uint32_t code = 0;
      put_frame(out, frame_kind::failure, asked.id, get_bytes(code), std::as_bytes(std::span(text)));
    }
    return true;
  });
  const auto live = follow_live(socket_, "live");
  ASSERT_TRUE(live) << live.error().to_string();
  now_ = true;
  const std::string said = format_remark(*live->source);
  EXPECT_LT(said.size(), 1100U);
  EXPECT_EQ(said.find_first_of("\x1b\x07\n"), std::string::npos);
  EXPECT_EQ(said.find("no\\x1b[2J\\x07"), 0U) << said.substr(0, 80);
  EXPECT_TRUE(said.ends_with("...: showing the recording up to then")) << said;
}

TEST_F(hostile_server, leaves_a_twentieth_of_a_small_disk) {
  in_own_process([&]() -> std::string {
    const std::string disk = recorded_.path() + ".disk";
    fs::create_directory(disk);
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=20m") == 0;
    if (!mounted) {
      fs::remove(disk);
      return skipped;
    }
    ::setenv("TMPDIR", disk.c_str(), 1);
    std::string complaint;
    {
      serve_size(~std::uint64_t{0} >> 1, ~std::uint64_t{0});
      const auto live = follow_live(socket_, "live");
      if (!live) return live.error().to_string();
      const std::string said = format_remark(*live->source);
      if (said.find("left, of which 1.00 MiB are reserved: showing the recording up to then") == std::string::npos)
        complaint += "it says: " + said + "\n";
      struct statvfs now {};
      ::statvfs(disk.c_str(), &now);
      const std::uint64_t left = now.f_bavail * now.f_frsize;
      if (left < mib || left > 3 * mib) complaint += "left: " + std::to_string(left) + "\n";
      const auto file = trace::file::open(live->source, {});
      if (!file || kernels_in(*(*file)->latest()) != 10) complaint += "what came is not shown\n";
    }
    server_.reset();
    ::umount(disk.c_str());
    fs::remove(disk);
    return complaint;
  });
}

TEST_F(hostile_server, a_limit_on_file_sizes_is_a_full_disk) {
  in_own_process([&]() -> std::string {
    std::signal(SIGXFSZ, [](int) {});  // As the program does.
    const rlimit limit{2 * mib + 5, 2 * mib + 5};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    serve_size(~std::uint64_t{0} >> 1, ~std::uint64_t{0});
    const auto live = follow_live(socket_, "live");
    if (!live) return live.error().to_string();
    const std::string said = format_remark(*live->source);
    if (said.find("cannot write to a scratch file: File too large: showing the recording up to then") != 0)
      return "it says: " + said;
    const auto file = trace::file::open(live->source, {});
    if (!file || kernels_in(*(*file)->latest()) != 10) return "what came is not shown";
    if (live->source->poll()->bytes != 2 * mib + 5) return "not all that came is kept";
    return {};
  });
}

TEST(copy_room, takes_back_what_is_given_back) {
  const int some = ::open("/dev/shm", O_PATH | O_DIRECTORY);
  copy_room room({.max_bytes = 100, .max_reserve = 0});
  EXPECT_TRUE(room.take(some, 60));
  EXPECT_EQ(room.take(some, 41).error().code, error_code::no_space);
  EXPECT_FALSE(room.take(some, ~std::uint64_t{0}));
  EXPECT_TRUE(room.take(some, 40));
  EXPECT_FALSE(room.take(some, 1));
  room.give_back(60);
  EXPECT_TRUE(room.take(some, 60));
  copy_room strict({.max_bytes = ~std::uint64_t{0}});
  EXPECT_EQ(strict.take(some, ~std::uint64_t{0} >> 1).error().code, error_code::no_space) << "no disk is that large";
  ::close(some);
}

}  // namespace
}  // namespace sluice::remote
