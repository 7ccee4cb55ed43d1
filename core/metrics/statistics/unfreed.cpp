#include "core/metrics/statistics/unfreed.hpp"

#include <algorithm>
#include <array>

#include "core/index/memory/block_ends.hpp"

namespace sluice::metrics {
namespace {

bool has_ended(const trace::process_row* process) {
  return process != nullptr && (process->end != trace::unknown_time || process->exit_status >= 0);
}

bool in_each_quarter(const std::vector<time_ns>& births, time_ns end) {
  if (births.empty()) return false;
  const time_ns first = *std::min_element(births.begin(), births.end());
  const time_ns quarter = std::max<time_ns>((end - first) / 4, 1);
  std::array<bool, 4> seen{};
  for (const time_ns born : births)
    seen[static_cast<std::size_t>(std::clamp<time_ns>((born - first) / quarter, 0, 3))] = true;
  return std::all_of(seen.begin(), seen.end(), [](bool any) { return any; });
}

void sort_out(std::vector<unfreed_block>& largest) {
  const auto bigger = [](const unfreed_block& a, const unfreed_block& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.block < b.block;
  };
  const std::size_t kept = std::min(unfreed_group::limit, largest.size());
  std::partial_sort(largest.begin(), largest.begin() + static_cast<std::ptrdiff_t>(kept), largest.end(), bigger);
  largest.resize(kept);
}

}  // namespace

bool cut_end::hides(const index::block_record& block) const {
  constexpr std::int64_t killed = 128;  // An exit status above this value means that a signal killed the process.
  if (block.born < from_) return false;
  const trace::process_row* process = of_.tables().processes.find(block.process);
  if (has_ended(process)) return process->exit_status > killed;
  const bool recorded = process != nullptr && process->mode != trace::recording_mode::unknown;
  return recorded || (!of_.complete() && !of_.growing());
}

bool is_unfreed(const index::block_record& block, const cut_end& cut) {
  return block.allocated && !block.freed() && !block.freed_after() && !block.born_before() && !block.imported() &&
         !cut.hides(block);
}

void unfreed_builder::add(const index::memory_use& use, time_range run) {
  if (!index::is_last(run)) return;  // Until the last section, blocks that are live may still be freed.
  const cut_end cut(*scope_.trace);
  for (const index::block_record& block : use.blocks()) {
    if (!scope_.range.holds(block.born) || !is_unfreed(block, cut)) continue;
    gathered& subject = groups_[{block.process, block.layer, block.kind}];
    subject.births.push_back(block.born);
    unfreed_group& group = subject.group;
    group.process = block.process;
    group.layer = block.layer;
    group.kind = block.kind;
    ++group.count;
    group.bytes += block.bytes;
    group.largest.push_back({block.id, block.alloc, block.name, block.device, block.address, block.bytes, block.born});
    // Keep at most a few times as many blocks as the report shows.
    if (group.largest.size() >= 8 * unfreed_group::limit) sort_out(group.largest);
  }
}

std::vector<unfreed_group> unfreed_builder::take(const trace::tables& tables) {
  std::vector<unfreed_group> groups;
  for (auto& [key, subject] : groups_) {
    unfreed_group& group = subject.group;
    sort_out(group.largest);
    group.keeps_growing = in_each_quarter(subject.births, scope_.range.end);
    group.process_ended = has_ended(tables.processes.find(group.process));
    groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return groups;
}

}  // namespace sluice::metrics
