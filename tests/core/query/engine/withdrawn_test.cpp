#include <gtest/gtest.h>

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "core/generate/generate.hpp"
#include "core/index/growing_index.hpp"
#include "core/query/answers/memory_map.hpp"
#include "core/query/engine/find_answer.hpp"

/// Questions of the window that are withdrawn. Work is bounded by what is read between two looks at the flag, not by time: a chunk of rows.
namespace sluice::query {
namespace {

constexpr std::size_t enough = std::size_t{1} << 30;

class withdrawn_question : public ::testing::Test {
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

  /// Asks as a task of the engine does, when nobody wants the answer any more. What was built of indexes would be kept.
  template <class Question>
  void expect_nothing_is_built(const Question& question) {
    const sources from{nothing_,      *trace_, withdrawn_,  frames_, symbols::frame_book::lookup::later,
                       stored_.get(), nullptr, provisional_};
    if (const auto answer = start_long_answer(question, from)) {
      const auto done = answer->work(std::chrono::steady_clock::time_point::max(), withdrawn_);
      ASSERT_FALSE(done);
      EXPECT_EQ(done.error().code, error_code::cancelled);
      EXPECT_EQ(answer->progress(), 0);
    } else {
      const auto found = find_answer(question, from);
      // What is drawn has an answer of tiles at hand.
      if constexpr (!draws<Question>) {
        ASSERT_TRUE(found && !*found);
        EXPECT_EQ(found->error().code, error_code::cancelled);
      }
    }
    EXPECT_EQ(stored_->sections->memory_bytes(), 0U);
  }

  [[nodiscard]] static time_range whole() { return analysis::time_range_of(*trace_); }
  [[nodiscard]] static time_range half() {
    return {whole().begin + whole().length() / 4, whole().end - whole().length() / 4};
  }
  [[nodiscard]] static trace::time_ns middle() { return whole().begin + whole().length() / 2; }

  static inline std::shared_ptr<const trace::snapshot> trace_;
  std::shared_ptr<const stored_sources> stored_;
  const analysis::growing_index nothing_;
  const std::atomic<bool> withdrawn_{true};
  symbols::frame_book frames_{symbols::options_for(*trace_)};
  bool provisional_ = false;
};

// Each kind of question about a moment, which takes an index of one section.
TEST_F(withdrawn_question, about_a_moment_builds_no_index) {
  blocks_question blocks;
  blocks.range = {middle(), middle() + 1};
  expect_nothing_is_built(blocks);
  expect_nothing_is_built(statistics_question{{middle(), middle() + 1000}});
  expect_nothing_is_built(memory_map_question{.time = middle(), .width = 100});
  expect_nothing_is_built(memory_step_question{middle(), true, {}});
  expect_nothing_is_built(memory_step_question{middle(), false, {}});
  stacks_question stacks;
  stacks.measure = stack_measure::live;
  stacks.at = middle();
  expect_nothing_is_built(stacks);
}

// Each kind of question about half of the recording, which takes indexes of many sections.
TEST_F(withdrawn_question, about_a_long_time_builds_no_index) {
  blocks_question blocks;
  blocks.range = half();
  expect_nothing_is_built(blocks);
  expect_nothing_is_built(statistics_question{half()});
  for (const stack_measure each : {stack_measure::peak, stack_measure::allocated, stack_measure::transferred}) {
    stacks_question stacks;
    stacks.range = half();
    stacks.measure = each;
    expect_nothing_is_built(stacks);
  }
  expect_nothing_is_built(search_question{"gemm"});
}

// An event and a block that lie deep in the recording: their chunks are searched first.
TEST_F(withdrawn_question, about_an_event_or_a_block_builds_no_index) {
  expect_nothing_is_built(details_question{trace::event_id{700'000}, {}});
  expect_nothing_is_built(details_question{{}, trace::block_id{20'000}});
}

// A zoom below the tiles, of every track: tiles answer instead.
TEST_F(withdrawn_question, of_the_timeline_builds_no_index) {
  const sources from{nothing_,      *trace_, withdrawn_,  frames_, symbols::frame_book::lookup::later,
                     stored_.get(), nullptr, provisional_};
  const time_range near{middle(), middle() + 20'000};
  for_each_track(from, [&](track&& each) {
    const std::uint64_t id = track_id(each);
    expect_nothing_is_built(slices_question{id, near, 1600});
    expect_nothing_is_built(series_question{id, near, 1600});
  });
}

// The flag is looked at after each chunk of rows, and of summaries, that an index is made from.
TEST_F(withdrawn_question, is_noticed_after_each_chunk) {
  const analysis::section_reader& store = stored_->sections->store();
  const std::size_t section = store.section_at(middle());
  std::size_t looks = 0;
  const auto counted = [&] { return ++looks > 0; };
  ASSERT_TRUE(store.index_of(section, section, analysis::section_scope::everything, counted));
  EXPECT_GE(looks, store.whole()->chunks->in(store.run_of(section, section), true).value().size());
  std::size_t until = 0;
  const auto stopped =
      store.index_of(section, section, analysis::section_scope::everything, [&] { return ++until < looks / 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  EXPECT_EQ(until, looks / 2) << "nothing is read after that";
}

}  // namespace
}  // namespace sluice::query
