#include "instrumentation/runtime/chunk_pipeline.hpp"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <tuple>

#include "instrumentation/runtime/transfer.hpp"
#include "tests/instrumentation/runtime/complains.hpp"
#include "tests/instrumentation/runtime/scratch_files.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kib = 1u << 10;

class a_pipeline : public scratch_files {
 protected:
  // The number of leading pieces with complete results; expects that the other pieces are unchanged.
  static std::size_t good_pieces(const std::vector<std::uint32_t>& in, const std::vector<std::uint32_t>& before,
                                 const std::vector<std::uint32_t>& out, std::size_t piece_bytes) {
    const std::size_t piece = piece_bytes / 4;
    std::size_t good = 0;
    bool all_before = true;
    for (std::size_t at = 0; at < out.size(); at += piece) {
      const std::size_t end = std::min(at + piece, out.size());
      const bool done = out[at] == in[at] * 3 + 1;
      for (std::size_t i = at; i < end; ++i) {
        if (out[i] != (done ? in[i] * 3 + 1 : before[i])) {
          ADD_FAILURE() << "word " << i << ": a piece must be complete or untouched";
          return good;
        }
      }
      all_before = all_before && done;
      if (all_before) ++good;
    }
    return good;
  }
};
SLUICE_ON_EACH_DEVICE(a_pipeline);

TEST_P(a_pipeline, transforms_files_byte_for_byte_wherever_the_pieces_come_from) {
  struct way {
    bool overlap;
    chunk_source source;
  };
  for (const way w : {way{false, chunk_source::automatic}, way{true, chunk_source::automatic},
                      way{true, chunk_source::staged}, way{true, chunk_source::registered}}) {
    for (const std::size_t bytes : {std::size_t{4}, 64 * kib, mib + 400, 3 * mib}) {
      const auto in = make("in", bytes), out = make("out", bytes);
      const mapped_file source(in);
      mapped_file target(out, file_access::read_write);
      const chunk_pipeline pipeline(
          {.chunk_bytes = 64 * kib, .depth = 3, .readers = 2, .overlap = w.overlap, .source = w.source}, device());
      double reported = 0;
      const auto report = pipeline.run(source, &target, times_three_plus_one, [&](double share) { reported = share; });
      EXPECT_EQ(report.bytes, bytes);
      EXPECT_EQ(report.chunks, (bytes + 65535) / 65536);
      EXPECT_FALSE(report.stopped);
      EXPECT_EQ(reported, 1.0);
      target.flush();
      EXPECT_EQ(words(out), all_times_three_plus_one(words(in))) << to_string(w.source) << ", " << bytes;
    }
  }
}

TEST_P(a_pipeline, transforms_a_file_in_place) {
  const auto path = make("inplace", mib);
  const auto expected = all_times_three_plus_one(words(path));
  mapped_file f(path, file_access::read_write);
  const chunk_pipeline pipeline({.chunk_bytes = 100'000, .depth = 4, .readers = 3}, device());
  EXPECT_EQ(pipeline.run(f, &f, times_three_plus_one).source, chunk_source::staged)
      << "a writable mapping cannot be registered";
  EXPECT_EQ(words(path), expected);
}

TEST_P(a_pipeline, takes_its_pieces_from_a_mapping_that_is_pinned) {
  const auto in = make("in", mib), out = make("out", mib);
  const mapped_file source(in);
  mapped_file target(out, file_access::read_write);
  const auto pinned = source.pin();
  const chunk_pipeline pipeline({.chunk_bytes = 64 * kib, .depth = 3, .readers = 2}, device());
  EXPECT_EQ(pipeline.run(source, &target, times_three_plus_one).source, chunk_source::pinned);
  EXPECT_EQ(words(out), all_times_three_plus_one(words(in)));
}

TEST_P(a_pipeline, finds_the_faster_source_by_trying_both) {
  const auto in = make("in", 8 * mib);
  const mapped_file source(in);
  const auto find = [&](const chunk_options& options) {
    return chunk_pipeline(options, device()).run(source, nullptr, [](const chunk&, const stream_ref&) {});
  };
  const auto report = find({.chunk_bytes = 64 * kib, .depth = 8, .readers = 4});
  EXPECT_GT(report.staged_rate, 0);
  EXPECT_GT(report.registered_rate, 0);
  EXPECT_EQ(report.source,
            report.registered_rate > 1.5 * report.staged_rate ? chunk_source::registered : chunk_source::staged);
  if (simulated()) {
    // One reader reaches 8.8 GB/s by pread, and registers 45.2 GB/s; more readers do not increase the registration
    // rate.
    const auto one = find({.chunk_bytes = 64 * kib, .depth = 8, .readers = 1});
    EXPECT_EQ(one.source, chunk_source::registered);
    EXPECT_NEAR(one.staged_rate, 8.8e9, 1e8);
    EXPECT_NEAR(one.registered_rate, 45.2e9, 1e9);
    const auto many = find({.chunk_bytes = 64 * kib, .depth = 8, .readers = 8});
    EXPECT_EQ(many.source, chunk_source::staged);
    EXPECT_NEAR(many.staged_rate, 8 * 8.8e9, 8e8);
    EXPECT_NEAR(many.registered_rate, 45.2e9, 1e9);
  }
  const auto too_few = find({.chunk_bytes = 1 * mib, .depth = 8, .readers = 4});
  EXPECT_EQ(too_few.source, chunk_source::staged) << "eight pieces leave nothing to try";
  EXPECT_EQ(too_few.registered_rate, 0);
  EXPECT_EQ(find({.chunk_bytes = 65'000, .depth = 8, .readers = 4}).registered_rate, 0) << "no whole pages";
}

TEST_P(a_pipeline, writes_the_right_bytes_where_the_driver_refuses_to_register_a_piece) {
  if (device().name() == "Fake GPU") GTEST_SKIP() << "the fake driver accepts registered memory again";
  // Pieces of several parts, so that some readers still write a piece's results while another finds that the next piece
  // in the slot must be staged.
  constexpr std::size_t piece = 4 * mib, pieces = 12;
  constexpr unsigned depth = 3;
  const auto in = make("in", pieces * piece), out = make("out", pieces * piece);
  const auto expected = all_times_three_plus_one(words(in));
  const chunk_pipeline pipeline({.chunk_bytes = piece, .depth = depth, .readers = 4}, device());
  for (int round = 0; round < 3; ++round) {
    const mapped_file source(in);
    mapped_file target(out, file_access::read_write);
    // Memory that the program has registered itself cannot be registered again: here, a page of the trial's first
    // piece.
    auto* const page = const_cast<std::byte*>(source.bytes().data()) + depth * piece + mib;
    const host_registration held(page, 4096, {.read_only = true});
    EXPECT_EQ(pipeline.run(source, &target, times_three_plus_one).source, chunk_source::staged);
    target.flush();
    ASSERT_TRUE(words(out) == expected) << "round " << round;
    std::fill_n(reinterpret_cast<std::uint32_t*>(target.writable_bytes().data()), target.size_bytes() / 4, 0u);
  }
}

TEST_P(a_pipeline, leaves_nothing_registered) {
  const mapped_file f(make("in", 4 * mib));
  const chunk_pipeline pipeline({.chunk_bytes = 64 * kib, .depth = 4, .readers = 2, .source = chunk_source::registered},
                                device());
  (void)pipeline.run(f, nullptr, times_three_plus_one);
  const auto fail = [](const chunk& c, const stream_ref&) {
    if (c.index == 9) throw std::runtime_error("mine");
  };
  EXPECT_THROW((void)pipeline.run(f, nullptr, fail), std::runtime_error);
  for (std::size_t at = 0; at < f.size_bytes(); at += 64 * kib) {
    ASSERT_EQ(find_memory_space(f.bytes().data() + at), memory_space::pageable);
  }
  EXPECT_EQ(pipeline.run(f, nullptr, times_three_plus_one).chunks, 64u) << "and it works again after an error";
}

TEST_P(a_pipeline, stops_at_a_piece_when_asked) {
  for (const bool overlap : {false, true}) {
    const auto in = make("in", mib), out = make("out", mib);
    const auto before = words(out);
    const mapped_file source(in);
    mapped_file target(out, file_access::read_write);
    std::stop_source stop;
    const chunk_pipeline pipeline({.chunk_bytes = 64 * kib, .depth = 6, .readers = 2, .overlap = overlap}, device());
    const auto report = pipeline.run(
        source, &target, times_three_plus_one,
        [&](double share) {
          if (share >= 0.5) stop.request_stop();
        },
        stop.get_token());
    EXPECT_TRUE(report.stopped);
    EXPECT_EQ(report.chunks, 8u);
    EXPECT_EQ(good_pieces(words(in), before, words(out), 64 * kib), 8u) << "started pieces are written";
  }
}

// --- failures ----------------------------------------------------------------------------------------------

TEST_P(a_pipeline, ends_with_an_error_where_a_file_is_cut_short_and_what_came_before_is_whole) {
  struct way {
    bool overlap;
    chunk_source source;
  };
  for (const way w :
       {way{false, chunk_source::automatic}, way{true, chunk_source::staged}, way{true, chunk_source::registered}}) {
    const auto path = make("cut", mib), out = make("out", mib);
    const auto in = words(path), before = words(out);
    const mapped_file f(path);
    mapped_file target(out, file_access::read_write);
    const chunk_pipeline pipeline(
        {.chunk_bytes = 64 * kib, .depth = 8, .readers = 3, .overlap = w.overlap, .source = w.source}, device());
    fs::resize_file(path, 500'000);
    try {
      (void)pipeline.run(f, &target, times_three_plus_one);
      FAIL() << "no complaint";
    } catch (const chunk_error& e) {
      if (!w.overlap) {
        EXPECT_EQ(e.good_bytes(), 0u) << "the plain loop does not change a file that is too short";
        continue;
      }
      const std::string subject = e.what();
      EXPECT_TRUE(subject.find("the file ends at") != std::string::npos ||
                  subject.find("was truncated") != std::string::npos)
          << subject;
      EXPECT_NE(subject.find("bytes of " + out.string() + " are complete"), std::string::npos) << subject;
      EXPECT_LE(e.good_bytes(), 7 * 64 * kib);
      EXPECT_GE(good_pieces(in, before, words(out), 64 * kib), e.good_bytes() / (64 * kib));
      if (w.source == chunk_source::staged) {
        EXPECT_EQ(e.good_bytes(), 7 * 64 * kib) << "everything that could be read";
      }
    }
  }
}

// A limit on the file size, where writing past it is an error instead of a signal.
class size_limit {
 public:
  explicit size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~size_limit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  size_limit(const size_limit&) = delete;
  size_limit& operator=(const size_limit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_P(a_pipeline, ends_with_an_error_where_writing_fails_and_what_came_before_is_whole) {
  for (const bool overlap : {false, true}) {
    for (const bool large : {false, true}) {  // pieces are written in two ways
      const std::size_t piece = large ? 512 * kib : 64 * kib;
      const auto in = make("in", 4 * mib), out = make("out", 4 * mib);
      const auto before = words(out);
      const mapped_file source(in);
      mapped_file target(out, file_access::read_write);
      const chunk_pipeline pipeline({.chunk_bytes = piece, .depth = 4, .readers = 3, .overlap = overlap}, device());
      if (large) fs::resize_file(out, mib);
      try {
        const size_limit limit(mib);
        (void)pipeline.run(source, &target, times_three_plus_one);
        FAIL() << "no complaint";
      } catch (const chunk_error& e) {
        const char* why = large ? "truncated to 1048576 bytes" : "File too large";
        EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
        EXPECT_EQ(e.good_bytes(), mib);
      }
      EXPECT_EQ(good_pieces(words(in), before, words(out), piece), mib / piece);
    }
  }
}

TEST_P(a_pipeline, hands_on_what_the_work_throws) {
  const mapped_file f(make("in", mib));
  const chunk_pipeline pipeline({.chunk_bytes = 64 * kib, .depth = 2, .readers = 2}, device());
  const auto work = [](const chunk& c, const stream_ref&) {
    if (c.index == 5) throw std::runtime_error("mine");
  };
  EXPECT_THROW((void)pipeline.run(f, nullptr, work), std::runtime_error);
  EXPECT_THROW(chunk_pipeline({.chunk_bytes = 0}), error);
  complains("the input has", [&] {
    mapped_file small(make("small", 100), file_access::read_write);
    (void)pipeline.run(f, &small, work);
  });
}

// Fills a file system of 1 MiB. Runs in a separate process; returns 0 if everything is as expected.
int fill_a_disk(const fs::path& in, const fs::path& disk) {
  // The mounts end with the process.
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
    return 77;
  }
  const device_ref device(backend::make_simulated_device());
  const device_guard guard(device);
  const fs::path out = disk / "out";
  try {
    (void)mapped_file::create(out, 2 * mib);
    return 1;
  } catch (const error& e) {
    if (std::string(e.what()).find("No space left") == std::string::npos || fs::exists(out)) return 2;
  }
  // A sparse file promises space that does not exist.
  std::ofstream(out).put('x');
  fs::resize_file(out, 2 * mib);
  const mapped_file source(in);
  mapped_file target(out, file_access::read_write);
  for (const std::size_t piece : {64 * kib, 256 * kib}) {
    try {
      (void)chunk_pipeline({.chunk_bytes = piece, .depth = 4, .readers = 2, .overlap = true}, device)
          .run(source, &target, [](const chunk&, const stream_ref&) {});
      return 3;
    } catch (const chunk_error& e) {
      if (std::string(e.what()).find("No space left") == std::string::npos) return 4;
      if (e.good_bytes() < 256 * kib || e.good_bytes() > mib) return 5;
      std::vector<char> a(e.good_bytes()), b(e.good_bytes());
      std::ifstream(in).read(a.data(), static_cast<std::streamsize>(a.size()));
      std::ifstream(out).read(b.data(), static_cast<std::streamsize>(b.size()));
      if (a != b) return 6;
    }
  }
  return 0;
}

TEST_P(a_pipeline, ends_with_an_error_where_the_disk_is_full) {
  if (!simulated()) GTEST_SKIP() << "concerns files only, and CUDA does not survive a fork";
  const auto in = make("in", 2 * mib);
  fs::create_directory(folder / "disk");
  const pid_t child = fork();
  if (child == 0) _exit(fill_a_disk(in, folder / "disk"));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "skipped: no permission to mount a file system";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// --- speed ----------------------------------------------------------------

TEST_P(a_pipeline, is_several_times_as_fast_as_the_plain_loop) {
  if (!simulated()) GTEST_SKIP() << "concerns simulated time; the benchmarks measure real devices";
  const auto in = make("in", 32 * mib), out = make("out", 32 * mib);
  const mapped_file source(in);
  mapped_file target(out, file_access::read_write);
  auto& clock = *device().backend().clock();
  const auto time = [&](bool overlap) {
    const chunk_pipeline pipeline({.chunk_bytes = mib, .depth = 8, .readers = 8, .overlap = overlap}, device());
    const auto begin = clock.now();
    (void)pipeline.run(source, &target, times_three_plus_one);
    return clock.now() - begin;
  };
  const auto plain = time(false), overlapped = time(true);
  EXPECT_GT(plain, 4 * overlapped) << plain << " ns plain, " << overlapped << " ns overlapped";
  EXPECT_EQ(time(true), overlapped) << "and takes the same time in every run, whatever the reader threads do";
}

}  // namespace
}  // namespace sluice::runtime
