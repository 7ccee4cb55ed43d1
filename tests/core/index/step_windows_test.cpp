// If a program has very many blocks, its steps are searched for in windows of blocks. The result equals that of a
// single search of all blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/index/tensors/categories.hpp"
#include "core/index/tensors/training_steps.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::index::step_windows {
namespace {

/// A recorded program that is repeated several times, like a long run.
class repeated_program {
 public:
  explicit repeated_program(const std::filesystem::path& path) : all_(trace::file::open(path.string()).value()) {
    for (const block_record& block : all_.index.memory().blocks())
      if (block.allocated && block.layer == trace::layer::framework && !block.born_before())
        by_process_[block.process].push_back(block);
    for (auto& [process, blocks] : by_process_)
      std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.born < b.born; });
  }
  [[nodiscard]] time_ns length() const { return recorded_range(*all_.snapshot).length(); }
  /// The number of blocks of each process in the first repetition.
  [[nodiscard]] std::map<trace::process_id, std::size_t> blocks_once() const {
    std::map<trace::process_id, std::size_t> values;
    for (const auto& [process, blocks] : by_process_)
      if (blocks.size() >= min_pattern_blocks) values[process] = blocks.size();
    return values;
  }
  /// The steps of a process in `times` repetitions.
  [[nodiscard]] std::vector<step> get_steps(trace::process_id process, int times, const step_window& window) const {
    std::vector<block_record> blocks;
    for (int i = 0; i < times; ++i)
      for (block_record block : by_process_.at(process)) {
        block.born += i * length();
        if (block.freed()) block.died += i * length();
        blocks.push_back(block);
      }
    std::vector<const block_record*> in_order;
    for (const block_record& block : blocks) in_order.push_back(&block);
    const process_clues clues = collect_clues(all_.index.memory(), all_.snapshot->tables());
    const time_ns end = recorded_range(*all_.snapshot).end + (times - 1) * length();
    return infer_steps({process, in_order, {}, {}, {}, clues, all_.snapshot->tables(), end}, window).steps;
  }

 private:
  testing::indexed all_;
  std::map<trace::process_id, std::vector<block_record>> by_process_;
};

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/data/trainings"))
    if (entry.path().extension() == ".sluice") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Each window covers at least one repetition, and never starts or ends where a repetition does.
TEST(steps_in_windows, are_those_that_a_look_at_all_of_a_short_program_finds) {
  constexpr int times = 6;
  for (const std::filesystem::path& path : recordings()) {
    SCOPED_TRACE(path.filename().string());
    const repeated_program program(path);
    for (const auto& [process, blocks] : program.blocks_once()) {
      const auto once = program.get_steps(process, 1, {});
      const auto found = program.get_steps(process, times, {blocks, blocks / 2});
      ASSERT_EQ(found.size(), times * once.size());
      std::size_t alike = 0;
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].number, static_cast<std::int64_t>(i));
        if (i > 0) {
          ASSERT_LE(found[i - 1].span.end, found[i].span.begin);
        }
        const auto turn = static_cast<time_ns>(i / once.size());
        alike += found[i].span.begin == once[i % once.size()].span.begin + turn * program.length() ? 1 : 0;
      }
      EXPECT_GE(3 * alike, 2 * found.size());
    }
  }
}

/// Blocks may be anywhere, so that the cost for a program of many blocks depends only on their number: here all are
/// allocated at the same time, or the steps are at the window's start.
TEST(steps_in_windows, are_done_with_a_part_of_each_window) {
  constexpr step_window window{1'600, 800};
  const trace::tables tables;
  const process_clues clues(tables);
  std::vector<graph_launch> launches;
  for (time_ns time = 0; time < 50; time += 10) launches.push_back({time, trace::graph_id{1}});
  for (const time_ns apart : {0, 10}) {
    std::vector<block_record> blocks(window.due());
    std::vector<const block_record*> in_order;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i].id = trace::block_id{i + 1};
      blocks[i].born = static_cast<time_ns>(i) * apart;
      blocks[i].died = blocks[i].born + 1;
      blocks[i].bytes = 1'000 + i * i;
      in_order.push_back(&blocks[i]);
    }
    steps_in_windows steps;
    const step_evidence by{trace::process_id{1}, in_order, launches, {}, {}, clues, tables, 100'000};
    EXPECT_GE(steps.take(by, window), window.min_done());
    EXPECT_EQ(steps.with_rest(by).steps.size(), 5U);
  }
}

}  // namespace
}  // namespace sluice::index::step_windows
