// Reads recordings of every format version with the current reader: samples/<version>/NAME.sluice, whose contents were
// noted in NAME.facts when it was made. Existing samples are never rewritten; a new version gets a new folder. If
// SLUICE_NEW_SAMPLES=2.0 is set in the environment, the test writes every-row.sluice into that version's folder unless
// it exists, and writes the missing NAME.facts of all samples.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "core/index/curves.hpp"
#include "core/index/growing_index.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/summary/tiles/stored_tiles.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/trace/row_facts.hpp"

namespace sluice::trace {
namespace {

const std::filesystem::path samples = std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/core/trace/samples";

/// The folder that the environment requests; empty if it requests none.
std::string asked_for() {
  const char* value = std::getenv("SLUICE_NEW_SAMPLES");
  return value == nullptr ? "" : value;
}

template <class Row>
const table<Row>& get_table(const tables& all_tables) {
  if constexpr (std::is_same_v<Row, string_row>) return all_tables.strings;
  if constexpr (std::is_same_v<Row, host_row>) return all_tables.hosts;
  if constexpr (std::is_same_v<Row, process_row>) return all_tables.processes;
  if constexpr (std::is_same_v<Row, thread_row>) return all_tables.threads;
  if constexpr (std::is_same_v<Row, device_row>) return all_tables.devices;
  if constexpr (std::is_same_v<Row, context_row>) return all_tables.contexts;
  if constexpr (std::is_same_v<Row, stream_row>) return all_tables.streams;
  if constexpr (std::is_same_v<Row, pool_row>) return all_tables.pools;
  if constexpr (std::is_same_v<Row, counter_row>) return all_tables.counters;
  if constexpr (std::is_same_v<Row, stack_row>) return all_tables.stacks;
  if constexpr (std::is_same_v<Row, frame_row>) return all_tables.frames;
  if constexpr (std::is_same_v<Row, module_row>) return all_tables.modules;
  if constexpr (std::is_same_v<Row, source_row>) return all_tables.sources;
}

/// "kernel 12 rows 9c0ffee...".
std::string get_line(const char* name, const testing::row_sum& sum) {
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(sum.hash));
  return std::string(name) + " " + std::to_string(sum.rows) + " rows " + hash + "\n";
}

/// One line for each kind, after the facts about the whole file.
std::string facts_of_file(const std::filesystem::path& path) {
  const auto opened = file::open(path.string());
  if (!opened) return opened.error().to_string();
  const auto now = (*opened)->latest();
  std::string facts = std::string("complete ") + (now->complete() ? "yes" : "no") + "\nsimulated " +
                      (now->simulated() ? "yes" : "no") + "\nrealtime origin " +
                      std::to_string(now->realtime_origin()) + "\nspan " + std::to_string(now->begin()) + " " +
                      std::to_string(now->end()) + "\n";
  const auto add = [&]<class Row>(const char* name, Row*) {
    testing::row_sum sum;
    if constexpr (is_event_row<Row>) {
      const auto read = now->for_each<Row>([&](const Row& row) { sum.add(row); });
      if (!read) facts += read.error().to_string() + "\n";
    } else {
      for (const Row& row : get_table<Row>(now->tables()).rows()) sum.add(row);
    }
    if (sum.rows > 0) facts += get_line(name, sum);
  };
#define SLUICE_ADD(row, kind) add(#kind, static_cast<row*>(nullptr));
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  const auto add_summaries = [&]<class Row>(const char* name, Row*) {
    testing::row_sum sum;
    std::vector<Row> rows;
    for (const chunk_info& chunk : now->summaries()) {
      if (chunk.type != type_of_row<Row>) continue;
      if (const auto read = now->read_summary<Row>(chunk, rows); !read) facts += read.error().to_string() + "\n";
      for (const Row& row : rows) sum.add(row);
    }
    if (sum.rows > 0) facts += get_line(name, sum);
  };
#define SLUICE_ADD(row, kind) add_summaries(#kind, static_cast<row*>(nullptr));
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  return facts;
}

/// Three rows of every kind, each member with a different value.
void write_every_row(const std::filesystem::path& path) {
  writer_options options;
  options.realtime_origin = 1'700'000'000'000'000'000;
  options.rows_per_chunk = 2;  // Small, so that each kind has several chunks.
  auto writer = std::move(file_writer::create(path.string(), options).value());
  for (std::uint64_t which = 0; which < 3; ++which) {
#define SLUICE_ADD(row, kind) writer.add(testing::fixed_row<row>(which));
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
#define SLUICE_ADD(row, kind) writer.add_summary<row>(std::array{testing::fixed_row<row>(which)});
    SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  }
  ASSERT_TRUE(writer.close());
}

/// A recording with rows of every kind, and all its summaries.
void write_summed_up(const std::filesystem::path& path) {
  query::random_recording reported(5, false);
  summary::finalize_options every_section;
  every_section.min_events = 1;
  every_section.section_events = 200;
  ASSERT_TRUE(summary::finalize(reported.recorded.writer(), every_section));
  std::filesystem::copy_file(reported.recorded.path(), path);
}

std::string make_content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(samples, of_every_version_read_as_they_were_written_down) {
  const std::string asked = asked_for();
  if (!asked.empty() && !std::filesystem::exists(samples / asked / "every-row.sluice")) {
    std::filesystem::create_directories(samples / asked);
    write_every_row(samples / asked / "every-row.sluice");
    write_summed_up(samples / asked / "summed-up.sluice");
  }
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    if (entry.path().extension() != ".sluice") continue;
    ++seen;
    std::filesystem::path beside = entry.path();
    beside.replace_extension(".facts");
    const std::string facts = facts_of_file(entry.path());
    if (!asked.empty() && !std::filesystem::exists(beside)) std::ofstream(beside) << facts;
    EXPECT_EQ(facts, make_content(beside)) << entry.path();
    EXPECT_LT(entry.file_size(), 128U * 1024) << entry.path();
  }
  EXPECT_GE(seen, 6U);
}

TEST(samples, have_every_kind_of_row_and_a_file_without_its_end) {
  const std::string every =
      make_content(samples / "2.0/every-row.facts") + make_content(samples / "4.6/every-row.facts");
#define SLUICE_LOOK(row, kind) EXPECT_NE(every.find("\n" #kind " 3 rows "), std::string::npos) << #kind;
  SLUICE_FOR_EACH_ROW(SLUICE_LOOK)
#undef SLUICE_LOOK
  EXPECT_NE(make_content(samples / "2.0/unfinished.facts").find("complete no"), std::string::npos);
  EXPECT_NE(make_content(samples / "2.0/overlap.facts").find("complete yes"), std::string::npos);
}

TEST(samples, of_4_0_have_every_kind_of_summary) {
  const std::string every = make_content(samples / "4.0/every-row.facts");
#define SLUICE_LOOK(row, kind) EXPECT_NE(every.find("\n" #kind " 3 rows "), std::string::npos) << #kind;
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_LOOK)
#undef SLUICE_LOOK
  EXPECT_NE(make_content(samples / "4.0/summed-up.facts").find("\ninteger_bin "), std::string::npos);
}

constexpr std::array with_tiles_and_parts = {"4.0"};

/// The sample of a version that has summaries, and an index of its events beside them.
struct summed_up {
  explicit summed_up(const char* version) {
    const auto opened = file::open((samples / version / "summed-up.sluice").string());
    if (!opened) return;
    now = (*opened)->latest();
    of_all.absorb(*now, now->chunks().size());
  }
  std::shared_ptr<const snapshot> now;  ///< Null if the sample cannot be opened.
  index::growing_index of_all;
};

TEST(samples, of_any_version_say_what_their_chunks_are_about) {
  for (const char* version : with_tiles_and_parts) {
    const summed_up sample(version);
    ASSERT_NE(sample.now, nullptr) << version;
    const auto& [now, of_all] = sample;
    // Metrics stored before version 5 lack waste and round trips, and are recomputed.
    EXPECT_EQ(summary::find_stored_metrics(*now), nullptr) << version;
    const auto steps = of_all.tensors(*now)->steps;
    EXPECT_FALSE(steps->lists().empty()) << version;
    const auto parts = summary::section_reader::open(now, steps);
    ASSERT_TRUE(parts) << version;
    EXPECT_EQ((*parts)->whole()->chunks->all().value(), of_all.chunks().all().value()) << version;
  }
}

TEST(samples, of_any_version_are_drawn_from_their_tiles) {
  for (const char* version : with_tiles_and_parts) {
    const summed_up sample(version);
    ASSERT_NE(sample.now, nullptr) << version;
    const auto& [now, of_all] = sample;
    const time_range whole = index::recorded_range(*now);
    const auto facts = of_all.tensors(*now);
    const auto expected = index::make_curves(of_all, facts.get(), whole);
    const auto tiles = summary::stored_tiles::of(now);
    ASSERT_NE(tiles, nullptr) << version;
    ASSERT_EQ(tiles->curves().size(), expected.size()) << version;
    std::vector<std::uint32_t> curves(expected.size());
    std::iota(curves.begin(), curves.end(), 0U);
    int levels = 0, values = 0;
    for (std::uint32_t width = 1; width < 1U << 20; width *= 2) {
      const summary::bin_grid grid = tiles->grid_over(whole, width);
      auto detail = summary::bin_detail::exact;
      const auto bins = tiles->sample(curves, grid, {}, detail);
      ASSERT_TRUE(bins) << version;
      if (detail != summary::bin_detail::exact) break;
      ++levels;
      for (std::size_t c = 0; c < expected.size(); ++c) {
        expected[c].split(grid.range(), grid.count, [&](std::uint32_t i, const timeline::extent& bin, double) {
          // Rates are in 256ths of a byte.
          const double rounding = expected[c].about.type == curve_kind::rate ? 10 : 0;
          ASSERT_NEAR((*bins)[c][i].minimum, bin.minimum, rounding) << version << ", curve " << c << ", bin " << i;
          ASSERT_NEAR((*bins)[c][i].maximum, bin.maximum, rounding) << version << ", curve " << c << ", bin " << i;
          values += bin.maximum > 0 ? 1 : 0;
        });
      }
    }
    EXPECT_GE(levels, 4) << version;
    EXPECT_GT(values, 100) << version;
  }
}

/// Compares the values in the sample of version 2.0 directly, not by checksums.
TEST(samples, of_2_0_hold_these_values) {
  const auto opened = file::open((samples / "2.0/every-row.sluice").string());
  ASSERT_TRUE(opened) << opened.error().to_string();
  const auto now = (*opened)->latest();
  std::map<std::string, std::string> first;
  const auto take = [&]<class Row>(const char* name, Row*) {
    if constexpr (is_event_row<Row>) {
      EXPECT_TRUE(now->for_each<Row>([&](const Row& row) { first.try_emplace(name, testing::get_facts(row)); }));
    } else {
      first.emplace(name, testing::get_facts(get_table<Row>(now->tables()).rows().front()));
    }
  };
#define SLUICE_TAKE(row, kind) take(#kind, static_cast<row*>(nullptr));
  SLUICE_FOR_EACH_ROW(SLUICE_TAKE)
#undef SLUICE_TAKE
  EXPECT_EQ(first["string"], "1=1010 2=text 1020");
  EXPECT_EQ(first["process"], "1=3010 2=3020 3=3030 4=3040 5=3050 6=3060 7=3070 8=3080 9=3090 10=3100 11=3");
  EXPECT_EQ(first["free"], "1=65010 2=65020 3=65030 4=65040 5=2 8=65080 9=3 10=65100 11=65110 12=65120 13=65130");
  EXPECT_EQ(
      first["alloc"],
      "1=64010 2=64020 3=64030 4=64040 5=1 8=64080 9=64090 10=3 11=7 12=64120 13=64130 14=64140 15=64150 16=64160 "
      "17=64170 18=64180 19=64190 20=64200 21=64210 22=64220 23=64230 24=64240");
  EXPECT_EQ(first["marker"], "1=80010 2=80020 3=80030 4=80040 5=2 8=80080 9=80090");
  double value = 0;
  EXPECT_TRUE(now->for_each<counter_event>([&](const counter_event& row) { value = row.value; }));
  EXPECT_EQ(value, 10261.5);  // 82'092 / 8
}

TEST(samples, of_today_have_every_value_that_was_written) {
  const auto path =
      std::filesystem::temp_directory_path() / ("sluice-samples-" + std::to_string(::getpid()) + ".sluice");
  write_every_row(path);
  std::string facts;
  const auto add = [&]<class Row>(const char* name, Row*) {
    testing::row_sum sum;
    for (std::uint64_t which = 0; which < 3; ++which) sum.add(testing::fixed_row<Row>(which));
    facts += get_line(name, sum);
  };
#define SLUICE_ADD(row, kind) add(#kind, static_cast<row*>(nullptr));
  SLUICE_FOR_EACH_ROW(SLUICE_ADD)
  SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_ADD)
#undef SLUICE_ADD
  const std::string read = facts_of_file(path);
  EXPECT_EQ(read.substr(read.find("string 3 rows")), facts);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace sluice::trace
