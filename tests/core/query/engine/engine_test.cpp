#include "core/query/engine/engine.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "tests/core/recordings/recording.hpp"

namespace sluice::query {
namespace {

using testing::gib;
using testing::mib;
using testing::ms;
using testing::recording;
using trace::direction;
using trace::layer;
using trace::memory_kind;

/// Simulates a window's loop: sleeps until the engine wakes it.
class loop {
 public:
  engine_options options(unsigned threads = 1) {
    engine_options output;
    output.threads = threads;
    output.wake = [this] {
      const std::scoped_lock lock(mutex_);
      ++wakes_;
      woken_.notify_all();
    };
    return output;
  }
  /// Calls `step` now and after each wake until it returns true.
  template <class Step>
  void until(Step&& step) {
    std::size_t seen = 0;
    while (!step()) {
      std::unique_lock lock(mutex_);
      // Results from an incomplete index are recomputed at intervals, so there may be no wake for each of them.
      woken_.wait_for(lock, std::chrono::milliseconds(60), [&] { return wakes_ > seen; });
      seen = wakes_;
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable woken_;
  std::size_t wakes_ = 0;
};

void small_trace(recording& recorded) {
  recorded.standard_tables();
  recorded.add_alloc(1 * ms, 1, 1 * gib);
  recorded.add_alloc(2 * ms, 2, 2 * gib);
  recorded.add_free(5 * ms, 1);
  recorded.add_copy(1 * ms, 2 * ms, 10'000'000, direction::h2d, memory_kind::host);
  recorded.add_copy(3 * ms, 4 * ms, 50'000'000);
  recorded.add_kernel(2 * ms, 6 * ms);
  recorded.add_call(0, 1 * ms, "cuMemAlloc_v2");
  recorded.add_device_memory(3 * ms, 136 * gib, 140 * gib, 10 * mib);
  recorded.add_kernel(9 * ms, 10 * ms, "relu");
}

const track* find(const track_list& list, track_kind kind, direction way = direction::unknown) {
  for (const track& t : list.tracks) {
    if (t.kind == kind && t.direction == way) return &t;
  }
  return nullptr;
}

TEST(engine, results_at_once_for_those_who_wait) {
  recording recorded;
  small_trace(recorded);
  recorded.close();
  engine asked(recorded.open());

  const auto tracks = asked.ask_now(tracks_query{});
  ASSERT_TRUE(tracks);
  EXPECT_EQ((*tracks)->span, (time_range{0, 10 * ms + 1}));
  const track* memory = find(**tracks, track_kind::memory);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->label, "Device memory");
  EXPECT_EQ(memory->detail, "NVIDIA H200 (GPU 0)");

  const auto curve = asked.ask_now(series_query{memory->id, {0, 10 * ms}, 10});
  ASSERT_TRUE(curve);
  const band& device = (*curve)->bands.front();
  EXPECT_EQ(device.kind, memory_kind::device);
  ASSERT_EQ(device.bins.size(), 10U);
  EXPECT_EQ(device.bins[0].maximum, 0);
  EXPECT_EQ(device.bins[2].mean, 3.0 * gib);
  EXPECT_EQ(device.bins[7].mean, 2.0 * gib);

  const track* stream = find(**tracks, track_kind::stream);
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->label, "Stream 7");
  const auto slices = asked.ask_now(slices_query{stream->id, {0, 10 * ms}, 1000});
  ASSERT_TRUE(slices);
  ASSERT_EQ((*slices)->slices.size(), 4U);
  EXPECT_EQ((*slices)->slices[0].kind, slice_kind::h2d);
  EXPECT_EQ((*slices)->slices[1].kind, slice_kind::kernel);

  const auto metrics = asked.ask_now(statistics_query{{0, 10 * ms}});
  ASSERT_TRUE(metrics);
  ASSERT_EQ((*metrics)->devices.size(), 1U);
  EXPECT_EQ((*metrics)->devices[0].kernel_busy, 5 * ms);
  EXPECT_EQ((*metrics)->devices[0].copy_only, 1 * ms);
  EXPECT_EQ((*metrics)->devices[0].overlap, 1 * ms);
}

TEST(engine, says_what_is_wrong_with_a_query) {
  recording recorded;
  small_trace(recorded);
  recorded.close();
  engine asked(recorded.open());
  EXPECT_EQ(asked.ask_now(slices_query{12345, {0, 10}, 100}).error().code, error_code::not_found);
  EXPECT_EQ(asked.ask_now(details_query{trace::event_id{999}, {}}).error().code, error_code::not_found);
  EXPECT_EQ(asked.ask_now(details_query{{}, trace::block_id{999}}).error().code, error_code::not_found);
}

TEST(slot, gives_what_is_ready_and_wakes_the_loop_when_there_is_more) {
  recording recorded;
  small_trace(recorded);
  recorded.close();
  loop window;
  engine asked(recorded.open(), window.options());
  slot<tracks_query> tracks;
  slot<report_query> summary;
  window.until([&] { return tracks.ask(asked, {}).complete && summary.ask(asked, {}).complete; });
  const auto result = tracks.ask(asked, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result.progress, 1.0F);
  EXPECT_FALSE(result.failure);
  EXPECT_FALSE(result->tracks.empty());
  EXPECT_EQ(summary.ask(asked, {})->blocks, 2U);
  window.until([&] { return !asked.busy(); });
  // A repeated query returns the same object.
  EXPECT_EQ(tracks.ask(asked, {}).value, result.value);
}

TEST(slot, shows_the_result_before_while_a_new_one_is_worked_out) {
  recording recorded;
  small_trace(recorded);
  recorded.close();
  loop window;
  engine asked(recorded.open(), window.options());
  slot<statistics_query> metrics;
  const statistics_query first{{0, 5 * ms}};
  window.until([&] { return metrics.ask(asked, first).complete; });
  const statistics_query second{{0, 10 * ms}};
  const auto at_once = metrics.ask(asked, second);
  ASSERT_TRUE(at_once);
  EXPECT_EQ(at_once->range, at_once.complete ? second.range : first.range);
  window.until([&] { return metrics.ask(asked, second).complete; });
  EXPECT_EQ(metrics.ask(asked, second)->range, second.range);
}

TEST(slot, reports_failure_for_the_query_that_failed) {
  recording recorded;
  small_trace(recorded);
  recorded.close();
  loop window;
  engine asked(recorded.open(), window.options());
  slot<details_query> details;
  const details_query wrong{trace::event_id{999}, {}};
  window.until([&] { return details.ask(asked, wrong).failure.has_value(); });
  const details_query right{{}, trace::block_id{1}};
  window.until([&] { return details.ask(asked, right).complete; });
  EXPECT_FALSE(details.ask(asked, right).failure);
  EXPECT_EQ(details.ask(asked, right)->title, "Block of 1.00 GiB");
}

TEST(slot, may_be_dropped_or_turned_to_another_engine_at_any_time) {
  recording recorded(16);
  recorded.standard_tables();
  for (int i = 0; i < 2000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
  recorded.close();
  const auto file = recorded.open();
  loop window;
  slot<statistics_query> kept;
  for (int round = 0; round < 20; ++round) {
    engine asked(file, window.options(2));
    slot<statistics_query> dropped;
    static_cast<void>(dropped.ask(asked, {{0, round}}));
    static_cast<void>(kept.ask(asked, {{0, round}}));
  }
  engine asked(file, window.options());
  window.until([&] { return kept.ask(asked, {{0, 1000}}).complete; });
  ASSERT_EQ(kept.ask(asked, {{0, 1000}})->devices.size(), 1U);
  EXPECT_EQ(kept.ask(asked, {{0, 1000}})->devices[0].kernels, 10U);
}

TEST(engine, follows_a_file_that_grows) {
  recording recorded(64);
  recorded.standard_tables(false);
  recorded.add_kernel(0, 100);
  recorded.flush();
  loop window;
  engine asked(recorded.open(), window.options());
  slot<statistics_query> metrics;
  const statistics_query whole{{0, 1'000'000}};
  window.until([&] { return metrics.ask(asked, whole).complete; });
  EXPECT_EQ(metrics.ask(asked, whole)->kernels[0].count, 1U);
  for (int i = 1; i < 1000; ++i) {
    recorded.add_kernel(i * 1000, i * 1000 + 100);
    if (i % 100 != 0) continue;
    recorded.flush();
    asked.refresh();
  }
  // A row that arrives late, with a time before all others.
  recorded.add_kernel(-500, -400);
  recorded.close();
  asked.refresh();
  window.until([&] { return !asked.busy(); });
  EXPECT_TRUE(asked.snapshot()->complete());
  window.until([&] { return metrics.ask(asked, whole).complete; });
  EXPECT_EQ(metrics.ask(asked, whole)->kernels[0].count, 1000U);
  EXPECT_EQ(asked.ask_now(statistics_query{{-1000, 1'000'000}}).value()->kernels[0].count, 1001U);
}

TEST(engine, gives_partial_results_while_it_reads_a_long_trace) {
  recording recorded(64);
  recorded.standard_tables();
  for (int i = 0; i < 200'000; ++i) recorded.add_kernel(i * 1000, i * 1000 + 100);
  recorded.close();
  loop window;
  engine asked(recorded.open(), window.options());
  slot<statistics_query> metrics;
  const statistics_query whole{{0, 200'000'000}};
  bool saw_part = false;
  window.until([&] {
    const auto now = metrics.ask(asked, whole);
    if (now && !now.complete) {
      saw_part = true;
      EXPECT_LE(now.progress, 1.0F);
      EXPECT_LE(now->kernels.empty() ? 0 : now->kernels[0].count, 200'000U);
    }
    return now.complete;
  });
  EXPECT_TRUE(saw_part);
  EXPECT_EQ(metrics.ask(asked, whole)->kernels[0].count, 200'000U);
}

}  // namespace
}  // namespace sluice::query
