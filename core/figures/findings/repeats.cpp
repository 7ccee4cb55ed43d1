#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/figures/findings/finder.hpp"

/// Data that is copied to the GPU again.
namespace sluice::analysis {
namespace {

/// Where the repeated data came from, as part of a sentence.
std::string whence(const repeat_figures& repeated) {
  if (repeated.same_source.copies == repeated.all.copies) return ", unchanged at the same address";
  if (repeated.same_source.copies == 0) return ", each time from another address";
  return fmt::format(", {} unchanged at the same address", format_count(repeated.same_source.copies));
}

/// Time in which devices ran no kernel beside a copy: copying less saves no more.
double waited_for_copies(const report& of) {
  double all = 0;
  for (const device_activity& each : of.whole.devices)
    all += static_cast<double>(each.kernels > 0 ? each.copy_only : each.copy_busy);
  return all;
}

}  // namespace

void find_repeated_copies(finder& in) {
  const duplicate_copies& found = in.of.duplicates;
  const copy_figures& again = found.repeated.all;
  // Less is worth neither the memory to keep it on the GPU nor a finding.
  if (static_cast<double>(again.bytes) < mebi && again.copies < 256) return;
  std::string text =
      fmt::format("The same data was copied to the GPU again {} ({}, {}, {} of the active time){}.",
                  format_some(again.copies, "time"), format_bytes(again.bytes), format_time(again.busy),
                  format_share(in.active_share(static_cast<double>(again.busy))), whence(found.repeated));
  code_place place;
  if (!found.lines.empty()) {
    const repeating_line& most = found.lines.front();
    place.known = true;
    place.line = place.caller = most.line;
    text += fmt::format(" {} of that by {}: {}.", format_bytes(most.figures.all.bytes), text_of(place),
                        format_some(most.figures.all.copies, "copy"));
  }
  const std::uint64_t sampled = again.copies - found.repeated.exact.copies;
  if (sampled > 0) {
    text += sampled == again.copies ? " A sample of their bytes was compared."
                                    : fmt::format(" Of {} a sample of the bytes was compared.", format_count(sampled));
  }
  if (found.over_budget.copies > 0) {
    text += fmt::format(" Not compared, to save time: {}, {}.", format_some(found.over_budget.copies, "copy"),
                        format_bytes(found.over_budget.bytes));
  }
  if (found.graph_launches > 0)
    text +=
        fmt::format(" Copies in graphs, launched {}, were not compared.", format_some(found.graph_launches, "time"));
  finding& f = in.add(finding_kind::repeated_copies, std::move(text),
                      "Copy it once and keep it on the GPU. Where only parts change, copy those.");
  f.saves = in.time(std::min(static_cast<double>(again.busy), waited_for_copies(in.of)), saving_basis::measured);
  f.event = found.largest;
  f.where = place;
}

}  // namespace sluice::analysis
