#include "core/metrics/findings/findings.hpp"

#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics {

std::vector<finding> find_all_findings(const report& subject, const trace::tables& tables, const naming* names) {
  finder whole{subject, tables, names == nullptr ? code_places(tables) : code_places(tables, *names)};
  for (const auto find : {
           find_faults,           find_failures,       find_retries,
           find_losses,           find_idle_memory,    find_growth,
           find_unfreed,          find_dead_writes,    find_cached_unused,
           find_fragmentation,    find_untracked,      find_driver_allocations,
           find_compositions,     find_held_twice,     find_rank_imbalance,
           find_replicated_state, find_slow_transfers, find_copies_not_overlapped,
           find_repeated_copies,  find_round_trips,    find_zero_uploads,
           find_fp32_products,    find_waits,
       }) {
    find(whole);
    whole.device = {};
  }
  join_devices(whole.found, tables);
  rank(whole.found);
  return std::move(whole.found);
}

}  // namespace sluice::metrics
