#include "core/metrics/report/one_rank.hpp"

#include <algorithm>
#include <set>

namespace sluice::metrics {
namespace {

/// Decides which items belong to the kept rank, and which items belong only to other ranks.
class ownership {
 public:
  ownership(const report& subject, const trace::tables& tables, trace::process_id kept) {
    const auto owns = [&](trace::process_id process, trace::device_id device) {
      if (device != trace::device_id::none) (process == kept ? devices_ : devices_of_others_).insert(device);
    };
    for (const rank_metrics& each : subject.waste.ranks) {
      if (each.process != kept) others_.insert(each.process);
      owns(each.process, each.device);
    }
    for (const trace::context_row& each : tables.contexts.rows())
      if (each.process == kept || others_.contains(each.process)) owns(each.process, each.device);
  }

  [[nodiscard]] bool is_of_others(trace::process_id process) const { return others_.contains(process); }
  [[nodiscard]] bool is_of_others(trace::device_id device) const {
    return devices_of_others_.contains(device) && !devices_.contains(device);
  }
  [[nodiscard]] std::vector<trace::device_id> devices() const { return {devices_.begin(), devices_.end()}; }

 private:
  std::set<trace::process_id> others_;
  std::set<trace::device_id> devices_, devices_of_others_;
};

}  // namespace

std::optional<std::int64_t> rank_to_show(const report& subject) {
  const auto& ranks = subject.waste.ranks;
  if (ranks.size() <= max_ranks_in_full) return std::nullopt;
  return std::max_element(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.peak < b.peak; })
      ->rank;
}

std::optional<one_rank> keep_rank(report& subject, const trace::tables& tables, std::int64_t rank) {
  const auto& ranks = subject.waste.ranks;
  const auto kept = std::find_if(ranks.begin(), ranks.end(), [&](const auto& each) { return each.rank == rank; });
  if (kept == ranks.end()) return std::nullopt;
  const ownership owned(subject, tables, kept->process);
  const auto keep_by = [&](auto& metrics, auto member) {
    std::erase_if(metrics, [&](const auto& each) { return owned.is_of_others(each.*member); });
  };
  keep_by(subject.processes, &process_metric::process);
  keep_by(subject.peaks, &memory_peak::device);
  keep_by(subject.unfreed, &unfreed_group::process);
  keep_by(subject.imports, &index::imported_memory::process);
  keep_by(subject.copying, &copying_lines::device);
  keep_by(subject.fragmentation, &fragmentation_metric::device);
  keep_by(subject.compositions, &peak_composition::device);
  keep_by(subject.steps, &step_summary::process);
  keep_by(subject.unused, &unused_memory::device);
  keep_by(subject.whole.memory, &memory_statistics::device);
  keep_by(subject.whole.untracked, &untracked_statistics::device);
  keep_by(subject.whole.transfers, &transfer_statistics::device);
  keep_by(subject.whole.devices, &device_activity::device);
  keep_by(subject.waste.idle_times, &device_idle::device);
  keep_by(subject.whole.threads, &thread_statistics::process);
  std::erase_if(subject.whole.pools, [&](const pool_statistics& each) {
    const trace::pool_row* row = tables.pools.find(each.pool);
    return row != nullptr && owned.is_of_others(row->device);
  });
  return one_rank{rank, owned.devices()};
}

}  // namespace sluice::metrics
