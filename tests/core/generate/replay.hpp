#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/trace/file/reader.hpp"

/// Reads small traces completely and checks them in a slow, obvious way.
namespace sluice::generate::testing {

using trace::raw;

/// A path for a file, which the destructor deletes.
class temporary {
 public:
  explicit temporary(const std::string& name)
      : path_(
            (std::filesystem::temp_directory_path() / ("sluice-" + name + "-" + std::to_string(::getpid()) + ".sluice"))
                .string()) {}
  temporary(const temporary&) = delete;
  temporary& operator=(const temporary&) = delete;
  ~temporary() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

inline std::shared_ptr<const trace::snapshot> read(const std::string& path) {
  const auto opened = trace::file::open(path);
  EXPECT_TRUE(opened) << opened.error().to_string();
  return (*opened)->latest();
}

template <class Row>
std::vector<Row> rows(const trace::snapshot& recording) {
  std::vector<Row> items;
  EXPECT_TRUE(recording.for_each<Row>([&](const Row& row) { items.push_back(row); }));
  return items;
}

/// The lifetimes of all blocks, computed only from allocations and frees.
struct lives {
  struct life {
    trace::alloc_event born;
    trace::time_ns died = INT64_MAX;
  };
  std::map<std::uint64_t, life> blocks;

  explicit lives(const trace::snapshot& recording) {
    for (const auto& row : rows<trace::alloc_event>(recording)) {
      EXPECT_TRUE(blocks.emplace(raw(row.block), life{row}).second) << "block " << raw(row.block) << " is born twice";
    }
    for (const auto& row : rows<trace::free_event>(recording)) {
      const auto found = blocks.find(raw(row.block));
      EXPECT_NE(found, blocks.end()) << "block " << raw(row.block) << " is freed and was never born";
      if (found == blocks.end()) continue;
      EXPECT_EQ(found->second.died, INT64_MAX) << "block " << raw(row.block) << " is freed twice";
      EXPECT_EQ(found->second.born.address, row.address);
      EXPECT_GE(row.time, found->second.born.time);
      found->second.died = row.time;
    }
  }

  [[nodiscard]] std::set<std::uint64_t> at(trace::time_ns time) const {
    std::set<std::uint64_t> live;
    for (const auto& [block, l] : blocks) {
      if (l.born.time <= time && time < l.died) live.insert(block);
    }
    return live;
  }

  /// Expects that live blocks of the same process and layer do not overlap, and that the blocks of a segment are inside
  /// it.
  void expect_sound() const {
    struct step {
      trace::time_ns time;
      bool birth;
      std::uint64_t block;
    };
    std::vector<step> steps;
    for (const auto& [block, l] : blocks) {
      steps.push_back({l.born.time, true, block});
      if (l.died != INT64_MAX) steps.push_back({l.died, false, block});
    }
    std::sort(steps.begin(), steps.end(),
              [](const step& a, const step& b) { return std::tie(a.time, a.birth) < std::tie(b.time, b.birth); });
    std::map<std::tuple<std::uint64_t, trace::layer, std::uint64_t>, std::uint64_t> live;  // Ends of blocks, by start.
    for (const step& s : steps) {
      const trace::alloc_event& born = blocks.at(s.block).born;
      const std::tuple at{raw(born.process), born.layer, born.address};
      const auto same_space = [&](const auto& other) {
        return std::get<0>(other->first) == raw(born.process) && std::get<1>(other->first) == born.layer;
      };
      if (!s.birth) {
        live.erase(at);
        continue;
      }
      const auto after = live.lower_bound(at);
      if (after != live.end() && same_space(after)) {
        EXPECT_GE(std::get<2>(after->first), born.address + born.bytes);
      }
      if (after != live.begin() && same_space(std::prev(after))) {
        EXPECT_LE(std::prev(after)->second, born.address);
      }
      live.emplace(at, born.address + born.bytes);
      if (born.layer != trace::layer::framework) continue;
      const auto parent = blocks.find(raw(born.parent));
      ASSERT_NE(parent, blocks.end());
      EXPECT_GE(born.address, parent->second.born.address);
      EXPECT_LE(born.address + born.bytes, parent->second.born.address + parent->second.born.bytes);
      EXPECT_LE(parent->second.born.time, born.time);
      EXPECT_GE(parent->second.died, blocks.at(s.block).died);
    }
  }
};

/// Expects that each checkpoint agrees with the allocations and frees.
inline void expect_true_checkpoints(const trace::snapshot& recording, const lives& known) {
  std::map<std::uint64_t, std::set<std::uint64_t>> listed;
  for (const auto& row : rows<trace::live_block_event>(recording)) listed[raw(row.checkpoint)].insert(raw(row.block));
  const auto checkpoints = rows<trace::checkpoint_event>(recording);
  EXPECT_FALSE(checkpoints.empty());
  for (const auto& checkpoint : checkpoints) {
    EXPECT_EQ(checkpoint.blocks, listed[raw(checkpoint.id)].size());
    EXPECT_EQ(listed[raw(checkpoint.id)], known.at(checkpoint.time)) << "at " << checkpoint.time;
  }
}

/// Expects that GPU work refers to the call that launched it, and begins after that call.
inline void expect_work_after_calls(const trace::snapshot& recording) {
  std::map<std::uint64_t, trace::api_call_event> calls;
  for (const auto& row : rows<trace::api_call_event>(recording)) EXPECT_TRUE(calls.emplace(raw(row.id), row).second);
  const auto check = [&](const auto& work) {
    const auto call = calls.find(raw(work.call));
    ASSERT_NE(call, calls.end());
    EXPECT_EQ(call->second.correlation, work.correlation);
    EXPECT_EQ(call->second.process, work.process);
    EXPECT_GE(work.time, call->second.time);
    EXPECT_GE(work.end, work.time);
  };
  for (const auto& row : rows<trace::kernel_event>(recording)) check(row);
  for (const auto& row : rows<trace::transfer_event>(recording)) check(row);
  for (const auto& row : rows<trace::memset_event>(recording)) check(row);
}

/// Expects that a block is touched only while it is live.
inline void expect_touches_of_the_living(const trace::snapshot& recording, const lives& known) {
  for (const auto& row : rows<trace::touch_event>(recording)) {
    const auto found = known.blocks.find(raw(row.block));
    ASSERT_NE(found, known.blocks.end());
    EXPECT_LE(found->second.born.time, row.time);
    EXPECT_GT(found->second.died, row.time);
  }
}

/// Expects that every id is unique.
inline void expect_own_ids(const trace::snapshot& recording) {
  std::set<std::uint64_t> seen;
  const auto take = [&]<class Row>(Row*) {
    if constexpr (trace::is_event_row<Row>) {
      for (const Row& row : rows<Row>(recording))
        EXPECT_TRUE(seen.insert(raw(row.id)).second) << "event " << raw(row.id);
    }
  };
#define SLUICE_TAKE(row, kind) take(static_cast<trace::row*>(nullptr));
  SLUICE_FOR_EACH_ROW(SLUICE_TAKE)
#undef SLUICE_TAKE
}

}  // namespace sluice::generate::testing
