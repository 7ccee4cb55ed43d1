#include <fmt/format.h>

#include "core/base/format.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/findings/dead_writes/descriptor.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"

namespace sluice::metrics {
namespace {

/// The rate of a clear, in bytes per second, if memsets do not show the rate. This is the rate of an A100's memory.
constexpr double usual_memory_rate = 1.5e12;

/// Returns the rate at which the device clears memory. Small memsets are ignored, because their duration is the
/// duration of the launch and does not show the memory's rate.
double clearing_rate(const finder& in, trace::device_id device) {
  for (const device_activity& each : in.whole.whole.devices)
    if (each.device == device && each.memset_busy > 0 &&
        static_cast<double>(each.memset_bytes) >= mebi * static_cast<double>(each.memsets))
      return static_cast<double>(each.memset_bytes) / static_cast<double>(each.memset_busy) * 1e9;
  return usual_memory_rate;
}

}  // namespace

void find_dead_writes(finder& in) {
  std::vector<const dead_write_group*> groups;
  for (const dead_write_group& each : in.whole.waste.dead_writes) groups.push_back(&each);
  const auto lines = by_line(groups, in.places, [](const dead_write_group& each) { return each.bytes; });
  constexpr std::size_t max_lines = 2;
  for (std::size_t line = 0; line < lines.size() && line < max_lines; ++line) {
    const auto& [place, of_line] = lines[line];
    std::uint64_t count = 0, cleared = 0, uploaded = 0;
    for (const dead_write_group* each : of_line) {
      count += each->count;
      (each->first == index::access_kind::upload ? uploaded : cleared) += each->bytes;
    }
    if (static_cast<double>(cleared + uploaded) < 16 * mebi) return;
    const dead_write_group& most = *of_line.front();
    // A clear runs at the speed of the device's memory, and an upload at the speed of the link.
    const double memory_rate = clearing_rate(in, most.device);
    double link_rate = usual_link_rate;
    for (const transfer_statistics& way : in.whole.whole.transfers)
      if (way.device == most.device && way.direction == trace::direction::h2d && way.mean_bandwidth > 0)
        link_rate = way.mean_bandwidth;
    finding& f = in.add(
        finding_kind::dead_write,
        fmt::format("{} {} overwritten before anything read {}: redundant {} of {}{}.", format_some(count, "block"),
                    count == 1 ? "was" : "were", count == 1 ? "it" : "them",
                    uploaded > cleared ? "uploads" : "clearing", format_bytes(cleared + uploaded), from_place(place)),
        uploaded > cleared ? "Remove the first copy."
                           : "Allocate without clearing (torch.empty, cupy.empty, no cudaMemset).");
    f.saves = in.time((static_cast<double>(cleared) / memory_rate + static_cast<double>(uploaded) / link_rate) * 1e9,
                      saving_basis::modelled);
    f.range = most.longest;
    f.block = most.largest;
    f.where = place;
    in.set_fix(f, dead_write_fixes, uploaded > cleared ? "" : "cleared", most.layer);
  }
}

}  // namespace sluice::metrics
