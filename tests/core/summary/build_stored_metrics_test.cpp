#include "core/summary/metrics/build_stored_metrics.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <variant>

#include "core/generate/generate.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/sections/section_writer.hpp"
#include "core/summary/tiles/tile_maker.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/eventful_recording.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/torch_program.hpp"
#include "tests/core/recordings/whole_sections.hpp"
#include "tests/core/summary/same_stored_metrics.hpp"

/// Compares metrics built section by section with those of an index of the whole recording.
namespace sluice::summary {
namespace {

using testing::indexed;
using testing::recording;

// --- tiles, row by row ----------------------------------------------------------------------------------------------

template <class Row>
std::vector<Row> summary_rows(const trace::snapshot& recording) {
  std::vector<Row> items, rows;
  for (const trace::chunk_info& chunk : recording.summaries()) {
    if (chunk.type != trace::type_of_row<Row>) continue;
    EXPECT_TRUE(recording.read_summary<Row>(chunk, rows));
    items.insert(items.end(), rows.begin(), rows.end());
  }
  return items;
}

/// Expects the same rows of type `Row`. Returns their number.
template <class Row>
std::size_t expect_same_rows(const trace::snapshot& found, const trace::snapshot& expected) {
  const std::vector<Row> a = summary_rows<Row>(found), b = summary_rows<Row>(expected);
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size() && i < b.size() && !::testing::Test::HasFailure(); ++i) {
    trace::schema<Row>::apply([&](const auto&... column) {
      const auto one = [&](const auto& x, const auto& y, std::uint16_t number) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, double>) {
          EXPECT_NEAR(x, y, 1e-9 * std::abs(y)) << "column " << number << " of row " << i;
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(x)>, std::uint16_t>) {
          EXPECT_NEAR(x, y, 1) << "the last bit of a mean, column " << number << " of row " << i;
        } else {
          EXPECT_TRUE(x == y) << "column " << number << " of row " << i;
        }
      };
      (one(a[i].*column.member, b[i].*column.member, column.number), ...);
    });
  }
  return a.size();
}

void expect_same_tiles(const trace::snapshot& found, const trace::snapshot& expected) {
  EXPECT_GT(expect_same_rows<trace::curve_row>(found, expected), 0U);
  EXPECT_GT(expect_same_rows<trace::integer_bin_row>(found, expected), 0U);
  expect_same_rows<trace::curve_bin_row>(found, expected);
  expect_same_rows<trace::lane_row>(found, expected);
  expect_same_rows<trace::lane_bin_row>(found, expected);
  ASSERT_EQ(found.summaries().size(), expected.summaries().size()) << "chunks identify tiles";
  for (std::size_t i = 0; i < found.summaries().size(); ++i) {
    EXPECT_EQ(found.summaries()[i].type, expected.summaries()[i].type);
    EXPECT_EQ(found.summaries()[i].min_time, expected.summaries()[i].min_time);
    EXPECT_EQ(found.summaries()[i].max_time, expected.summaries()[i].max_time);
  }
}

index::recording_facts without_highest(index::recording_facts facts) {
  for (index::recording_facts::memory& each : facts.memories) {
    each.highest = 0;
    for (index::recording_facts::part_of_it& part : each.by_category) part.highest = 0;
  }
  for (index::recording_facts::pool& each : facts.pools) each.highest = 0;
  for (index::recording_facts::direction& each : facts.directions) each.highest_rate = 0;
  return facts;
}

// --- a recording and its parts --------------------------------------------------------------------------------------

/// Closes `recorded`, and compares its metrics with those built from sections. `cut` gives the starts of the sections,
/// or the approximate number of events per section; with the latter, tiles are compared, too.
void expect_same_of_parts(recording& recorded, std::variant<std::vector<time_ns>, double> cut,
                          std::size_t sections_a_run) {
  recorded.flush();
  std::vector<trace::section_row> sections;
  {
    const indexed before(recorded.open());
    const time_range span = index::recorded_range(*before.snapshot);
    if (const auto* begins = std::get_if<std::vector<time_ns>>(&cut)) {
      for (std::size_t i = 0; i < begins->size(); ++i)
        sections.push_back(
            {(*begins)[i], i + 1 < begins->size() ? (*begins)[i + 1] : std::max((*begins)[i], span.end), 0});
    } else {
      sections = timeline::plan_sections(span.begin, span.end - 1, before.snapshot->chunks(), std::get<double>(cut));
    }
    recorded.writer().add_summary<trace::section_row>(sections);
    save_sections(before.index, *before.snapshot, sections, recorded.writer());
    // Metrics that are built from parts do not use peaks that are passed to the parts: they find the peaks themselves.
    const std::vector<time_ns> begins = collect_begins(sections);
    section_writer(recorded.writer(), begins)
        .add_whole(without_highest(facts_of_recording(before.index, *before.snapshot)));
  }
  recorded.close();
  const indexed whole(recorded.open());
  const auto store = section_reader::open(whole.snapshot, whole.index.tensors(*whole.snapshot)->steps);
  ASSERT_TRUE(store) << store.error().to_string();
  recording tiles_of_parts, tiles_of_all;
  std::optional<tile_maker> tiles;
  if (std::holds_alternative<double>(cut))
    tiles.emplace().go_on(tiles_of_parts.writer(), sections, *whole.snapshot, true);
  const auto found = build_stored_metrics(**store, metrics::collect_unsectioned_facts(whole.index),
                                          {.sections_a_run = sections_a_run, .several_cores = sections_a_run > 1},
                                          [&](const index::event_store& events, std::size_t first, std::size_t last) {
                                            EXPECT_TRUE(events.is_part());
                                            if (tiles) {
                                              EXPECT_TRUE(tiles->add(events, first, last));
                                            }
                                            return true;
                                          });
  ASSERT_TRUE(found) << found.error().to_string();
  expect_same_stored_metrics(*found, make_stored_metrics(whole.index, *whole.snapshot));
  if (!tiles) return;
  tiles->end();
  const index::recording_facts facts = facts_of_recording(whole.index, *whole.snapshot);
  index::recording_facts put = without_highest(facts);
  tiles->put_highest(put);
  EXPECT_EQ(section_writer::saved(put)->bytes, section_writer::saved(facts)->bytes);
  tile_maker maker;
  maker.go_on(tiles_of_all.writer(), sections, *whole.snapshot, true);
  EXPECT_TRUE(maker.add(whole.index, 0, sections.size() - 1));
  maker.end();
  tiles_of_parts.close();
  tiles_of_all.close();
  expect_same_tiles(*tiles_of_parts.open()->latest(), *tiles_of_all.open()->latest());
}

TEST(parts_of_a_failed_program, say_from_when_on_the_failure_was_looked_at) {
  recording recorded;
  testing::write_history(recorded);
  recorded.flush();
  const time_ns second = 60 * testing::ms;
  {
    const indexed before(recorded.open());
    const std::vector<trace::section_row> sections{{0, second, 0},
                                                   {second, index::recorded_range(*before.snapshot).end, 0}};
    recorded.writer().add_summary<trace::section_row>(sections);
    save_sections(before.index, *before.snapshot, sections, recorded.writer());
    section_writer(recorded.writer(), collect_begins(sections))
        .add_whole(facts_of_recording(before.index, *before.snapshot));
  }
  recorded.close();
  const indexed whole(recorded.open());
  const auto store = section_reader::open(whole.snapshot, whole.index.tensors(*whole.snapshot)->steps);
  ASSERT_TRUE(store) << store.error().to_string();
  const auto found =
      build_stored_metrics(**store, metrics::collect_unsectioned_facts(whole.index), {.sections_a_run = 1},
                           [](const index::event_store&, std::size_t, std::size_t) { return true; });
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->metrics.out_of_memory.size(), 1U);
  EXPECT_EQ(found->metrics.out_of_memory.front().seen_from, second);
  EXPECT_EQ(found->metrics.out_of_memory.front().used, 300 * testing::mib) << "live memory is known nevertheless";
  const stored_metrics full = make_stored_metrics(whole.index, *whole.snapshot);
  ASSERT_EQ(full.metrics.out_of_memory.size(), 1U);
  EXPECT_EQ(full.metrics.out_of_memory.front().seen_from, trace::unknown_time);
}

TEST(parts_of_a_random_recording, make_the_stored_metrics_of_all) {
  testing::for_each_seed(1, 60, [](std::uint64_t seed) {
    query::random_recording reported(seed, seed % 4 == 0);
    expect_same_of_parts(reported.recorded, reported.begins(), 1 + seed % 3);
  });
}

TEST(parts_of_a_random_recording, make_the_tiles_of_all) {
  testing::for_each_seed(1, 60, [](std::uint64_t seed) {
    query::random_recording reported(seed, seed % 4 == 0);
    expect_same_of_parts(reported.recorded, 1.0, 1 + seed % 3);
  });
}

TEST(parts_of_a_training, make_the_stored_metrics_and_the_tiles_of_all) {
  using enum testing::training_options::marking;
  for (const auto by : {marks, profiler, nvtx, none}) {
    for (const bool stacks : {true, false}) {
      SCOPED_TRACE(fmt::format("marks {}, stacks {}", static_cast<int>(by), stacks));
      recording recorded(100);
      testing::training_options options;
      options.marks = by;
      options.stacks = stacks;
      options.steps = 12;
      testing::tell_a_lot(recorded, options);
      expect_same_of_parts(recorded, 150.0, stacks ? 2 : 1);
    }
  }
}

void expect_same_of_copy(const std::string& path, double section_events) {
  SCOPED_TRACE(path);
  recording recorded(1024);
  {
    const auto file = trace::file::open(path).value();
    testing::copy_rows(*file->latest(), recorded.writer());
  }
  expect_same_of_parts(recorded, section_events, 2);
}

TEST(parts_of_a_real_recording, make_the_stored_metrics_and_the_tiles_of_all) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/assets/recordings")) {
    if (entry.path().extension() != ".sluice") continue;
    // The failure in this one is described from the section that it is in, not from the whole recording.
    if (entry.path().stem() == "out-of-memory") continue;
    expect_same_of_copy(entry.path().string(), entry.file_size() > 500'000 ? 3'000 : 100);
    ++read;
  }
  EXPECT_GT(read, 5);
}

class parts_of_a_generated_recording : public ::testing::TestWithParam<generate::generate_options> {};

TEST_P(parts_of_a_generated_recording, make_the_stored_metrics_and_the_tiles_of_all) {
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("sluice-digest-{}.sluice", ::getpid())).string();
  ASSERT_TRUE(generate::generate(GetParam(), path));
  expect_same_of_copy(path, 2'000);
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(
    programs, parts_of_a_generated_recording,
    ::testing::Values(generate::generate_options{.events = 40'000, .seed = 1},
                      generate::generate_options{.events = 40'000, .seed = 2, .timeline = false, .processes = 2},
                      generate::generate_options{
                          .events = 40'000, .seed = 3, .pattern = generate::program_pattern::inference}));

/// A recording with its sections.
struct reported_in_parts {
  explicit reported_in_parts(std::vector<trace::section_row> sections) {
    reported.recorded.flush();
    {
      const indexed before(reported.recorded.open());
      reported.recorded.writer().add_summary<trace::section_row>(sections);
      save_sections(before.index, *before.snapshot, sections, reported.recorded.writer());
    }
    reported.recorded.close();
    whole = std::make_unique<indexed>(reported.recorded.open());
    store = section_reader::open(whole->snapshot, std::make_shared<const index::step_facts>()).value();
  }
  query::random_recording reported{1, false};
  std::unique_ptr<indexed> whole;
  std::shared_ptr<const section_reader> store;
};

TEST(a_stored_metrics_of_parts, is_given_up_when_nobody_wants_it_any_more) {
  const reported_in_parts parts({{0, 1024, 0}, {1024, 2048, 0}, {2048, 4096, 0}});
  int shown = 0;
  const auto found =
      build_stored_metrics(*parts.store, metrics::collect_unsectioned_facts(parts.whole->index), {.sections_a_run = 1},
                           [&](const index::event_store&, std::size_t, std::size_t) { return ++shown < 2; });
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::cancelled);
  EXPECT_EQ(shown, 2);
}

TEST(a_stored_metrics_of_parts, needs_runs_of_one_section_at_least) {
  const reported_in_parts parts({{0, 4096, 0}});
  const auto found =
      build_stored_metrics(*parts.store, metrics::collect_unsectioned_facts(parts.whole->index), {.sections_a_run = 0});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::invalid_argument);
}

}  // namespace
}  // namespace sluice::summary
