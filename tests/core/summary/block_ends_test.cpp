#include "core/index/memory/block_ends.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/index/section_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/findings/reserved/forced_growth.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/statistics/memory_at_marks.hpp"
#include "core/metrics/statistics/unfreed.hpp"
#include "core/replay/recorded_events.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

/// Tests the builders that count a block when it ends: their metrics must not depend on later events that the index
/// contains.
namespace sluice::summary {
namespace {

using testing::indexed;
using testing::recording;

/// The metrics of one recording.
struct gathered {
  explicit gathered(const trace::snapshot& recording)
      : scope_{&recording, index::recorded_range(recording)}, unfreed_(scope_), forced_(scope_), marks_(scope_) {}

  void add(const index::event_store& store, time_range run) {
    unfreed_.add(store.memory(), run);
    forced_.add(store.memory(), run);
    marks_.add(store, run);
    replays_.add(store.memory(), run);
  }

  /// All values of the builders' metrics, one by one.
  std::vector<digest_value> values() {
    stored_metrics_flattener flattener;
    flattener.put(unfreed_.take(scope_.tables()));
    metrics::cache_use held;  // Covers all growths until the end, in the segments that are live at the end.
    held.device = trace::device_id{1};
    held.reserved_time = scope_.range.end;
    flattener.put(forced_.metrics(std::span(&held, 1)));
    flattener.put(marks_.take());
    for (const replay::recorded_events& each : replays_.take(scope_.tables())) {
      for (const replay::recorded_event& event : each.events) {
        const bool of_block =
            event.kind == replay::recorded_kind::allocated || event.kind == replay::recorded_kind::freed;
        const std::uint32_t segment = of_block ? each.blocks[event.at].segment : event.at;
        flattener.put(event.time);
        flattener.put(event.order);
        flattener.put(static_cast<std::uint64_t>(event.kind));
        if (of_block) flattener.put(each.blocks[event.at].id);
        if (segment != replay::no_segment) flattener.put(each.segments[segment].address);
      }
    }
    return std::move(flattener.values);
  }

 private:
  const metrics::metrics_scope scope_;
  metrics::unfreed_builder unfreed_;
  metrics::forced_growth_builder forced_;
  metrics::marks_builder marks_;
  replay::recorded_events_builder replays_;
};

/// Adds an index for each of `runs` that contains everything before the end of the run, and nothing after that time.
void add_one_after_another(const trace::snapshot& recording, const std::vector<time_range>& runs, gathered& to) {
  const recording_scan known(recording);
  const auto whole = std::make_shared<index::recording_facts>();
  whole->chunks = std::make_shared<const index::chunk_index>(known.chunks());
  whole->graphs = known.graphs();
  whole->touches = known.touches();
  whole->steps = known.steps();
  std::vector<index::block_record> carried;
  for (const time_range& run : runs) {
    index::section_facts about;
    about.run = run;
    about.whole = whole;
    about.unfolding = true;
    about.samples_known = true;
    about.chunks = whole->chunks->in(run, true).value();
    about.carried = std::exchange(carried, {});
    index::section_index part(std::move(about));
    ASSERT_TRUE(part.absorb(recording));
    to.add(part, run);
    for (const index::block_record& block : part.memory().blocks())
      if (!block.freed()) carried.push_back(block);
  }
}

std::vector<time_range> cut(time_range span, int parts) {
  std::vector<time_range> runs;
  time_ns begin = all_time.begin;
  for (int i = 1; i < parts; ++i) {
    const time_ns end = span.begin + span.length() / parts * i;
    runs.push_back({begin, end});
    begin = end;
  }
  runs.push_back({begin, all_time.end});
  return runs;
}

/// Expects the same metrics from both kinds of index. Returns the number of values that were compared.
std::size_t expect_no_hindsight(recording& recorded) {
  recorded.close();
  const indexed whole(recorded.open());
  const trace::snapshot& snapshot = *whole.snapshot;
  gathered full(snapshot);
  full.add(whole.index, all_time);
  const std::vector<digest_value> expected = full.values();
  for (const int parts : {2, 7, 40}) {
    SCOPED_TRACE(parts);
    gathered found(snapshot);
    add_one_after_another(snapshot, cut(index::recorded_range(snapshot), parts), found);
    const std::vector<digest_value> values = found.values();
    EXPECT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size() && i < expected.size(); ++i) {
      if (values[i].where == expected[i].where && same(values[i], expected[i])) continue;
      ADD_FAILURE() << i << ", of parts: " << in_words(values[i]) << ", of all: " << in_words(expected[i]);
      break;
    }
  }
  return expected.size();
}

TEST(metrics_of_blocks, need_no_hindsight_in_a_training) {
  recording recorded(100);
  testing::training_options options;
  options.steps = 12;
  testing::tell_a_lot(recorded, options);
  EXPECT_GT(expect_no_hindsight(recorded), 500U);
}

TEST(metrics_of_blocks, need_no_hindsight_in_recorded_programs) {
  for (const char* const name : {"pytorch-training", "leak", "pool-churn"}) {
    SCOPED_TRACE(name);
    recording recorded(1024);
    const auto file = trace::file::open(fmt::format("{}/assets/recordings/{}.sluice", SLUICE_SOURCE_DIR, name)).value();
    testing::copy_rows(*file->latest(), recorded.writer());
    EXPECT_GT(expect_no_hindsight(recorded), 10U);
  }
}

TEST(a_block, ends_in_one_of_the_runs_that_cover_all_time) {
  index::block_record block;
  const time_range early{all_time.begin, 100}, late{100, all_time.end};
  EXPECT_FALSE(index::ends_in(block, early));
  EXPECT_TRUE(index::ends_in(block, late)) << "it is never freed";
  block.died = 99;
  EXPECT_TRUE(index::ends_in(block, early));
  EXPECT_FALSE(index::ends_in(block, late));
  block.died = 100;
  EXPECT_FALSE(index::ends_in(block, early));
  EXPECT_TRUE(index::ends_in(block, late));
}

}  // namespace
}  // namespace sluice::summary
