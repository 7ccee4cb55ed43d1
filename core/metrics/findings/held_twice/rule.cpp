#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/metrics/findings/held_twice/descriptor.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

/// Findings about tensors that exist in two data types.
namespace sluice::metrics {
namespace {

/// Returns the size of the copies relative to the originals, such as "half the size" or "four times the size".
std::string_view size_of_copies(const held_twice& twice) {
  if (twice.copy_bytes * 3 < twice.bytes) return "a quarter of the size";
  if (twice.copy_bytes < twice.bytes) return "half the size";
  return twice.copy_bytes < twice.bytes * 3 ? "twice the size" : "four times the size";
}

std::string advice_for(const held_twice& twice, const std::string& maker) {
  const std::string_view larger = twice.copy_bytes < twice.bytes ? "originals" : "copies";
  if (maker == "PyTorch")
    return fmt::format(
        "If only one of the two is needed, free the other: convert before the model moves to the GPU "
        "(model.to(torch.bfloat16).cuda()), and delete the state dict it was loaded from. If the {} are master copies "
        "for the optimizer, shard or offload them, or train in bfloat16 with an optimizer that needs none. "
        "torch.autocast converts for each operation and keeps no second copy.",
        larger);
  return "If only one of the two is needed, free the other after the conversion, or convert on the host.";
}

}  // namespace

void find_held_twice(finder& in) {
  for (const held_twice& each : in.whole.waste.twice) {
    in.device = each.device;
    const std::uint64_t less = std::min(each.bytes, each.copy_bytes);
    const double share = in.peak_share(less, each.peak_bytes, each.device);
    const code_place& place = in.places.of(each.stack);
    const code_place& copy = in.places.of(each.copy_stack);
    // Originals that are no longer used have a separate finding.
    if (share < warned_memory_share || in.has(finding_kind::held_late, place)) continue;
    finding& f = in.add(
        finding_kind::held_in_two_types,
        fmt::format("At the peak{}, {} ({}{}) and a copy of each with {} ({}{}) are live, probably the same values in "
                    "two data types.",
                    in.on(each.device), format_some(each.blocks, "block"), format_bytes(each.bytes), from_place(place),
                    size_of_copies(each), format_bytes(each.copy_bytes), from_place(copy)),
        advice_for(each, find_maker(copy, each.layer)));
    f.saves = {.peak_bytes = less, .basis = saving_basis::measured, .share = share};
    f.range = {each.peak_time, each.peak_time + 1};
    f.block = each.largest;
    f.where = copy;
    const code_place& freed = each.copy_bytes < each.bytes ? copy : place;
    if (freed.known)
      f.parts = {{saved_part::type::blocks, each.device, static_cast<std::uint64_t>(each.layer),
                  each.copy_bytes < each.bytes ? each.copy_stack : each.stack}};
    in.set_fix(f, held_in_two_types_fixes, each.copy_bytes < each.bytes ? "smaller copies" : "", each.layer);
    f.only_note = true;
  }
}

}  // namespace sluice::metrics
