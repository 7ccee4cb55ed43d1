#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/metrics/findings/compositions/descriptor.hpp"
#include "core/metrics/findings/idle_memory/descriptor.hpp"
#include "core/metrics/findings/shared/finder.hpp"

namespace sluice::metrics {
namespace {

constexpr double worth_saving = 64 * mebi;  ///< Smaller savings do not justify a change of the program.

double compute_share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

void find_composition(finder& in, const peak_composition& peak) {
  const std::string_view inferred = peak.inferred() ? " (inferred)" : "";
  const auto report = [&](index::category wanted, double least, finding_kind kind, std::string_view plural,
                          std::string advice, std::span<const code_fix> fixes) {
    const std::uint64_t bytes = peak.get_bytes(wanted);
    const double share = compute_share(bytes, peak.bytes);
    if (share < least || static_cast<double>(bytes) < worth_saving) return;
    finding& f =
        in.add(kind,
               fmt::format("{} of {} at the peak{} ({}) are {}{}.", format_bytes(bytes), format_bytes(peak.bytes),
                           in.on(peak.device), format_share(share), plural, inferred),
               std::move(advice));
    f.range = {peak.time, peak.time + 1};
    in.set_fix(f, fixes, in.trains() ? "training" : "", peak.layer);
  };
  report(index::category::activation, 0.5, finding_kind::activations_dominate, "activations",
         in.trains()
             ? "Recompute some of them in the backward pass (torch.utils.checkpoint), use a smaller batch, or a "
               "narrower type (torch.autocast)."
             : "Use a smaller batch, or a narrower type (torch.autocast).",
         activations_dominate_fixes);
  report(index::category::optimizer_state, 0.4, finding_kind::optimizer_state_dominates, "optimizer state",
         "Shard it (ZeRO, FSDP), store it in 8 bits, or use an optimizer with less state.",
         optimizer_state_dominates_fixes);
  if (in.has(finding_kind::gradients_kept) || compute_share(peak.kept_gradient_bytes, peak.bytes) < 0.05 ||
      static_cast<double>(peak.kept_gradient_bytes) < worth_saving)
    return;
  finding& f = in.add(
      finding_kind::gradients_kept,
      fmt::format("{} of gradients stay allocated between steps, {} of the peak{}{}.",
                  format_bytes(peak.kept_gradient_bytes),
                  format_share(compute_share(peak.kept_gradient_bytes, peak.bytes)), in.on(peak.device), inferred),
      "Free them before the forward pass with zero_grad(set_to_none=True), unless they accumulate "
      "over steps.");
  f.range = {peak.time, peak.time + 1};
  in.set_fix(f, gradients_kept_fixes, {}, peak.layer);
}

}  // namespace

void find_compositions(finder& in) {
  for (const peak_composition& peak : in.whole.compositions) {
    in.device = peak.device;
    find_composition(in, peak);
  }
}

}  // namespace sluice::metrics
