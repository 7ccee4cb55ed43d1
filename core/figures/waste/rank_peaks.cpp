#include "core/figures/waste/rank_peaks.hpp"

#include <algorithm>

#include "core/base/saturating.hpp"

namespace sluice::analysis {

rank_peaks_builder::rank_peaks_builder(const trace::tables& tables, time_range range) : range_(range) {
  for (const trace::process_row& row : tables.processes.rows())
    if (row.rank >= 0) ranks_[row.id] = row.rank;
  if (ranks_.size() < 2) ranks_.clear();
}

void rank_peaks_builder::add(const memory_use& memory, time_range run) {
  const time_range here = common_of(range_, run);
  if (ranks_.empty() || here.length() <= 0) return;
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::pair<trace::process_id, memory_key>, std::vector<change>> changes;
  for (const block_record& block : memory.blocks()) {
    if (!takes_device_memory(block) || !block.live_in(here) || !ranks_.contains(block.process)) continue;
    std::vector<change>& of = changes[{block.process, key_of(block)}];
    const std::int64_t bytes = signed_bytes(block);
    of.push_back({std::max(block.born, here.begin), bytes});
    if (block.freed() && block.died < here.end) of.push_back({block.died, -bytes});
  }
  for (auto& [whose, of] : changes) {
    std::sort(of.begin(), of.end(), [](const change& a, const change& b) { return a.time < b.time; });
    highest& most = all_[whose.first][whose.second];
    std::int64_t live = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      live = saturating_sum(live, of[i].bytes);
      if ((i + 1 < of.size() && of[i + 1].time == of[i].time) || live <= most.bytes) continue;
      most = {live, of[i].time};
    }
  }
}

void rank_peaks_builder::find_peaks() {
  for (const auto& [process, memories] : all_) {
    const std::pair<const memory_key, highest>* best = nullptr;
    for (const auto& each : memories) {
      const bool higher = best == nullptr || each.first.layer > best->first.layer ||
                          (each.first.layer == best->first.layer && each.second.bytes > best->second.bytes);
      if (higher) best = &each;
    }
    if (best == nullptr || best->second.bytes <= 0) continue;
    const auto& [key, most] = *best;
    peaks_.push_back({process,
                      ranks_.at(process),
                      key.device,
                      key.layer,
                      key.kind,
                      static_cast<std::uint64_t>(most.bytes),
                      most.time,
                      {}});
  }
  std::sort(peaks_.begin(), peaks_.end(), [](const rank_peak& a, const rank_peak& b) { return a.rank < b.rank; });
}

std::vector<time_ns> rank_peaks_builder::moments() const {
  std::vector<time_ns> times;
  for (const rank_peak& each : peaks_) times.push_back(each.time);
  return times;
}

void rank_peaks_builder::look(const memory_use& memory, time_range run) {
  for (rank_peak& peak : peaks_) {
    if (!run.holds(peak.time)) continue;
    std::map<trace::stack_id, std::uint64_t> held;
    for (const block_record& block : memory.blocks())
      if (takes_device_memory(block) && block.process == peak.process &&
          key_of(block) == memory_key{peak.device, peak.layer, peak.kind} && block.live_at(peak.time))
        saturating_add(held[block.stack], block.bytes);
    for (const auto& [stack, bytes] : held) peak.held.push_back({stack, bytes});
    std::stable_sort(peak.held.begin(), peak.held.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (peak.held.size() > rank_peak::limit) peak.held.resize(rank_peak::limit);
  }
}

}  // namespace sluice::analysis
