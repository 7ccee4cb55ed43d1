#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "core/generate/generate.hpp"
#include "core/query/engine/engine.hpp"
#include "core/summary/passes/finalize.hpp"
#include "tests/core/query/results/results_in_words.hpp"
#include "tests/core/recordings/copied_rows.hpp"
#include "tests/core/recordings/growing_program.hpp"
#include "tests/core/recordings/recording.hpp"

/// Compares an engine's results for a recording that is still being written, and too large to keep in memory, with an
/// index of its rows so far.
namespace sluice::query {
namespace {

using testing::indexed;
using testing::recording;

/// A recording to which the rows of a program are added, a few chunks at each call.
class written_bit_by_bit {
 public:
  explicit written_bit_by_bit(std::uint64_t events = 30'000) {
    generate::generate_options options;
    options.events = events;
    options.seed = 5;
    const std::string generated = recorded.path() + ".generated";
    EXPECT_TRUE(generate::generate(options, generated));
    testing::copy_rows(*trace::file::open(generated).value()->latest(), source_.writer());
    std::filesystem::remove(generated);
    source_.close();
    from_ = source_.open()->latest();
  }

  /// Adds the rows of `chunks` more chunks. Returns false once all rows are written.
  bool write(std::size_t chunks) {
    for (; chunks > 0 && next_ < from_->chunks().size(); --chunks, ++next_)
      testing::copy_chunk(*from_, next_, recorded.writer());
    recorded.flush();
    return next_ < from_->chunks().size();
  }
  [[nodiscard]] std::size_t chunks() const { return from_->chunks().size(); }

  recording recorded{512};

 private:
  recording source_{256};
  std::shared_ptr<const trace::snapshot> from_;
  std::size_t next_ = 0;
};

template <class Step>
void until(Step&& step) {
  while (!step()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Repeats a query until its result comes from a snapshot that satisfies `wanted`.
template <class Wanted>
void refresh_until(engine& asked, Wanted&& wanted) {
  asked.refresh();
  until([&] {
    if (asked.busy()) return false;
    if (wanted(*asked.snapshot())) return true;
    asked.refresh();
    return false;
  });
}

/// Repeats a query until its result covers all rows in the file.
void catch_up(engine& asked, const trace::file& file) {
  refresh_until(asked, [&](const trace::snapshot& now) {
    return now.file_bytes() == file.latest()->file_bytes() && now.growing() == file.latest()->growing();
  });
}

/// Repeats a query until its result comes from the finished file, which replaced the file that was being recorded.
void catch_up_with_the_end(engine& asked) {
  refresh_until(asked, [](const trace::snapshot& now) { return now.complete(); });
}

template <class Query>
std::string result_of_all(const Query& query, const indexed& loaded) {
  const std::atomic<bool> never{false};
  symbols::frame_cache frames;
  bool provisional = false;
  const auto result = result_to(query, sources{.index = loaded.index,
                                               .trace = *loaded.snapshot,
                                               .cancelled = never,
                                               .frames = frames,
                                               .provisional = provisional});
  return result ? in_words(*result) : result.error().to_string();
}

void expect_same_results(engine& asked, const recording& recorded, std::mt19937_64& random) {
  const indexed loaded(recorded.open());
  const time_range whole = index::recorded_range(*loaded.snapshot);
  ASSERT_EQ(index::recorded_range(*asked.snapshot()), whole);
  const auto any = [&] {
    return whole.begin + static_cast<time_ns>(random() % static_cast<std::uint64_t>(whole.length()));
  };
  const auto same = [&](const auto& query) {
    const auto found = asked.ask_now(query);
    EXPECT_EQ(found ? in_words(**found) : found.error().to_string(), result_of_all(query, loaded));
  };
  for (int i = 0; i < 4; ++i) {
    time_range range{any(), any()};
    if (range.begin > range.end) std::swap(range.begin, range.end);
    if (i == 0) range = whole;
    same(statistics_query{range});
    blocks_query blocks;
    blocks.range = range;
    same(blocks);
    stacks_query stacks;
    stacks.range = range;
    same(stacks);
    stacks.measure = stack_measure::live;
    stacks.at = any();
    same(stacks);
    memory_map_query map;
    map.time = any();
    same(map);
  }
  const auto tracks = asked.ask_now(tracks_query{}).value();
  EXPECT_EQ(tracks->span, whole);
  EXPECT_EQ(asked.ask_now(report_query{}).value()->events, loaded.index.events());
}

TEST(a_live_recording_too_large_to_be_held, is_answered_as_an_index_of_what_there_is_results) {
  written_bit_by_bit bit;
  std::mt19937_64 random(1);
  bit.write(bit.chunks() / 4);
  const auto file = bit.recorded.open();
  engine_options little;
  little.memory_bytes = 0;
  engine asked(file, little);
  for (bool more = true; more;) {
    more = bit.write(bit.chunks() / 5);
    catch_up(asked, *file);
    EXPECT_FALSE(asked.snapshot()->summaries().empty());
    EXPECT_TRUE(asked.snapshot()->growing());
    expect_same_results(asked, bit.recorded, random);
  }
  bit.recorded.close();
  catch_up(asked, *file);
  EXPECT_TRUE(asked.snapshot()->complete());
  expect_same_results(asked, bit.recorded, random);
}

TEST(a_live_recording_too_large_to_be_held, is_answered_so_while_its_sections_settle) {
  testing::growing_program program({.events = 30'000, .seed = 11});
  std::mt19937_64 random(6);
  program.write(0.3);
  const auto file = program.recorded.open();
  engine_options little;
  little.memory_bytes = 0;
  little.live_settles_after = program.whole().length() / 5;
  engine asked(file, little);
  while (!program.ended()) {
    program.write(0.2);
    catch_up(asked, *file);
    EXPECT_TRUE(asked.snapshot()->growing());
    expect_same_results(asked, program.recorded, random);
  }
}

TEST(a_live_recording, is_held_as_long_as_it_can_be_and_summed_up_from_then_on) {
  written_bit_by_bit bit;
  std::mt19937_64 random(2);
  bit.write(bit.chunks() / 4);
  const auto file = bit.recorded.open();
  engine_options some;
  some.memory_bytes = 181'500'000;  // Leaves room for 15,000 events.
  ASSERT_FALSE(summary::exceeds_memory(*file->latest(), some.memory_bytes));
  engine asked(file, some);
  catch_up(asked, *file);
  EXPECT_TRUE(asked.snapshot()->summaries().empty());
  expect_same_results(asked, bit.recorded, random);
  while (bit.write(bit.chunks() / 6)) {
    catch_up(asked, *file);
    expect_same_results(asked, bit.recorded, random);
  }
  ASSERT_TRUE(summary::exceeds_memory(*file->latest(), some.memory_bytes));
  catch_up(asked, *file);
  EXPECT_FALSE(asked.snapshot()->summaries().empty());
  expect_same_results(asked, bit.recorded, random);
}

TEST(a_live_recording_too_large_to_be_held, goes_over_to_the_summaries_that_its_writer_leaves) {
  written_bit_by_bit bit;
  std::mt19937_64 random(3);
  bit.write(bit.chunks() / 2);
  const auto file = bit.recorded.open();
  engine_options little;
  little.memory_bytes = 0;
  engine asked(file, little);
  catch_up(asked, *file);
  while (bit.write(100)) {
  }
  ASSERT_TRUE(summary::finalize(bit.recorded.writer(), {.min_events = 1, .section_events = 2'000}));
  ASSERT_NE(file->successor().value(), nullptr);
  catch_up_with_the_end(asked);
  EXPECT_EQ(asked.snapshot()->summaries().size(), bit.recorded.open()->latest()->summaries().size());
  expect_same_results(asked, bit.recorded, random);
}

TEST(a_live_recording, goes_over_to_the_compacted_file_whether_that_is_summed_up_or_not) {
  for (const std::uint64_t min_events : {1, 100'000}) {
    written_bit_by_bit bit;
    std::mt19937_64 random(5);
    bit.write(bit.chunks() / 2);
    engine asked(bit.recorded.open());
    expect_same_results(asked, bit.recorded, random);
    while (bit.write(5)) {
    }
    ASSERT_TRUE(summary::finalize(bit.recorded.writer(), {.min_events = min_events, .section_events = 2'000}));
    catch_up_with_the_end(asked);
    EXPECT_EQ(asked.snapshot()->summaries().empty(), min_events > 1);
    expect_same_results(asked, bit.recorded, random);
  }
}

TEST(a_live_recording_too_large_to_be_held, is_shown_to_views_up_to_its_end_whatever_they_ask_meanwhile) {
  written_bit_by_bit bit(60'000);
  std::mt19937_64 random(4);
  bit.write(bit.chunks() / 8);
  const auto file = bit.recorded.open();
  engine_options some;
  some.memory_bytes = 182'000'000;  // Leaves room for 20,000 events.
  some.threads = 2;
  engine asked(file, some);
  slot<tracks_query> tracks;
  slot<statistics_query> metrics;
  slot<report_query> summary;
  slot<series_query> curve;
  std::uint64_t memory = 0;
  const auto ask_all = [&] {
    const time_range whole = index::recorded_range(*asked.snapshot());
    const auto listed = tracks.ask(asked, {});
    if (listed && memory == 0)
      for (const track& each : listed->tracks)
        if (each.kind == track_kind::memory) memory = each.id;
    const bool drawn = memory == 0 || curve.ask(asked, {memory, whole, 300}).complete;
    const bool reported = metrics.ask(asked, {whole}).complete;
    return summary.ask(asked, {}).complete && listed.complete && drawn && reported;
  };
  while (bit.write(3)) {
    asked.refresh();
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(ask_all());
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
  }
  bit.recorded.close();
  catch_up(asked, *file);
  until(ask_all);
  const indexed loaded(bit.recorded.open());
  const time_range whole = index::recorded_range(*loaded.snapshot);
  EXPECT_EQ(summary.ask(asked, {})->events, loaded.index.events());
  EXPECT_EQ(in_words(*metrics.ask(asked, {whole}).value), result_of_all(statistics_query{whole}, loaded));
  EXPECT_EQ(tracks.ask(asked, {})->span, whole);
}

TEST(a_live_recording_whose_writer_dies, is_summed_up_to_its_end) {
  written_bit_by_bit bit;
  while (bit.write(100)) {
  }
  bit.recorded.close();
  // A file without a visible writer that still grows: as if its writer died after each part.
  const std::string left = bit.recorded.path() + ".left";
  std::ifstream ifstream(bit.recorded.path(), std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(ifstream), {}};
  std::ofstream to(left, std::ios::binary);
  const auto half = static_cast<std::streamsize>(bytes.size() / 2);
  to.write(bytes.data(), half).flush();
  const auto file = trace::file::open(left).value();
  engine_options little;
  little.memory_bytes = 0;
  engine asked(file, little);
  to.write(bytes.data() + half, half - 500).flush();
  catch_up(asked, *file);
  EXPECT_FALSE(asked.snapshot()->complete());
  EXPECT_FALSE(asked.snapshot()->summaries().empty());
  const indexed loaded(trace::file::open(left).value());
  EXPECT_EQ(asked.ask_now(report_query{}).value()->events, loaded.index.events());
  std::filesystem::remove(left);
}

}  // namespace
}  // namespace sluice::query
