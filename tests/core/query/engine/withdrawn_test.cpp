#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "core/generate/generate.hpp"
#include "core/index/growing_index.hpp"
#include "core/query/engine/asked_query.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"

/// Tests withdrawn queries of the window. After the withdrawal, a query reads at most the data between two checks of
/// the flag, which is one chunk of rows; this limit does not depend on time.
namespace sluice::query {
namespace {

constexpr std::size_t enough = std::size_t{1} << 30;

class withdrawn_query : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string path =
        std::filesystem::temp_directory_path() / ("sluice-withdrawn-" + std::to_string(::getpid()) + ".sluice");
    ASSERT_TRUE(generate::generate({.events = 1'500'000}, path));
    trace_ = trace::file::open(path).value()->latest();
    std::filesystem::remove(path);
  }
  static void TearDownTestSuite() { trace_ = nullptr; }

  void SetUp() override {
    stored_ = open_stored_sources(trace_, enough);
    ASSERT_NE(stored_, nullptr);
    ASSERT_NE(stored_->sections, nullptr);
    ASSERT_GT(stored_->sections->store().sections().size(), 20U)
        << "half of it is answered from one run of sections after another";
  }

  /// Runs a query as an engine task whose result is no longer wanted. If the task built indexes, they would be kept.
  template <class Query>
  void expect_nothing_is_built(const Query& query) {
    const sources source{nothing_,      *trace_, withdrawn_,  frames_, symbols::frame_cache::lookup::later,
                         stored_.get(), nullptr, provisional_};
    const auto asked = erase_type(std::make_shared<const Query>(query));
    if (const auto result = asked->start(source)) {
      const auto done = result->work(std::chrono::steady_clock::time_point::max());
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, error_code::cancelled);
      EXPECT_EQ(result->progress(), 0);
    } else {
      const auto found = find_result(*asked, source);
      // Queries that draw visible tracks still have results, from tiles.
      if constexpr (!draws<Query>) {
        ASSERT_TRUE(found && !*found);
        EXPECT_EQ(found->error().code, error_code::cancelled);
      }
    }
    EXPECT_EQ(stored_->sections->memory_bytes(), 0U);
  }

  [[nodiscard]] static time_range whole() { return index::recorded_range(*trace_); }
  [[nodiscard]] static time_range half() {
    return {whole().begin + whole().length() / 4, whole().end - whole().length() / 4};
  }
  [[nodiscard]] static trace::time_ns middle() { return whole().begin + whole().length() / 2; }

  static inline std::shared_ptr<const trace::snapshot> trace_;
  std::shared_ptr<const stored_sources> stored_;
  const index::growing_index nothing_;
  const std::atomic<bool> withdrawn_{true};
  symbols::frame_cache frames_{symbols::options_for(*trace_)};
  bool provisional_ = false;
};

// Each kind of query about a moment, which needs an index of one section.
TEST_F(withdrawn_query, about_a_moment_builds_no_index) {
  blocks_query blocks;
  blocks.range = {middle(), middle() + 1};
  expect_nothing_is_built(blocks);
  expect_nothing_is_built(statistics_query{{middle(), middle() + 1000}});
  expect_nothing_is_built(memory_map_query{.time = middle(), .width = 100});
  expect_nothing_is_built(memory_step_query{middle(), true, {}});
  expect_nothing_is_built(memory_step_query{middle(), false, {}});
  stacks_query stacks;
  stacks.measure = stack_measure::live;
  stacks.at = middle();
  expect_nothing_is_built(stacks);
}

// Each kind of query about half of the recording, which needs indexes of many sections.
TEST_F(withdrawn_query, about_a_long_time_builds_no_index) {
  blocks_query blocks;
  blocks.range = half();
  expect_nothing_is_built(blocks);
  expect_nothing_is_built(statistics_query{half()});
  for (const stack_measure each :
       {stack_measure::peak, stack_measure::allocated, stack_measure::transferred, stack_measure::host}) {
    stacks_query stacks;
    stacks.range = half();
    stacks.measure = each;
    expect_nothing_is_built(stacks);
  }
  expect_nothing_is_built(search_query{"gemm"});
}

// An event and a block in the middle of the recording: their chunks are searched first.
TEST_F(withdrawn_query, about_an_event_or_a_block_builds_no_index) {
  expect_nothing_is_built(details_query{trace::event_id{700'000}, {}});
  expect_nothing_is_built(details_query{{}, trace::block_id{20'000}});
}

// A zoom below the resolution of the tiles, for every track: results come from tiles instead.
TEST_F(withdrawn_query, of_the_timeline_builds_no_index) {
  const sources source{nothing_,      *trace_, withdrawn_,  frames_, symbols::frame_cache::lookup::later,
                       stored_.get(), nullptr, provisional_};
  const time_range near{middle(), middle() + 20'000};
  for_each_track(source, [&](track&& each) {
    const std::uint64_t id = track_id(each);
    expect_nothing_is_built(slices_query{id, near, 1600});
    expect_nothing_is_built(series_query{id, near, 1600});
  });
}

// The flag is checked after each chunk of rows, and of summaries, that an index reads.
TEST_F(withdrawn_query, is_noticed_after_each_chunk) {
  const summary::section_reader& store = stored_->sections->store();
  const std::size_t section = store.section_at(middle());
  std::size_t looks = 0;
  const auto counted = [&] { return ++looks > 0; };
  ASSERT_TRUE(store.get_index(section, section, index::section_scope::everything, counted));
  EXPECT_GE(looks, store.whole()->chunks->in(store.find_run(section, section), true).value().size());
  std::size_t until = 0;
  const auto stopped =
      store.get_index(section, section, index::section_scope::everything, [&] { return ++until < looks / 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  EXPECT_EQ(until, looks / 2) << "nothing is read after that";
}

}  // namespace
}  // namespace sluice::query
