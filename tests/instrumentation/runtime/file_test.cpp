#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "instrumentation/runtime/chunk_pipeline.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/mapped_file.hpp"
#include "tests/instrumentation/runtime/on_each_device.hpp"

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

class files : public on_each_device {
 protected:
  void SetUp() override {
    on_each_device::SetUp();
    const auto* about = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name = std::string(about->test_suite_name()) + about->name() + std::to_string(getpid());
    std::replace(name.begin(), name.end(), '/', '_');
    folder = fs::temp_directory_path() / ("sluice_" + name);
    fs::create_directories(folder);
  }
  void TearDown() override {
    on_each_device::TearDown();
    fs::remove_all(folder);
  }

  fs::path make(const std::string& name, std::size_t bytes) {
    std::mt19937 random(3);
    std::vector<char> content(bytes);
    for (char& c : content) c = static_cast<char>(random());
    std::ofstream(folder / name, std::ios::binary).write(content.data(), static_cast<std::streamsize>(bytes));
    return folder / name;
  }
  static std::vector<std::uint32_t> words(const fs::path& path) {
    std::vector<std::uint32_t> out(fs::file_size(path) / 4);
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * 4));
    return out;
  }
  static void complains(const std::string& about, auto&& action) {
    try {
      action();
      ADD_FAILURE() << "no complaint about '" << about << "'";
    } catch (const error& e) {
      EXPECT_NE(std::string(e.what()).find(about), std::string::npos) << e.what();
    }
  }
  static void times_three_plus_one(const chunk& c, const stream_ref& s) {
    launch(kernels::affine_u32, launch_shape::for_size(c.device.size() / 4), s,
           reinterpret_cast<std::uint32_t*>(c.device.data()), std::uint64_t{c.device.size() / 4}, 3u, 1u, 1u);
  }

  fs::path folder;
};
SLUICE_ON_EACH_DEVICE(files);

TEST_P(files, are_mapped_as_they_are) {
  const auto path = make("a", 4096 + 12);
  const mapped_file f(path);
  EXPECT_EQ(f.size_bytes(), 4108u);
  const auto expected = words(path);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), f.as<std::uint32_t>().begin()));
}

TEST_P(files, are_complained_about_when_they_cannot_be_used) {
  complains("No such file", [&] { mapped_file f(folder / "missing"); });
  complains("empty", [&] { mapped_file f(make("empty", 0)); });
  complains("not a regular file", [&] { mapped_file f(folder); });
  complains("no multiple of 8", [&] { (void)mapped_file(make("odd", 1001)).as<double>(); });
  mapped_file f(make("ro", 100));
  complains("read-only", [&] { (void)f.writable_bytes(); });
  complains("read-only", [&] { f.write_at(0, {}); });
  complains("read-only", [&] { f.flush(); });
}

TEST_P(files, say_when_they_were_cut_short_instead_of_crashing) {
  const auto path = make("cut", 100'000);
  const mapped_file f(path);
  fs::resize_file(path, 50'000);
  std::vector<std::byte> out(60'000);
  complains("the file ends at byte 50000", [&] { f.read_at(0, out); });
  complains("cut short", [&] { f.require_whole(); });
}

TEST_P(files, keep_what_was_written_and_flushed) {
  const auto path = make("rw", 8192);
  {
    mapped_file f(path, file_access::read_write);
    const std::vector<std::byte> some(100, std::byte{7});
    f.write_at(5000, some);
    f.writable_bytes()[0] = std::byte{9};
    f.flush();
    complains("leaves the file", [&] { f.write_at(8100, some); });
    complains("leaves the file", [&] { f.flush(8000, 500); });
  }
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(in.get(), 9);
  in.seekg(5099);
  EXPECT_EQ(in.get(), 7);
}

TEST_P(files, come_through_the_pipeline_transformed_byte_for_byte) {
  for (const bool overlap : {false, true}) {
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{64} << 10, (std::size_t{1} << 20) + 400}) {
      const auto in = make("in", bytes), out = make("out", bytes);
      const mapped_file source(in);
      mapped_file target(out, file_access::read_write);
      const chunk_pipeline pipeline({.chunk_bytes = 64 << 10, .depth = 3, .readers = 2, .overlap = overlap}, device());
      double told = 0;
      const auto report = pipeline.run(source, &target, times_three_plus_one, [&](double share) { told = share; });
      EXPECT_EQ(report.bytes, bytes);
      EXPECT_EQ(report.chunks, (bytes + 65535) / 65536);
      EXPECT_FALSE(report.stopped);
      EXPECT_EQ(told, 1.0);
      target.flush();
      auto expected = words(in);
      for (auto& w : expected) w = w * 3 + 1;
      EXPECT_EQ(words(out), expected) << (overlap ? "overlapped, " : "plain, ") << bytes;
    }
  }
}

TEST_P(files, can_be_transformed_in_place) {
  const auto path = make("inplace", 1 << 20);
  auto expected = words(path);
  mapped_file f(path, file_access::read_write);
  const chunk_pipeline pipeline({.chunk_bytes = 100'000, .depth = 4, .readers = 3}, device());
  (void)pipeline.run(f, &f, times_three_plus_one);
  for (auto& w : expected) w = w * 3 + 1;
  EXPECT_EQ(words(path), expected);
}

TEST_P(files, stop_at_a_piece_when_asked) {
  for (const bool overlap : {false, true}) {
    const auto in = make("in", 1 << 20), out = make("out", 1 << 20);
    const auto before = words(out);
    const mapped_file source(in);
    mapped_file target(out, file_access::read_write);
    std::stop_source stop;
    const chunk_pipeline pipeline({.chunk_bytes = 64 << 10, .depth = 2, .readers = 2, .overlap = overlap}, device());
    const auto report = pipeline.run(
        source, &target, times_three_plus_one,
        [&](double share) {
          if (share >= 0.5) stop.request_stop();
        },
        stop.get_token());
    EXPECT_TRUE(report.stopped);
    EXPECT_EQ(report.chunks, 8u);
    const auto result = words(out), source_words = words(in);
    for (std::size_t piece = 0; piece < 16; ++piece) {
      const std::size_t at = piece * 16384;
      const bool done = result[at] == source_words[at] * 3 + 1;
      for (std::size_t i = at; i < at + 16384; ++i) {
        ASSERT_EQ(result[i], done ? source_words[i] * 3 + 1 : before[i]) << "a piece is whole or untouched";
      }
    }
  }
}

TEST_P(files, cut_short_under_the_pipeline_end_it_with_an_error) {
  const auto path = make("cut", 1 << 20);
  const mapped_file f(path);
  fs::resize_file(path, 500'000);
  for (const bool overlap : {false, true}) {
    const chunk_pipeline pipeline({.chunk_bytes = 64 << 10, .depth = 2, .readers = 2, .overlap = overlap}, device());
    complains(overlap ? "the file ends at" : "cut short",
              [&] { (void)pipeline.run(f, nullptr, times_three_plus_one); });
  }
}

TEST_P(files, hand_on_what_the_work_throws) {
  const mapped_file f(make("in", 1 << 20));
  const chunk_pipeline pipeline({.chunk_bytes = 64 << 10, .depth = 2, .readers = 2}, device());
  const auto work = [](const chunk& c, const stream_ref&) {
    if (c.index == 5) throw std::runtime_error("mine");
  };
  EXPECT_THROW((void)pipeline.run(f, nullptr, work), std::runtime_error);
  EXPECT_THROW(chunk_pipeline({.chunk_bytes = 0}), error);
}

TEST_P(files, go_through_the_overlapped_pipeline_several_times_faster) {
  if (!simulated()) GTEST_SKIP() << "a promise about simulated time; real devices are measured by the benchmarks";
  const auto in = make("in", 32 << 20), out = make("out", 32 << 20);
  const mapped_file source(in);
  mapped_file target(out, file_access::read_write);
  auto& clock = *device().backend().clock();
  const auto time = [&](bool overlap) {
    const auto begin = clock.now();
    (void)chunk_pipeline({.chunk_bytes = 1 << 20, .depth = 8, .readers = 8, .overlap = overlap}, device())
        .run(source, &target, times_three_plus_one);
    return clock.now() - begin;
  };
  const auto plain = time(false), overlapped = time(true);
  EXPECT_GT(plain, 2 * overlapped) << plain << " ns plain, " << overlapped << " ns overlapped";
  EXPECT_EQ(time(true), overlapped) << "and takes the same time each time, whatever the reader threads do";
}

}  // namespace
}  // namespace sluice::runtime
