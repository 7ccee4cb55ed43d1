#include "core/figures/findings/training_findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/figures/findings/thresholds.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

/// Rules of thumb, as in findings.cpp: a threshold only decides what is worth reporting.
namespace sluice::analysis {
namespace {

using trace::severity;

constexpr double worth_saving = 64 * mebi;  ///< Less is not worth changing the program.

double share_of(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

class training_finder {
 public:
  training_finder(const report& of, const trace::tables& tables, std::vector<finding>& into)
      : of_(of), tables_(tables), found_(into) {}

  void all() {
    for (const step_summary& steps : of_.steps) growth(steps);
    for (const peak_composition& peak : of_.compositions) composition(peak);
    for (const unused_memory& unused : of_.unused) after_last_use(unused);
  }

 private:
  finding& add(finding_kind kind, severity how_bad, std::string text, std::string advice, time_ns at) {
    found_.push_back({kind, how_bad, std::move(text), std::move(advice), {at, at + 1}, {}, {}});
    return found_.back();
  }

  /// Names the device if there are several.
  [[nodiscard]] std::string on(trace::device_id device) const {
    return tables_.devices.rows().size() > 1 ? " on " + short_label(device, tables_) : std::string();
  }

  static std::string who(const unused_group& group) {
    std::string text = format_some(group.blocks, "block");
    if (group.what != category::none)
      text += fmt::format(" {} {}", group.exact ? "tagged as" : "taken for", category_name(group.what));
    if (group.stack != trace::stack_id::none) {
      const std::string place = symbols::place_of(group.line);
      text += " of " + (place.empty() ? symbols::name_of(group.line) : place);
    }
    return text;
  }

  /// True if something at a peak belongs to a backward pass. Programs that only ask a network compute nothing again.
  [[nodiscard]] bool trains() const {
    return std::any_of(of_.compositions.begin(), of_.compositions.end(), [](const peak_composition& peak) {
      return peak.bytes_of(category::gradient) > 0 || peak.bytes_of(category::optimizer_state) > 0;
    });
  }

  static std::string_view inferred(const peak_composition& peak) { return peak.inferred() ? " (inferred)" : ""; }

  void composition(const peak_composition& peak) {
    const auto report = [&](category what, double least, finding_kind kind, std::string_view plural,
                            std::string advice) {
      const std::uint64_t bytes = peak.bytes_of(what);
      const double share = share_of(bytes, peak.bytes);
      if (share < least || static_cast<double>(bytes) < worth_saving) return;
      add(kind, severity::info,
          fmt::format("{} of {} at the peak{} ({}) hold {}{}.", format_bytes(bytes), format_bytes(peak.bytes),
                      on(peak.device), format_share(share), plural, inferred(peak)),
          std::move(advice), peak.time);
    };
    report(category::activation, 0.5, finding_kind::activations_dominate, "activations",
           trains()
               ? "Compute some of them again in the backward pass (torch.utils.checkpoint), use a smaller batch, or a "
                 "narrower type (torch.autocast)."
               : "Use a smaller batch, or a narrower type (torch.autocast).");
    report(category::optimizer_state, 0.4, finding_kind::optimizer_state_dominates, "the optimizer's state",
           "Shard it (ZeRO, FSDP), keep it in 8 bits, or take an optimizer with less state.");
    if (share_of(peak.kept_gradient_bytes, peak.bytes) < 0.05 ||
        static_cast<double>(peak.kept_gradient_bytes) < worth_saving) {
      return;
    }
    add(finding_kind::gradients_kept, severity::info,
        fmt::format("{} of gradients stay from step to step, {} of the peak{}{}.",
                    format_bytes(peak.kept_gradient_bytes),
                    format_share(share_of(peak.kept_gradient_bytes, peak.bytes)), on(peak.device), inferred(peak)),
        "Free them before the forward pass with zero_grad(set_to_none=True), unless they are summed up over steps.",
        peak.time);
  }

  void after_last_use(const unused_memory& unused) {
    const double share = share_of(unused.bytes_at_peak, unused.peak_bytes);
    if (share < warned_memory_share || static_cast<double>(unused.bytes_at_peak) < mebi) return;
    const unused_group& most = unused.groups.front();
    finding& f = add(finding_kind::unused_memory, severity::info,
                     fmt::format("{} of {} at the peak{} ({}) is never used again. {} of it: {}.",
                                 format_bytes(unused.bytes_at_peak), format_bytes(unused.peak_bytes), on(unused.device),
                                 format_share(share), format_bytes(most.bytes_at_peak), who(most)),
                     "Free results earlier: `del` them, or let them go out of scope, before the next allocation.",
                     unused.peak_time);
    f.block = most.longest_block;
    f.saves = {.peak_bytes = unused.bytes_at_peak, .basis = saving_basis::measured, .share = share};
  }

  void growth(const step_summary& steps) {
    if (!steps.keeps_growing || steps.growth * static_cast<double>(steps.count) < mebi) return;
    finding& f =
        add(finding_kind::memory_grows, severity::warning,
            fmt::format("Memory grows {} every step ({}{}): likely a leak.", format_bytes(steps.growth),
                        format_some(steps.count, "step"), steps.source == step_source::pattern ? ", inferred" : ""),
            "Look for what each step keeps: losses kept with their graph (keep loss.item()), outputs in a list, caches "
            "without a limit.",
            steps.steps.back().span.begin);
    f.range = {steps.steps.front().span.begin, steps.steps.back().span.end};
    f.event = steps.steps.back().event;
  }

  const report& of_;
  const trace::tables& tables_;
  std::vector<finding>& found_;
};

}  // namespace

void add_training_findings(const report& of, const trace::tables& tables, std::vector<finding>& into) {
  training_finder(of, tables, into).all();
}

}  // namespace sluice::analysis
