#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>

#include "core/generate/generate.hpp"
#include "core/query/engine/engine.hpp"
#include "core/query/types/memory_map.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/recording.hpp"

/// Compares an engine's results from a file's own summaries with the engine's results for the same recording without
/// summaries. Some of the files are cut short.
namespace sluice::query {
namespace {

using generate::program_pattern;

struct reported_recording {
  program_pattern pattern = program_pattern::training;
  bool cut_short = false;
};

class stored_results_test : public ::testing::TestWithParam<reported_recording> {
 protected:
  static constexpr std::uint64_t events = 30'000;
  static constexpr double section_events = 1'500;

  void SetUp() override {
    generate::generate_options options;
    options.events = events;
    options.pattern = GetParam().pattern;
    options.seed = 7;
    const std::string generated = plain_.path() + ".generated";
    ASSERT_TRUE(generate::generate(options, generated));
    const auto source = trace::file::open(generated).value()->latest();
    std::filesystem::remove(generated);
    testing::copy_rows(*source, plain_.writer());
    if (GetParam().cut_short) {
      cut_short();
    } else {
      plain_.close();
      testing::copy_rows(*source, summed_.writer());
      summary::finalize_options ending;
      ending.min_events = 1;
      ending.section_events = section_events;
      ASSERT_TRUE(summary::finalize(summed_.writer(), ending));
      with_ = std::make_unique<engine>(trace::file::open(summed_.path()).value());
    }
    without_ = std::make_unique<engine>(trace::file::open(plain_.path()).value());
  }

  /// Cuts the file in the middle of a chunk, at three quarters of its length.
  void cut_short() {
    plain_.close();
    std::filesystem::resize_file(plain_.path(), std::filesystem::file_size(plain_.path()) / 4 * 3);
    const auto cut = trace::file::open(plain_.path()).value();
    const auto summed =
        summary::summed_up(cut->latest(), {.memory_bytes = 0, .section_events = section_events}).value();
    ASSERT_FALSE(summed->summaries().empty());
    ASSERT_TRUE(cut->adopt(summed));
    with_ = std::make_unique<engine>(cut);
  }

  template <class Query>
  auto ask(const Query& query) {
    return std::pair(with_->ask_now(query).value(), without_->ask_now(query).value());
  }

  time_range any_range(const time_range& whole) {
    const auto any = [&] {
      return whole.begin + static_cast<time_ns>(random_() % static_cast<std::uint64_t>(whole.length()));
    };
    const time_ns a = any();
    const time_ns length = whole.length() >> (random_() % 16);
    return {a, a + length + 1};
  }

  testing::recording plain_{2048};
  testing::recording summed_{2048};
  std::unique_ptr<engine> with_;
  std::unique_ptr<engine> without_;
  std::mt19937_64 random_{11};
};

TEST_P(stored_results_test, list_the_same_tracks) {
  const auto [stored, plain] = ask(tracks_query{});
  ASSERT_EQ(stored->tracks.size(), plain->tracks.size());
  for (std::size_t i = 0; i < plain->tracks.size(); ++i) {
    EXPECT_EQ(stored->tracks[i].id, plain->tracks[i].id);
    EXPECT_EQ(stored->tracks[i].label, plain->tracks[i].label);
    EXPECT_EQ(stored->tracks[i].depth, plain->tracks[i].depth);
  }
  EXPECT_EQ(stored->span, plain->span);
  EXPECT_EQ(stored->complete_until, plain->complete_until);
}

TEST_P(stored_results_test, draw_the_same_curves) {
  const auto [stored, plain] = ask(tracks_query{});
  std::size_t compared = 0;
  for (const track& each : plain->tracks) {
    for (const bool by_category : {false, true}) {
      for (int i = 0; i < 6; ++i) {
        const series_query query{each.id, i == 0 ? plain->span : any_range(plain->span),
                                 200 + static_cast<std::uint32_t>(random_() % 300), by_category};
        const auto drawn = with_->ask_now(query);
        if (!drawn) break;  // This track has slices instead of curves.
        const auto bins = static_cast<std::uint32_t>((*drawn)->bands.empty() ? 1 : (*drawn)->bands[0].bins.size());
        EXPECT_GE(10 * bins, 7 * std::min<time_ns>(query.width, query.range.length()));
        const auto same = without_->ask_now(series_query{each.id, (*drawn)->range, bins, by_category}).value();
        ASSERT_EQ((*drawn)->bands.size(), same->bands.size()) << each.label;
        EXPECT_EQ((*drawn)->maximum, same->maximum);
        for (std::size_t b = 0; b < same->bands.size(); ++b) {
          ASSERT_EQ((*drawn)->bands[b].label, same->bands[b].label);
          const double rounding = 1e-9 * same->maximum;
          for (std::size_t k = 0; k < bins; ++k) {
            ASSERT_NEAR((*drawn)->bands[b].bins[k].minimum, same->bands[b].bins[k].minimum, rounding) << each.label;
            ASSERT_NEAR((*drawn)->bands[b].bins[k].maximum, same->bands[b].bins[k].maximum, rounding) << each.label;
            // Tiles round means to a 2048th of their height above the minimum, or to a millionth.
            const auto& bin = same->bands[b].bins[k];
            const double of_mean =
                (bin.maximum - bin.minimum) / 2048 + 1e-6 * std::max(std::abs(bin.minimum), std::abs(bin.maximum));
            ASSERT_NEAR((*drawn)->bands[b].bins[k].mean, bin.mean, rounding + of_mean) << each.label;
          }
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 50U);
}

/// For each depth, the number of ns in a range that slices cover.
std::map<int, double> covered(const slice_list& list, time_range range) {
  std::map<int, double> totals;
  for (const slice& each : list.slices) {
    const time_ns inside = std::min(each.end, range.end) - std::max(each.begin, range.begin);
    if (inside > 0) totals[each.depth] += static_cast<double>(each.busy) * static_cast<double>(inside);
  }
  return totals;
}

TEST_P(stored_results_test, draw_slices_that_cover_as_much) {
  const auto [stored, plain] = ask(tracks_query{});
  std::size_t compared = 0;
  for (const track& each : plain->tracks) {
    for (int i = 0; i < 6; ++i) {
      const time_range range = i == 0 ? plain->span : any_range(plain->span);
      const slices_query query{each.id, range, 500};
      const auto drawn = with_->ask_now(query);
      const auto same = without_->ask_now(query);
      ASSERT_EQ(drawn.has_value(), same.has_value());
      if (!drawn) break;
      const auto ours = covered(**drawn, range);
      for (const auto& [depth, ns] : covered(**same, range)) {
        // Slices at the edges of the range may share a pixel with other slices, whose share inside the range is not
        // known.
        const double pixels = 4 * static_cast<double>(range.length()) / query.width;
        ASSERT_TRUE(ours.contains(depth) || ns < pixels) << each.label;
        if (!ours.contains(depth)) continue;
        EXPECT_NEAR(ours.at(depth), ns, 0.01 * ns + pixels) << each.label << " row " << depth;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 10U);
}

TEST_P(stored_results_test, say_exactly_when_steps_begin_and_end_that_are_drawn_one_by_one) {
  const auto [stored, plain] = ask(tracks_query{});
  for (const track& each : plain->tracks) {
    if (each.kind != track_kind::steps) continue;
    std::map<std::int64_t, time_range> spans;
    const auto now = without_->ask_now(slices_query{each.id, plain->span, 16384}).value();
    for (const slice& step : now->slices)
      if (step.count == 1) spans[step.step] = {step.begin, step.end};
    ASSERT_FALSE(spans.empty());
    std::size_t compared = 0;
    for (int i = 0; i < 40; ++i) {
      // About twenty pixels a step, from tiles and from rows below them.
      const auto about = std::next(spans.begin(), static_cast<std::ptrdiff_t>(i * spans.size() / 40));
      const time_ns length = about->second.length();
      const time_range range{about->second.begin - length * (i % 7), about->second.end + length * (i % 5)};
      const auto drawn = with_->ask_now(slices_query{each.id, range, i % 2 == 0 ? 100U : 1000U}).value();
      for (const slice& step : drawn->slices) {
        const auto known = spans.find(step.step);
        if (step.count != 1 || known == spans.end()) continue;
        EXPECT_EQ(step.begin, known->second.begin) << step.step;
        EXPECT_EQ(step.end, known->second.end) << step.step;
        ++compared;
      }
    }
    EXPECT_GT(compared, 40U);
  }
}

TEST_P(stored_results_test, are_shown_to_a_view_until_a_part_is_read) {
  const auto tracks = with_->ask_now(tracks_query{}).value();
  for (const track& each : tracks->tracks) {
    if (each.kind != track_kind::memory) continue;
    const time_ns middle = (tracks->span.begin + tracks->span.end) / 2;
    const series_query query{each.id, {middle, middle + tracks->span.length() / 500}, 400};
    slot<series_query> view;
    query_result<series> last = view.ask(*with_, query);
    for (; !last.complete; last = view.ask(*with_, query)) {
      ASSERT_FALSE(last.failure);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    const auto now = with_->ask_now(query).value();
    ASSERT_EQ(last->bands.size(), now->bands.size());
    for (std::size_t b = 0; b < now->bands.size(); ++b)
      for (std::size_t k = 0; k < now->bands[b].bins.size(); ++k)
        ASSERT_EQ(last->bands[b].bins[k].maximum, now->bands[b].bins[k].maximum);
  }
}

TEST_P(stored_results_test, are_those_of_the_last_query_however_fast_a_view_zooms) {
  const auto tracks = with_->ask_now(tracks_query{}).value();
  const auto thread = std::find_if(tracks->tracks.begin(), tracks->tracks.end(),
                                   [](const track& each) { return each.kind == track_kind::host_thread; });
  ASSERT_NE(thread, tracks->tracks.end());
  slot<slices_query> view;
  for (int round = 0; round < 20; ++round) {
    slices_query query{thread->id, {}, 300};
    for (int i = 0; i < 8; ++i) {
      query.range = any_range(tracks->span);
      static_cast<void>(view.ask(*with_, query));
      if (random_() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random_() % 2000));
    }
    query_result<slice_list> last = view.ask(*with_, query);
    for (; !last.complete; last = view.ask(*with_, query)) {
      ASSERT_FALSE(last.failure);
      std::this_thread::yield();
    }
    const auto now = with_->ask_now(query).value();
    EXPECT_EQ(last->range, query.range);
    ASSERT_EQ(last->slices.size(), now->slices.size());
    for (std::size_t i = 0; i < now->slices.size(); ++i) {
      ASSERT_EQ(last->slices[i].begin, now->slices[i].begin);
      ASSERT_EQ(last->slices[i].event, now->slices[i].event);
    }
  }
}

TEST_P(stored_results_test, go_through_the_same_steps_of_memory) {
  const auto [stored, plain] = ask(tracks_query{});
  for (const bool forward : {true, false}) {
    time_ns now = plain->span.begin + plain->span.length() / 2;
    for (int i = 0; i < 300; ++i) {
      const auto [by_parts, by_all] = ask(memory_step_query{now, forward, {}});
      ASSERT_EQ(by_parts->time, by_all->time) << "from " << now;
      EXPECT_EQ(by_parts->born_bytes, by_all->born_bytes);
      EXPECT_EQ(by_parts->died_bytes, by_all->died_bytes);
      EXPECT_EQ(by_parts->block, by_all->block);
      if (by_all->time == trace::unknown_time) break;
      ASSERT_TRUE(forward ? by_all->time > now : by_all->time < now);
      // Sometimes jumps far ahead, into another section.
      now = i % 10 == 9 ? any_range(plain->span).begin : by_all->time;
    }
  }
  const auto [past, nothing] = ask(memory_step_query{plain->span.end + 1'000'000, true, {}});
  EXPECT_EQ(past->time, trace::unknown_time);
  EXPECT_EQ(nothing->time, trace::unknown_time);
  const auto [back, last] = ask(memory_step_query{plain->span.end + 1'000'000, false, {}});
  EXPECT_EQ(back->time, last->time);
  EXPECT_NE(back->time, trace::unknown_time);
}

TEST_P(stored_results_test, about_a_long_time_are_gathered_from_parts_and_the_same) {
  const time_range whole = with_->ask_now(tracks_query{}).value()->span;
  const auto same = [&](const auto& query) {
    const auto [gathered, plain] = ask(query);
    EXPECT_EQ(in_words(*gathered), in_words(*plain));
  };
  for (int i = 0; i < 6; ++i) {
    const time_ns cut = whole.length() / (4 + static_cast<time_ns>(random_() % 8));
    const time_range range{whole.begin + cut, whole.end - static_cast<time_ns>(random_() % 3) * cut / 2 - 1};
    same(statistics_query{range});
    blocks_query blocks;
    blocks.range = range;
    blocks.rows = i % 2 == 0 ? 100 : block_table::row_limit;
    blocks.sort = i % 3 == 0 ? block_column::born : block_column::bytes;
    blocks.only_unfreed = i == 4;
    same(blocks);
    for (const stack_measure measure :
         {stack_measure::peak, stack_measure::allocated, stack_measure::transferred, stack_measure::host}) {
      stacks_query stacks;
      stacks.range = range;
      stacks.measure = measure;
      same(stacks);
    }
  }
}

TEST_P(stored_results_test, about_a_long_time_are_shown_as_far_as_they_are_known_and_can_be_changed) {
  const time_range whole = with_->ask_now(tracks_query{}).value()->span;
  slot<statistics_query> view;
  for (int i = 1; i < 20; ++i) {
    const statistics_query query{{whole.begin + i, whole.end - 1}};
    query_result<metrics::range_statistics> last = view.ask(*with_, query);
    if (i % 5 != 0) continue;  // The next query replaces this one before its result arrives.
    for (; !last.complete; last = view.ask(*with_, query)) {
      ASSERT_FALSE(last.failure) << last.failure->to_string();
      EXPECT_LE(last.progress, 1.0F);
      std::this_thread::yield();
    }
    EXPECT_EQ(in_words(*last.value), in_words(*with_->ask_now(query).value()));
  }
}

TEST_P(stored_results_test, say_that_there_is_no_such_event) {
  const details_query query{trace::event_id{UINT64_MAX / 2}, {}};
  const auto stored = with_->ask_now(query);
  const auto plain = without_->ask_now(query);
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, plain.error().code);
}

TEST(summaries, are_left_out_of_what_opens_as_fast_without) {
  for (const std::uint64_t least : {1'000, 1'001}) {
    testing::recording recorded;
    recorded.standard_tables();
    for (int i = 0; i < 1000; ++i) recorded.writer().add(recorded.event<trace::marker_event>(i));
    summary::finalize_options ending;
    ending.min_events = least;
    ASSERT_TRUE(summary::finalize(recorded.writer(), ending));
    EXPECT_EQ(trace::file::open(recorded.path()).value()->latest()->summaries().empty(), least == 1'001);
  }
}

TEST(summaries, are_left_out_when_nobody_waits_for_them) {
  const std::atomic<bool> cancelled{true};
  testing::recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 1000; ++i) recorded.writer().add(recorded.event<trace::marker_event>(i));
  summary::finalize_options ending;
  ending.min_events = 1;
  ending.cancel = &cancelled;
  ASSERT_TRUE(summary::finalize(recorded.writer(), ending));
  const auto trace = trace::file::open(recorded.path()).value()->latest();
  EXPECT_TRUE(trace->complete());
  EXPECT_EQ(trace->chunks().back().rows, 1000U);
  EXPECT_EQ(summary::find_stored_metrics(*trace), nullptr);
}

INSTANTIATE_TEST_SUITE_P(patterns, stored_results_test,
                         ::testing::Values(reported_recording{program_pattern::training},
                                           reported_recording{program_pattern::inference},
                                           reported_recording{program_pattern::training, true},
                                           reported_recording{program_pattern::inference, true}),
                         [](const auto& subject) {
                           const std::string name =
                               subject.param.pattern == program_pattern::training ? "training" : "inference";
                           return name + (subject.param.cut_short ? "_cut_short" : "");
                         });

}  // namespace
}  // namespace sluice::query
