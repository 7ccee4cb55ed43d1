#include "core/summary/passes/reorder_chunks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>

#include "core/index/tensor_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/core/recordings/allocated.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/random_recording.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/row_in_words.hpp"

/// The chunks of a recording after sorting.
namespace sluice::summary {
namespace {

using testing::recording;

bool always() { return true; }

std::vector<trace::section_row> select_sections(time_ns length, std::size_t count) {
  std::vector<trace::section_row> sections;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<time_ns>(i) * length;
    sections.push_back({begin, begin + length, 0});
  }
  return sections;
}

std::shared_ptr<const trace::snapshot> compacted(recording& recorded, std::span<const trace::section_row> sections,
                                                 recording& into) {
  recorded.flush();
  const auto done = reorder_chunks(*recorded.open()->latest(), sections, into.writer(), always);
  EXPECT_TRUE(done) << done.error().to_string();
  into.close();
  return into.open()->latest();
}

using rows_by_kind = std::map<trace::row_type, std::vector<std::string>>;

/// All rows by kind, in the order of the file.
rows_by_kind get_rows(const trace::snapshot& recording) {
  rows_by_kind whole;
#define SLUICE_ROWS(row, kind)                \
  EXPECT_TRUE(recording.for_each<trace::row>( \
      [&](const trace::row& each) { whole[trace::row_type::kind].push_back(testing::in_words(each)); }));
  SLUICE_FOR_EACH_ROW(SLUICE_ROWS)
#undef SLUICE_ROWS
  return whole;
}

bool keeps_its_order(trace::row_type type) {
  return trace::is_table(type) || type == trace::row_type::attribute || type == trace::row_type::link;
}

TEST(any_recording, has_the_same_rows_when_it_is_compacted) {
  testing::for_each_seed(1, 40, [](std::uint64_t seed) {
    query::random_recording reported(seed, seed % 4 == 0);
    reported.recorded.flush();
    rows_by_kind before = get_rows(*reported.recorded.open()->latest());
    recording into(64);
    std::mt19937_64 random(seed);
    const auto span = index::recorded_range(*reported.recorded.open()->latest());
    const auto count = 1 + random() % 9;
    rows_by_kind after = get_rows(
        *compacted(reported.recorded, select_sections(span.length() / static_cast<time_ns>(count) + 1, count), into));
    for (auto* whole : {&before, &after})
      for (auto& [type, rows] : *whole)
        if (!keeps_its_order(type)) std::sort(rows.begin(), rows.end());
    EXPECT_EQ(before, after);
  });
}

/// The state of a scan, as far as it can be compared.
void expect_same_scan(const recording_scan& written, const recording_scan& read) {
  EXPECT_TRUE(std::ranges::equal(written.chunks().known(), read.chunks().known(), [](const auto& a, const auto& b) {
    return testing::in_words(a) == testing::in_words(b);
  }));
  EXPECT_EQ(written.events(), read.events());
  EXPECT_EQ(written.malformed(), read.malformed());
  EXPECT_EQ(written.touches(), read.touches());
  EXPECT_EQ(written.messages().size(), read.messages().size());
  EXPECT_EQ(written.memories(), read.memories());
  EXPECT_EQ(written.category_tags(), read.category_tags());
  EXPECT_EQ(written.pools_with_segments(), read.pools_with_segments());
  EXPECT_EQ(written.with_kernels(), read.with_kernels());
  EXPECT_EQ(written.contents().copies().size(), read.contents().copies().size());
  EXPECT_TRUE(std::ranges::equal(written.first_samples(), read.first_samples(), [](const auto& a, const auto& b) {
    return testing::in_words(a) == testing::in_words(b);
  }));
  EXPECT_TRUE(
      std::ranges::equal(written.only_in_checkpoints(), read.only_in_checkpoints(),
                         [](const auto& a, const auto& b) { return testing::in_words(a) == testing::in_words(b); }));
  EXPECT_TRUE(std::ranges::equal(written.loss_checkpoints(), read.loss_checkpoints(), [](const auto& a, const auto& b) {
    return a.about.id == b.about.id && a.first_chunk == b.first_chunk && a.last_chunk == b.last_chunk;
  }));
  EXPECT_EQ(written.steps()->sources().size(), read.steps()->sources().size());
}

TEST(any_recording, is_scanned_while_it_is_compacted_as_it_is_when_it_is_read) {
  testing::for_each_seed(1, 40, [](std::uint64_t seed) {
    query::random_recording reported(seed, seed % 4 == 0);
    reported.recorded.flush();
    const auto before = reported.recorded.open()->latest();
    recording into(64);
    recording_scan written(before->tables());
    ASSERT_TRUE(reorder_chunks(*before, select_sections(index::recorded_range(*before).length() / 7 + 1, 8),
                               into.writer(), always, &written));
    into.close();
    const auto after = into.open()->latest();
    ASSERT_TRUE(written.look_at(*after));
    expect_same_scan(written, recording_scan(*after));
  });
}

/// A scan keeps only the latest rows, and infers steps as they arrive.
TEST(a_scan, finds_the_steps_of_an_index_of_very_many_blocks) {
  recording recorded;
  recorded.standard_tables();
  constexpr int a_step = 20;
  constexpr auto blocks = static_cast<int>(3 * index::step_window{}.blocks);
  for (int i = 0; i < blocks; ++i) {
    recorded.add_alloc(i * 100, static_cast<std::uint64_t>(i + 1), static_cast<std::uint64_t>(1'000 + i % a_step * 10),
                       trace::memory_kind::device, trace::layer::framework, "tensor");
    for (int j = 0; i % a_step == 12 && j < a_step && i - j >= 0; ++j)
      recorded.add_free(i * 100 + 50, static_cast<std::uint64_t>(i - j + 1), trace::layer::framework);
  }
  recorded.flush();
  const testing::indexed loaded(recorded.open());
  const auto known = recording_scan(*loaded.snapshot).steps();
  const auto& found = known->lists().at(trace::process_id{1});
  const auto& expected = loaded.index.tensors(*loaded.snapshot)->steps->lists().at(trace::process_id{1});
  EXPECT_EQ(found.source, expected.source);
  ASSERT_EQ(found.steps.size(), expected.steps.size());
  EXPECT_NEAR(static_cast<double>(found.steps.size()), blocks / a_step, 3);
  for (std::size_t i = 0; i < found.steps.size(); ++i) ASSERT_EQ(found.steps[i].span, expected.steps[i].span);
}

/// Programs that run the same steps, one after another.
class a_scan_of_many_processes : public ::testing::Test {
 protected:
  static constexpr int blocks = 1'024;
  static constexpr int a_step = 32;
  static constexpr std::size_t of_a_birth = 64;  ///< Bytes that the scan takes per allocation.

  [[nodiscard]] static time_ns get_begin(std::uint64_t process) { return static_cast<time_ns>(process) * 1'000'000; }
  void record(std::uint64_t processes) {
    made_.standard_tables();
    for (std::uint64_t number = 1; number <= processes; ++number) {
      const time_ns begin = get_begin(number);
      const trace::process_id process{number};
      made_.writer().add(
          trace::process_row{.id = process, .pid = number, .begin = begin, .end = begin + blocks * 100 + 100});
      for (int i = 0; i < blocks; ++i)
        add_block(process, begin + i * 100, number * blocks + static_cast<std::uint64_t>(i), i);
    }
    made_.flush();
    file_ = made_.open();
  }
  [[nodiscard]] std::shared_ptr<const trace::snapshot> recorded() const { return file_->latest(); }

 private:
  void add_block(trace::process_id process, time_ns time, std::uint64_t block, int number) {
    auto born = made_.event<trace::alloc_event>(time);
    born.process = process;
    born.block = trace::block_id{block};
    born.bytes = static_cast<std::uint64_t>(1'000 + number % a_step * 10);
    born.layer = trace::layer::framework;
    born.kind = trace::memory_kind::device;
    made_.writer().add(born);
    auto died = made_.event<trace::free_event>(time + 50);
    died.process = process;
    died.block = born.block;
    died.layer = born.layer;
    made_.writer().add(died);
  }

  recording made_;
  std::shared_ptr<trace::file> file_;
};

TEST_F(a_scan_of_many_processes, finds_their_steps_though_it_keeps_few_blocks) {
  constexpr std::uint64_t processes = 1'100;  // Together they have more blocks than a scan keeps.
  record(processes);
  const auto subject = recorded();
  const std::size_t before = allocated();
  const recording_scan known(*subject);
  EXPECT_LT(allocated() - before, processes * blocks * of_a_birth / 4);
  EXPECT_GE(known.steps_settled_until(), get_begin(processes)) << "ended processes do not delay the others";
  const auto steps = known.steps();
  EXPECT_EQ(steps->lists().size(), processes);
  for (const auto& [process, found] : steps->lists())
    ASSERT_NEAR(static_cast<double>(found.steps.size()), blocks / a_step, 2) << trace::raw(process);
}

TEST_F(a_scan_of_many_processes, keeps_no_memory_for_frees_that_blocks_were_reported_of) {
  constexpr std::size_t processes = 200;
  record(processes);
  const auto subject = recorded();
  const std::size_t before = allocated();
  const recording_scan known(*subject);
  EXPECT_LT(allocated() - before, processes * blocks * of_a_birth);
}

TEST(a_scan_of_rows_that_are_written, says_when_the_file_has_other_chunks) {
  recording recorded(64), into(64);
  recorded.standard_tables();
  for (int i = 0; i < 1'000; ++i) recorded.add_kernel(i * 10, i * 10 + 5);
  recorded.flush();
  const auto before = recorded.open()->latest();
  recording_scan written(before->tables());
  ASSERT_TRUE(reorder_chunks(*before, select_sections(100'000, 1), into.writer(), always, &written));
  into.add_kernel(20'000, 20'001);
  into.close();
  EXPECT_FALSE(written.look_at(*into.open()->latest()));
}

TEST(compacted_chunks, hold_the_rows_of_one_section_or_those_that_reach_beyond_it) {
  recording recorded(50), into;
  recorded.standard_tables();
  constexpr time_ns section = 100'000;
  // The rows are in random order, and one in fifty extends beyond its section.
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto begin = static_cast<time_ns>(random() % (10 * section));
    const time_ns end = i % 50 == 0 ? begin + section : std::min(begin + 10, begin / section * section + section - 1);
    recorded.add_kernel(begin, end);
  }
  const auto trace = compacted(recorded, select_sections(section, 11), into);
  std::size_t inside = 0, beyond = 0;
  for (std::size_t i = 0; i < trace->chunks().size(); ++i) {
    const trace::chunk_info& chunk = trace->chunks()[i];
    if (chunk.type != trace::row_type::kernel) continue;
    const bool stays = chunk.max_time / section == chunk.min_time / section;
    (stays ? inside : beyond) += chunk.rows;
    const auto rows = trace->read<trace::kernel_event>(i).value();
    EXPECT_TRUE(std::is_sorted(rows->begin(), rows->end(), [](const auto& a, const auto& b) {
      return std::pair(a.time, raw(a.id)) < std::pair(b.time, raw(b.id));
    }));
    EXPECT_EQ(rows->front().time / section, rows->back().time / section);
    for (const auto& row : *rows) EXPECT_EQ(row.end / section == row.time / section, stays);
  }
  EXPECT_EQ(inside, 9'800U);
  EXPECT_EQ(beyond, 200U);
}

TEST(compacted_chunks, are_few_and_of_about_the_same_size) {
  recording recorded, into(1'000);
  recorded.standard_tables();
  for (int i = 0; i < 2'500; ++i) {
    recorded.add_kernel(i * 100, i * 100 + 50);
    if (i % 10 == 0) recorded.add_copy(i * 100, i * 100 + 50, 1'000);
    recorded.flush();
  }
  ASSERT_GT(recorded.open()->latest()->chunks().size(), 2'500U);
  const auto trace = compacted(recorded, select_sections(50'000, 5), into);
  std::map<trace::row_type, std::vector<std::uint32_t>> sizes;
  for (const trace::chunk_info& chunk : trace->chunks()) sizes[chunk.type].push_back(chunk.rows);
  EXPECT_EQ(sizes[trace::row_type::kernel], (std::vector<std::uint32_t>{500, 500, 500, 500, 500}));
  // There are too few rows to split them.
  EXPECT_EQ(sizes[trace::row_type::transfer], (std::vector<std::uint32_t>{250}));

  recording at_once, parted(1'000);
  at_once.standard_tables();
  for (int i = 0; i < 2'500; ++i) at_once.add_kernel(i * 100, i * 100 + 50);
  sizes.clear();
  const auto all_at_once = compacted(at_once, {}, parted);
  for (const trace::chunk_info& chunk : all_at_once->chunks()) sizes[chunk.type].push_back(chunk.rows);
  EXPECT_EQ(sizes[trace::row_type::kernel], (std::vector<std::uint32_t>{834, 834, 832}));
}

/// An event is written when it ends, so each chunk may contain an event that started at the beginning of the recording.
TEST(compacted_chunks, hold_everything_where_each_chunk_reaches_back_to_the_begin) {
  recording recorded(500), into;
  recorded.standard_tables();
  constexpr int count = 300'000;
  for (int i = 0; i < count; ++i) recorded.add_kernel(i % 500 == 499 ? 0 : i, i + 10);
  const auto trace = compacted(recorded, select_sections(count / 30, 30), into);
  std::vector<std::uint64_t> ids;
  ASSERT_TRUE(trace->for_each<trace::kernel_event>([&](const auto& row) { ids.push_back(raw(row.id)); }));
  std::sort(ids.begin(), ids.end());
  ASSERT_EQ(ids.size(), static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], ids.front() + i);
}

TEST(compacting, tells_of_a_chunk_that_cannot_be_read) {
  recording recorded(50), into;
  recorded.standard_tables();
  for (int i = 0; i < 1'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
  recorded.flush();
  const auto trace = recorded.open()->latest();
  const auto& damaged = trace->chunks()[trace->chunks().size() / 2];
  {
    std::fstream file(recorded.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(damaged.offset + sizeof(trace::chunk_header)));
    file.write("damaged", 7);
  }
  const auto done = reorder_chunks(*trace, select_sections(10'000, 10), into.writer(), always);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::corrupt) << done.error().to_string();
}

TEST(compacting, ends_when_it_is_reported_to) {
  recording recorded(50), into;
  recorded.standard_tables();
  for (int i = 0; i < 1'000; ++i) recorded.add_kernel(i * 100, i * 100 + 50);
  recorded.flush();
  int asked = 0;
  const auto done = reorder_chunks(*recorded.open()->latest(), select_sections(10'000, 10), into.writer(),
                                   [&] { return ++asked < 5; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::cancelled);
  EXPECT_EQ(asked, 5);
}

}  // namespace
}  // namespace sluice::summary
