#include "core/metrics/base/attribution_choice.hpp"

#include <algorithm>
#include <unordered_map>

#include "core/base/saturating.hpp"

namespace sluice::metrics {

attribution_choice most_even(const stack_use& use, symbols::attributor& who) {
  attribution_choice choice;
  std::uint64_t total = 0;
  for (const stack_share& share : use.shares) total = saturating_sum(total, share.metrics.bytes);
  std::uint64_t best = total;
  for (std::size_t i = 0; i < attributions_compared.size(); ++i) {
    const symbols::attribution by = attributions_compared[i];
    std::unordered_map<symbols::line_id, std::uint64_t> groups;
    for (const stack_share& share : use.shares) {
      const bool known = share.stack != trace::stack_id::none;
      std::uint64_t& bytes = groups[known ? who.of(share.stack, by) : who.unknown(by)];
      bytes = saturating_sum(bytes, share.metrics.bytes);
    }
    for (const auto& [line, bytes] : groups) choice.largest[i] = std::max(choice.largest[i], bytes);
    const std::uint64_t margin = total / 20;
    if (i > 0 && choice.largest[i] + margin >= best) continue;
    best = choice.largest[i];
    choice.by = by;
  }
  return choice;
}

}  // namespace sluice::metrics
