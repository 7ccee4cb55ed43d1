// The summary of a growing recording equals that of an index of all its rows, and continues from its previous state.
#include "core/summary/passes/growing_summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/summary/metrics/build_stored_metrics.hpp"
#include "core/summary/sections/section_cache.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "tests/core/recordings/growing_program.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/summary/followed_program.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

namespace sluice::summary {
namespace {

using generate::generate_options;
using testing::indexed;
using testing::recording;
using program = testing::growing_program;

constexpr auto goes_on = [] { return true; };

/// Expects the curves in tiles to equal those of the index, at several zooms.
void expect_same_curves(const std::shared_ptr<const trace::snapshot>& trace, const index::event_store& store) {
  const auto tiles = stored_tiles::of(trace);
  ASSERT_NE(tiles, nullptr);
  const auto facts = store.tensors(*trace);
  const time_range whole = index::recorded_range(*trace);
  const auto curves = index::make_curves(store, facts.get(), whole);
  ASSERT_EQ(tiles->curves().size(), curves.size());
  // Curves that appeared late have later numbers.
  std::vector<std::uint32_t> numbers;
  for (const index::index_curve& curve : curves)
    for (const trace::curve_row& row : tiles->curves())
      if (index::same_curve(row, curve.about)) numbers.push_back(row.curve);
  ASSERT_EQ(numbers.size(), curves.size());
  for (const time_ns part : {1, 3, 8}) {
    const time_range shown{whole.end - whole.length() / part, whole.end};
    const bin_grid grid = tiles->grid_over(shown, 60);
    auto detail = bin_detail::exact;
    const auto bins = tiles->sample(numbers, grid, {}, detail);
    ASSERT_TRUE(bins) << bins.error().to_string();
    if (detail != bin_detail::exact) continue;
    for (std::size_t c = 0; c < curves.size(); ++c) {
      EXPECT_EQ(tiles->curves()[numbers[c]].maximum, curves[c].about.maximum);
      curves[c].split(grid.range(), grid.count, [&](std::uint32_t i, const timeline::extent& of_bin, double) {
        ASSERT_EQ((*bins)[c][i].minimum, of_bin.minimum) << "curve " << c << " bin " << i << " of a part " << part;
        ASSERT_EQ((*bins)[c][i].maximum, of_bin.maximum) << "curve " << c << " bin " << i << " of a part " << part;
      });
    }
  }
}

/// Expects the facts that each section stores about its blocks to equal those of an index of everything.
void expect_same_blocks(const section_reader& sections, const index::event_store& store) {
  const auto facts = store.tensors(sections.snapshot());
  for (std::size_t section = 0; section < sections.sections().size(); ++section) {
    const auto part = sections.get_index(section, section, index::section_scope::everything);
    ASSERT_TRUE(part) << part.error().to_string();
    const auto known = (*part)->tensors(sections.snapshot());
    const auto blocks = (*part)->memory().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const index::block_record* expected = store.memory().find(blocks[i].id);
      ASSERT_NE(expected, nullptr);
      ASSERT_EQ(blocks[i].born, expected->born);
      ASSERT_EQ(blocks[i].died, expected->died);
      ASSERT_EQ((*part)->touches().of(blocks[i]).last.time, store.touches().of(*expected).last.time);
      const auto place = static_cast<std::size_t>(expected - store.memory().blocks().data());
      const auto category_at = [](const index::tensor_facts& tensor_facts, std::size_t at) {
        return at < tensor_facts.categories.size() ? tensor_facts.categories[at].kind : index::category::none;
      };
      ASSERT_EQ(category_at(*known, i), category_at(*facts, place)) << "block " << raw(blocks[i].id);
    }
  }
}

void expect_sums_of_all(growing_summary& sums, const growing_summary::outcome& found, const recording& recorded) {
  const indexed loaded(recorded.open());
  ASSERT_EQ(index::recorded_range(found.trace()), index::recorded_range(*loaded.snapshot));
  expect_same_blocks(*found.sections, loaded.index);
  const auto metrics = build_stored_metrics(*found.sections, *found.unsectioned);
  ASSERT_TRUE(metrics) << metrics.error().to_string();
  const auto trace = sums.with_metrics(found, *metrics);
  ASSERT_TRUE(trace) << trace.error().to_string();
  expect_same_curves(*trace, loaded.index);
  const auto stored = find_stored_metrics(**trace);
  ASSERT_NE(stored, nullptr);
  expect_same_stored_metrics(*stored, make_stored_metrics(loaded.index, *loaded.snapshot));
}

class a_growing_program : public ::testing::TestWithParam<generate_options> {};

TEST_P(a_growing_program, is_summed_up_on_and_on_as_an_index_of_all_tells) {
  // Sections settle after several steps: only blocks that live longer are classified before their end is known.
  followed_program followed(GetParam(), 5);
  std::vector<std::size_t> settled;
  std::size_t beginnings = 0;
  while (!followed.subject.ended()) {
    const auto found = followed.sum_up_after(0.15);
    expect_sums_of_all(followed.sums, found, followed.subject.recorded);
    settled.push_back(found.settled);
    beginnings = found.beginning;
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(beginnings, 1u) << "streams and pools that appear late are added";
  EXPECT_TRUE(std::is_sorted(settled.begin(), settled.end()));
  EXPECT_GT(settled.back(), 8u);
}

INSTANTIATE_TEST_SUITE_P(
    programs, a_growing_program,
    ::testing::Values(generate_options{.events = 30'000, .seed = 1},
                      generate_options{.events = 30'000, .seed = 2, .timeline = false},
                      generate_options{.events = 30'000, .seed = 3, .processes = 2},
                      generate_options{.events = 30'000, .seed = 4, .pattern = generate::program_pattern::inference}));

TEST(a_growing_summary, begins_anew_for_late_rows_once_it_is_worth_it) {
  followed_program followed({.events = 30'000, .seed = 5});
  const auto first = followed.sum_up_after(0.4);
  ASSERT_GT(first.settled, 2u);
  const time_range whole = followed.subject.whole();
  trace::host_range_event late;
  late.time = whole.begin;
  late.end = whole.begin + whole.length() / 3;
  late.process = trace::process_id{1};
  late.thread = trace::thread_id{1};
  followed.subject.recorded.writer().add(late);
  auto found = followed.sum_up_after(0.1);
  EXPECT_EQ(found.beginning, first.beginning) << "it is not worth it yet";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (found.beginning == first.beginning && std::chrono::steady_clock::now() < deadline)
    found = followed.sum_up_after(0.001);
  EXPECT_EQ(found.beginning, first.beginning + 1);
  expect_sums_of_all(followed.sums, found, followed.subject.recorded);
}

TEST(a_growing_summary, begins_anew_with_another_file_and_after_it_was_stopped) {
  program one({.events = 20'000, .seed = 6}), other({.events = 20'000, .seed = 7});
  growing_summary sums({.section_events = 800, .settles_after = one.whole().length() / 20});
  one.write(1);
  other.write(1);
  ASSERT_TRUE(sums.sum_up(one.recorded.open()->latest(), goes_on));
  auto found = sums.sum_up(other.recorded.open()->latest(), goes_on);
  ASSERT_TRUE(found);
  expect_sums_of_all(sums, *found, other.recorded);
  int asked = 0;
  const auto stopped = sums.sum_up(one.recorded.open()->latest(), [&] { return ++asked < 20; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
  found = sums.sum_up(one.recorded.open()->latest(), goes_on);
  ASSERT_TRUE(found);
  expect_sums_of_all(sums, *found, one.recorded);
}

TEST(a_growing_summary, shows_earlier_metrics_until_its_own_are_made) {
  followed_program followed({.events = 20'000, .seed = 9});
  const auto first = followed.sum_up_after(0.5);
  const auto metrics = build_stored_metrics(*first.sections, *first.unsectioned);
  ASSERT_TRUE(metrics);
  const auto second = followed.sum_up_after(0.3);
  const auto trace = followed.sums.with_metrics(second, *metrics);
  ASSERT_TRUE(trace);
  const auto stored = find_stored_metrics(**trace);
  ASSERT_NE(stored, nullptr);
  EXPECT_EQ(stored->span, index::recorded_range(first.trace()));
  EXPECT_LT(stored->span.end, index::recorded_range(**trace).end);
  const auto own = build_stored_metrics(*second.sections, *second.unsectioned);
  ASSERT_TRUE(own);
  const auto later = followed.sums.with_metrics(second, *own);
  ASSERT_TRUE(later);
  EXPECT_EQ(find_stored_metrics(**later)->span, index::recorded_range(**trace));
}

TEST(a_growing_summary, leaves_what_is_drawn_in_memory_to_the_next_one) {
  followed_program followed({.events = 30'000, .seed = 10});
  struct summed_up {
    growing_summary::outcome created;
    std::shared_ptr<const trace::snapshot> trace;
  };
  const auto sum_up_after = [&](double share) {
    auto after = followed.sum_up_after(share);
    const auto metrics = build_stored_metrics(*after.sections, *after.unsectioned).value();
    auto trace = followed.sums.with_metrics(after, metrics).value();
    return summed_up{std::move(after), std::move(trace)};
  };
  summed_up first = sum_up_after(0.4), second = sum_up_after(0.1);
  // If a lane appears late, the summary starts from scratch.
  for (int tries = 0; tries < 4 && second.created.beginning != first.created.beginning; ++tries)
    first = std::exchange(second, sum_up_after(0.1));
  ASSERT_EQ(second.created.beginning, first.created.beginning);
  ASSERT_GT(first.created.settled, 2u);

  const auto before = stored_tiles::of(first.trace);
  ASSERT_NE(before, nullptr);
  std::vector<std::uint32_t> curves(before->curves().size());
  std::iota(curves.begin(), curves.end(), 0U);
  const bin_grid grid = before->grid_over(index::recorded_range(*first.trace), 60);
  auto detail = bin_detail::exact;
  ASSERT_TRUE(before->sample(curves, grid, {}, detail));
  ASSERT_EQ(detail, bin_detail::exact);
  const auto tiles = stored_tiles::of(second.trace), read = stored_tiles::of(second.trace);
  tiles->take_over(*before);
  const auto at_hand = tiles->sample(curves, grid, {{}, false}, detail);
  EXPECT_EQ(detail, bin_detail::exact) << "nothing needs to be read";
  const auto expected = read->sample(curves, grid, {}, detail);
  ASSERT_TRUE(at_hand && expected);
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i < grid.count; ++i) ASSERT_EQ((*at_hand)[c][i].mean, (*expected)[c][i].mean);

  section_cache sections_before(first.created.sections, std::size_t{1} << 30);
  for (std::size_t i = 0; i < first.created.sections->sections().size(); ++i)
    ASSERT_TRUE(sections_before.get(i, i, index::section_scope::timeline));
  section_cache sections(second.created.sections, std::size_t{1} << 30);
  sections.take_over(sections_before, first.created.settled);
  for (std::size_t i = 0; i < second.created.sections->sections().size(); ++i)
    EXPECT_EQ(sections.at_hand(i, i, index::section_scope::timeline) != nullptr, i < first.created.settled) << i;
}

TEST(a_growing_summary, stays_as_it_was_for_those_who_still_read_it) {
  followed_program followed({.events = 30'000, .seed = 8});
  const auto first = followed.sum_up_after(0.5);
  const auto before = build_stored_metrics(*first.sections, *first.unsectioned);
  static_cast<void>(followed.sum_up_after(1));
  const auto after = build_stored_metrics(*first.sections, *first.unsectioned);
  ASSERT_TRUE(before && after);
  expect_same_stored_metrics(*after, *before);
}

}  // namespace
}  // namespace sluice::summary
