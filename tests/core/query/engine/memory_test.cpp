#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "core/generate/generate.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/recordings/recording.hpp"

/// Measures the memory that queries take, each query in its own process.
namespace sluice::query {
namespace {

using testing::recording;
using trace::time_ns;

constexpr std::size_t budget = 100'000'000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool measurable = false;  // The sanitizers' shadow memory would count as resident, too.
#else
constexpr bool measurable = true;
#endif

/// Peak resident memory in MB of a process that runs `work`; 0 if `work` failed.
double measure_resident(const std::function<void()>& work) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    work();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  rusage used{};
  if (::wait4(child, &status, 0, &used) != child || status != 0) return 0;
  return static_cast<double>(used.ru_maxrss) * 1024 / 1e6;
}

class queries_about {
 public:
  explicit queries_about(const std::string& path)
      : engine_(trace::file::open(path, {.cache_bytes = std::size_t{32} << 20}).value(),  // As the window does.
                {.threads = 0, .wake = {}, .memory_bytes = budget}) {}

  template <class Query>
  auto ask(const Query& query) {
    auto found = engine_.ask_now(query);
    EXPECT_TRUE(found) << found.error().to_string();
    return *found;
  }

 private:
  engine engine_;
};

// Four million events, whose index takes 400 MB. The test steps from one allocation or free to the next: 200 times at
// one place forwards and back, 200 times from places all over the recording, and once in a search of the whole
// recording that finds nothing. After each step it queries the memory map at that time.
TEST(memory_budget, holds_while_the_map_is_stepped_through) {
  if (!measurable) GTEST_SKIP() << "sanitizers take memory themselves";
  const std::string path =
      std::filesystem::temp_directory_path() / ("sluice-memory-" + std::to_string(::getpid()) + ".sluice");
  ASSERT_GT(measure_resident([&] { ASSERT_TRUE(generate::generate({.events = 4'000'000}, path)); }), 0);
  const double taken = measure_resident([&] {
    queries_about about(path);
    const time_range whole = about.ask(tracks_query{})->span;
    const auto step = [&](time_ns begin, bool forward) {
      const auto found = about.ask(memory_step_query{begin, forward, {}});
      ASSERT_NE(found->time, trace::unknown_time);
      about.ask(memory_map_query{.time = found->time, .width = 1600, .marks = {found->block}});
    };
    for (const bool forward : {true, false}) {
      time_ns at = whole.begin + whole.length() / 2;
      for (int i = 0; i < 200; ++i, at = about.ask(memory_step_query{at, forward, {}})->time) step(at, forward);
    }
    for (int i = 0; i < 200; ++i) step(whole.begin + whole.length() / 200 * i, true);
    about.ask(memory_step_query{whole.begin, true, trace::device_id{77}});
  });
  std::filesystem::remove(path);
  EXPECT_GT(taken, 0);
  // Allows for freed memory that the C library keeps for each thread, beyond the budget; 40 million events took 88 MB.
  EXPECT_LT(taken, 1.3 * budget / 1e6);
}

/// A million blocks that are allocated and freed at one time stamp, and some before and after it.
void write_many_at_one_time(recording& recorded, time_ns at) {
  recorded.standard_tables();
  const auto add = [&](time_ns time, std::uint64_t block) {
    auto row = recorded.event<trace::alloc_event>(time);
    row.block = trace::block_id{block};
    row.bytes = 512;
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::driver;
    row.device = trace::device_id{1};
    row.address = (block % 1000) << 12;
    recorded.writer().add(row);
  };
  std::uint64_t block = 0;
  const auto live = [&](time_ns born, time_ns died) {
    add(born, ++block);
    recorded.add_free(died, block);
  };
  for (int i = 0; i < 1000; ++i) live(at - 200'000'000 + i * 100'000, at - 200'000'000 + i * 100'000 + 50'000);
  for (int i = 0; i < 1'000'000; ++i) live(at, at);
  for (int i = 0; i < 1000; ++i) live(at + 100'000'000 + i * 100'000, at + 100'000'000 + i * 100'000 + 50'000);
  ASSERT_TRUE(summary::finalize(recorded.writer()));
}

class many_at_one_time : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!measurable) GTEST_SKIP() << "sanitizers take memory themselves";
    path_ = std::filesystem::temp_directory_path() / ("sluice-one-time-" + std::to_string(::getpid()) + ".sluice");
    ASSERT_GT(measure_resident([&] {
                recording recorded;
                write_many_at_one_time(recorded, at_);
                std::filesystem::rename(recorded.path(), path_);
              }),
              0);
  }
  void TearDown() override { std::filesystem::remove(path_); }

  static constexpr time_ns at_ = 500'000'000;
  std::string path_;
};

// The recording is opened, reported on, and viewed at other times: no query reads the section of that one time stamp.
TEST_F(many_at_one_time, cost_nothing_until_somebody_looks_at_that_time) {
  const double taken = measure_resident([&] {
    queries_about about(path_);
    const time_range whole = about.ask(tracks_query{})->span;
    about.ask(report_query{});
    blocks_query blocks;
    blocks.range = whole;
    blocks.rows = block_table::first_rows;
    EXPECT_EQ(about.ask(blocks)->count, 1'002'000U);
    about.ask(statistics_query{{whole.begin, at_ - 50'000'000}});
    about.ask(memory_map_query{.time = at_ - 150'000'000, .width = 1600});
    about.ask(memory_step_query{at_ + 150'000'000, true, {}});
  });
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 64);
}

// Queries all blocks at that time, sorted as in a table. Besides the index, at 140 bytes for each of its blocks, the
// table takes memory only for the rows it shows.
TEST_F(many_at_one_time, take_the_memory_of_an_index_of_their_section) {
  const double taken = measure_resident([&] {
    queries_about about(path_);
    blocks_query blocks;
    blocks.range = {at_ - 1, at_ + 1};
    blocks.sort = block_column::address;
    EXPECT_EQ(about.ask(blocks)->count, 1'000'000U);
    about.ask(memory_step_query{at_ - 1, true, {}});
    about.ask(memory_map_query{.time = at_, .width = 1600});
  });
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 240);
}

}  // namespace
}  // namespace sluice::query
