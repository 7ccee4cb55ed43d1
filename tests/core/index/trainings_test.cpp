// Inferred steps and categories in recordings of programs that the rules were not tuned on. tests/device/trainings.py
// recorded them on a GPU: the true steps and categories come from marks and tags that the analysis does not interpret.
// Set SLUICE_SHOW_TRAININGS to print the table.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/trace/file/reader.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::index::trainings {
namespace {

using testing::indexed;
using trace::process_id;
using trace::time_ns;

struct score {
  std::uint64_t peak = 0, right = 0, unknown = 0, wrong = 0;
  std::size_t steps = 0, true_steps = 0, matched = 0;
  std::map<std::string, std::uint64_t> table;
};

class recorded {
 public:
  explicit recorded(const std::filesystem::path& path)
      : all_(trace::file::open(path.string()).value()), facts_(all_.index.tensors(*all_.snapshot)) {
    for (std::size_t chunk = 0; chunk < all_.snapshot->chunks().size(); ++chunk) read(chunk);
  }

  /// The score of each process with PyTorch blocks.
  std::vector<score> scores() {
    std::map<process_id, std::vector<std::size_t>> by_process;
    const auto blocks = all_.index.memory().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i].allocated && blocks[i].layer == trace::layer::framework &&
          blocks[i].kind == trace::memory_kind::device)
        by_process[blocks[i].process].push_back(i);
    for (const auto& [process, times] : marks_)
      by_process.try_emplace(process);  // Other frameworks have no such blocks.
    std::vector<score> items;
    for (const auto& [process, positions] : by_process) items.push_back(of(process, positions));
    return items;
  }

 private:
  void read(std::size_t chunk) {
    if (all_.snapshot->chunks()[chunk].type == trace::row_type::marker) {
      std::vector<trace::marker_event> rows;
      ASSERT_TRUE(all_.snapshot->read_into(chunk, rows));
      for (const trace::marker_event& row : rows)
        if (text(row.name) == "truth step") marks_[row.process].push_back(row.time);
    } else if (all_.snapshot->chunks()[chunk].type == trace::row_type::attribute) {
      std::vector<trace::attribute_event> rows;
      ASSERT_TRUE(all_.snapshot->read_into(chunk, rows));
      for (const trace::attribute_event& row : rows) tell(row.target, std::string(text(row.text)));
    }
  }
  [[nodiscard]] std::string_view text(trace::string_id id) const { return all_.snapshot->tables().text(id); }

  /// Notes the tag of a block. A block may have several tags: a weight stays a weight if it is also an input.
  void tell(trace::event_id alloc, const std::string& said) {
    if (!said.starts_with("truth ")) return;
    static const std::vector<std::string> order{"input", "gradient", "optimizer state", "weight"};
    const auto rank = [](const std::string& name) {
      return std::find(order.begin(), order.end(), name) - order.begin();
    };
    std::string& known = truth_[raw(alloc)];
    const std::string now = said.substr(6);
    if (known.empty() || rank(now) > rank(known)) known = now;
  }

  score of(process_id process, const std::vector<std::size_t>& positions) {
    const auto blocks = all_.index.memory().blocks();
    std::vector<std::tuple<time_ns, int, std::int64_t>> changes;
    for (const std::size_t i : positions) {
      changes.emplace_back(blocks[i].born, 1, static_cast<std::int64_t>(blocks[i].bytes));
      if (blocks[i].freed()) changes.emplace_back(blocks[i].died, 0, -static_cast<std::int64_t>(blocks[i].bytes));
    }
    std::sort(changes.begin(), changes.end());
    std::int64_t live = 0, peak = 0;
    time_ns at = 0;
    for (const auto& [time, order, bytes] : changes) {
      live += bytes;
      if (live <= peak) continue;
      peak = live;
      at = time;
    }
    score output;
    output.peak = static_cast<std::uint64_t>(peak);
    for (const std::size_t i : positions)
      if (blocks[i].live_at(at)) judge(blocks[i], facts_->categories[i].kind, output);
    judge_steps(process, output);
    return output;
  }

  void judge(const block_record& block, category found, score& into) const {
    const auto known = truth_.find(raw(block.alloc));
    const std::string truth = known == truth_.end() ? "passing" : known->second;
    const bool passes = found == category::activation || found == category::gradient || found == category::workspace;
    const bool right = truth == "passing" ? passes : truth == category_name(found);
    (found == category::none ? into.unknown : right ? into.right : into.wrong) += block.bytes;
    into.table[truth + " as " + std::string(category_name(found))] += block.bytes;
  }

  void judge_steps(process_id process, score& into) {
    std::vector<time_ns>& marks = marks_[process];
    std::sort(marks.begin(), marks.end());
    into.true_steps = marks.size();
    const step_list* list = facts_->get_steps(process);
    if (list == nullptr) return;
    into.steps = list->steps.size();
    // Steps are matched by their starts or by their middles, because an inferred step may start elsewhere in the loop's
    // body.
    const auto matched_by = [&](auto&& moment) {
      std::map<std::ptrdiff_t, int> hits;
      for (const step& each : list->steps)
        ++hits[std::upper_bound(marks.begin(), marks.end(), moment(each.span)) - marks.begin()];
      return static_cast<std::size_t>(
          std::count_if(hits.begin(), hits.end(), [](const auto& each) { return each.first > 0 && each.second == 1; }));
    };
    into.matched = std::max(matched_by([](const time_range& span) { return span.begin; }),
                            matched_by([](const time_range& span) { return span.begin + span.length() / 2; }));
  }

  indexed all_;
  std::shared_ptr<const tensor_facts> facts_;
  std::map<process_id, std::vector<time_ns>> marks_;
  std::map<std::uint64_t, std::string> truth_;
};

std::vector<std::filesystem::path> recordings() {
  std::vector<std::filesystem::path> paths;
  const char* brought = std::getenv("SLUICE_TRAININGS");
  const std::filesystem::path folder =
      brought != nullptr ? brought : std::filesystem::path(SLUICE_SOURCE_DIR) / "tests/data/trainings";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".sluice") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(trainings, are_taken_for_what_they_are) {
  const bool show = std::getenv("SLUICE_SHOW_TRAININGS") != nullptr;
  ASSERT_FALSE(recordings().empty());
  for (const std::filesystem::path& path : recordings()) {
    SCOPED_TRACE(path.filename().string());
    for (const score& each : recorded(path).scores()) {
      const double total = static_cast<double>(std::max<std::uint64_t>(each.peak, 1));
      const auto share = [&](std::uint64_t bytes) { return 100.0 * static_cast<double>(bytes) / total; };
      if (show) {
        std::printf(
            "%-24s peak %8.1f MiB  right %5.1f %%  unknown %5.1f %%  wrong %5.1f %%  steps %zu of %zu, %zu match\n",
            path.stem().c_str(), total / 0x1p20, share(each.right), share(each.unknown), share(each.wrong), each.steps,
            each.true_steps, each.matched);
        for (const auto& [subject, bytes] : each.table)
          if (share(bytes) >= 0.1) std::printf("    %6.1f %%  %s\n", share(bytes), subject.c_str());
      }
      EXPECT_LE(share(each.wrong), 5.0);
      EXPECT_EQ(each.steps, each.true_steps);
      EXPECT_EQ(each.matched, each.true_steps);
    }
  }
}

}  // namespace
}  // namespace sluice::index::trainings
