#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/base/format.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/transfers/descriptor.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

/// Findings about copies that are slower than the link, and copies without a concurrent kernel.
namespace sluice::metrics {
namespace {

using trace::direction;
using trace::memory_kind;

std::string get_limit(const transfer_statistics& way) {
  if (way.attainable > 0) return fmt::format(" of {} attainable", format_rate(way.attainable));
  if (way.link_peak > 0) return fmt::format(" of the link's {}", format_rate(way.link_peak));
  return "";
}
double best_possible(const transfer_statistics& way) { return way.attainable > 0 ? way.attainable : way.link_peak; }
double usual_rate(const transfer_statistics& way) { return rate_in_practice(way.attainable, way.link_peak); }
std::string_view towards(direction way) { return way == direction::h2d ? "to the GPU" : "from the GPU"; }

const transfer_part* get_part(const transfer_statistics& way, memory_kind side) {
  const auto part =
      std::find_if(way.parts.begin(), way.parts.end(), [&](const auto& p) { return p.host_side == side; });
  return part == way.parts.end() ? nullptr : &*part;
}

std::vector<const copy_group*> find_groups(const finder& in, const transfer_statistics& way, memory_kind side) {
  std::vector<const copy_group*> groups;
  for (const copy_group& each : in.whole.waste.copies)
    if (each.device == way.device && each.direction == way.direction && each.host_side == side) groups.push_back(&each);
  return groups;
}

/// The sums of the copies that one line requested.
struct copies {
  std::uint64_t count = 0, bytes = 0, small = 0, small_bytes = 0, beside = 0, spread = 0;
  time_ns busy = 0, alone = 0, queued = 0, small_spread = 0, first = 0, last = 0;
  trace::event_id largest{};

  explicit copies(const std::vector<const copy_group*>& groups) {
    first = groups.front()->first;
    last = groups.front()->last;
    largest = groups.front()->largest;
    for (const copy_group* each : groups) {
      count += each->count;
      bytes += each->bytes;
      small += each->small;
      small_bytes += each->small_bytes;
      beside += each->on_kernels_stream;
      spread = std::max(spread, each->spread);
      busy += each->busy;
      alone += each->alone;
      queued += each->queued;
      small_spread += each->small_spread;
      first = std::min(first, each->first);
      last = std::max(last, each->last);
    }
  }
  /// True if the copies do not occur only during setup or shutdown.
  [[nodiscard]] bool recur() const { return count >= min_recurring && spread >= min_spread; }
  [[nodiscard]] time_range range() const { return {first, last + 1}; }
};

void find_pageable(finder& in, const transfer_statistics& way, const transfer_part& pageable) {
  const double best = best_possible(way);
  const double rate = usual_rate(way);
  const transfer_part* pinned = get_part(way, memory_kind::pinned);
  if (pageable.bytes < 16 * mebi || pageable.bytes < 0.1 * way.bytes) return;
  if (best > 0 && pageable.mean_bandwidth > 0.75 * best) return;
  const std::vector<const copy_group*> groups = find_groups(in, way, memory_kind::host);
  const auto lines =
      by_line(groups, in.places, [](const copy_group& each) { return static_cast<double>(each.busy + each.queued); });
  std::string text =
      fmt::format("{} ({}) of the bytes copied {} {} pageable memory, at {}.", format_bytes(pageable.bytes),
                  format_share(pageable.bytes / way.bytes), towards(way.direction),
                  way.direction == direction::h2d ? "came from" : "went to", format_rate(pageable.mean_bandwidth));
  // Small pinned copies may be slower than pageable copies, so the mean rate of pinned copies does not show what
  // pinning would gain.
  if (pinned != nullptr && pinned->fastest_bandwidth > pageable.mean_bandwidth)
    text += fmt::format(" Pinned memory reached {}{}.", format_rate(pinned->fastest_bandwidth), get_limit(way));
  else if (way.link_peak > 0)
    text += fmt::format(" The link's peak is {}.", format_rate(way.link_peak));
  const code_place place = lines.empty() ? code_place{} : lines.front().first;
  double saved = rate > 0 ? static_cast<double>(pageable.busy) - pageable.bytes / rate * 1e9 : 0;
  bool recurs = true;
  if (!lines.empty()) {
    const copies most(lines.front().second);
    recurs = most.recur();
    const double link = rate > 0 ? static_cast<double>(most.bytes) / rate * 1e9 : 0;
    if (const std::string where = to_text(place); !where.empty())
      text += fmt::format(
          " Of that, {} at {}: {} on the link, {} lost to pageable staging, {} waiting for earlier work, which "
          "pinning does not save.",
          format_bytes(most.bytes), where, format_time(static_cast<time_ns>(link)),
          format_time(std::max<time_ns>(most.busy - static_cast<time_ns>(link), 0)), format_time(most.queued));
  }
  const std::string maker =
      find_maker(place, in.whole.compositions.empty() ? trace::layer::driver : trace::layer::framework);
  finding& f = in.add(
      finding_kind::pageable_copies, std::move(text),
      maker == "PyTorch" ? "Pin the host side: DataLoader(pin_memory=True), or tensor.pin_memory(), and copy with "
                           "non_blocking=True."
      : maker == "CuPy"
          ? "Allocate the host side with cupyx.empty_pinned, and copy with set(..., stream=...)."
          : "Allocate the host side page-locked (cudaMallocHost), register it (cudaHostRegister), or copy "
            "through a pinned staging buffer.");
  // Faster copies save at most the time for which the device waited for them.
  for (const device_activity& each : in.whole.whole.devices)
    if (each.device == way.device && each.kernels > 0) saved = std::min(saved, static_cast<double>(each.copy_only));
  if (rate > 0) f.saves = in.time(saved, saving_basis::modelled);
  f.only_note = !recurs;
  f.where = place;
  // A copy that happens once, such as that of a model, is not a loader's.
  if (recurs) in.set_fix(f, pageable_copies_fixes, towards(way.direction));
  for (const copy_group* each : groups) f.parts.push_back(finder::part_of(*each));
  if (lines.empty()) return;
  f.event = lines.front().second.front()->largest;
  f.range = copies(groups).range();
}

void find_slow(finder& in, const transfer_statistics& way, const transfer_part& pinned) {
  const double best = best_possible(way);
  const bool large = pinned.bytes / static_cast<double>(pinned.count) >= mebi;
  if (!large || pinned.bytes < 64 * mebi || best <= 0 || pinned.mean_bandwidth > 0.6 * best) return;
  finding& f =
      in.add(finding_kind::slow_copies,
             fmt::format("Copies {} {} pinned memory average {}{}; the fastest reached {}.", towards(way.direction),
                         way.direction == direction::h2d ? "from" : "to", format_rate(pinned.mean_bandwidth),
                         get_limit(way), format_rate(pinned.fastest_bandwidth)),
             "Check the link's width, the CPU socket of the memory, and other users of the link.");
  f.event = way.fastest;
  if (const auto groups = find_groups(in, way, memory_kind::pinned); !groups.empty()) f.range = copies(groups).range();
}

void find_small(finder& in, const transfer_statistics& way) {
  std::vector<const copy_group*> groups;
  for (const copy_group& each : in.whole.waste.copies)
    if (each.device == way.device && each.direction == way.direction && each.small > 0) groups.push_back(&each);
  const auto lines =
      by_line(groups, in.places, [](const copy_group& each) { return static_cast<double>(each.small_spread); });
  if (lines.empty()) return;
  const copies most(lines.front().second);
  if (most.small < min_small_copies) return;
  const double rate = usual_rate(way);
  finding& f =
      in.add(finding_kind::small_copies,
             fmt::format("{} copies {}{} average {}: starting a copy takes longer than transferring its data. They "
                         "took {} in total.",
                         format_count(most.small), towards(way.direction), from_place(lines.front().first),
                         format_bytes(static_cast<double>(most.small_bytes) / static_cast<double>(most.small)),
                         format_time(most.small_spread)),
             "Combine them into fewer, larger copies: gather the pieces in one host buffer first.");
  const double moving = rate > 0 ? static_cast<double>(most.small_bytes) / rate * 1e9 : 0;
  f.saves = in.time(static_cast<double>(most.small_spread) - moving, saving_basis::modelled);
  f.range = most.range();
  f.event = most.largest;
  f.where = lines.front().first;
  in.set_fix(f, small_copies_fixes, towards(way.direction));
  for (const copy_group* each : lines.front().second) f.parts.push_back(finder::part_of(*each));
}

void find_migrations(finder& in, const transfer_statistics& way, const transfer_part& managed) {
  if (managed.bytes < 16 * mebi) return;
  finding& f = in.add(
      finding_kind::migrations,
      fmt::format("Managed memory migrated: {} {} in {} at {}.", format_bytes(managed.bytes), towards(way.direction),
                  format_some(way.migrations, "migration"), format_rate(managed.mean_bandwidth)),
      "Prefetch it (cudaMemPrefetchAsync) before it is needed, or copy it explicitly.");
  in.set_fix(f, migrations_fixes, towards(way.direction));
}

/// Explains why no kernel ran during the copies.
std::string reason_for(const copies& most, memory_kind side) {
  if (side == memory_kind::host)
    return " Their host side is pageable: such a copy blocks the host and the stream until it is done.";
  if (most.beside == most.count) return " They share a stream with the kernels, so each waits for the other.";
  return " They have their own stream, but the host waits for each before it launches more work.";
}

}  // namespace

void find_slow_transfers(finder& in) {
  for (const transfer_statistics& way : in.whole.whole.transfers) {
    in.device = way.device;
    if (way.direction != direction::h2d && way.direction != direction::d2h) continue;
    const transfer_part* managed = get_part(way, memory_kind::managed);
    if (const transfer_part* pageable = get_part(way, memory_kind::host)) find_pageable(in, way, *pageable);
    if (const transfer_part* pinned = get_part(way, memory_kind::pinned)) find_slow(in, way, *pinned);
    find_small(in, way);
    if (managed != nullptr && way.migrations > 0) find_migrations(in, way, *managed);
  }
}

void find_copies_not_overlapped(finder& in) {
  for (const device_activity& device : in.whole.whole.devices) {
    in.device = device.device;
    std::vector<const copy_group*> groups;
    time_ns busy = 0, alone = 0;
    for (const copy_group& each : in.whole.waste.copies) {
      if (each.device != device.device) continue;
      groups.push_back(&each);
      busy += each.busy;
      alone += each.alone;
    }
    // If copies and kernels overlap, the time of the longer of the two remains.
    const double waited = static_cast<double>(std::min(alone, device.copy_only));
    const double hidden = std::min(waited, static_cast<double>(device.kernel_busy));
    if (device.kernels == 0 || waited <= 0.01 * in.working ||
        static_cast<double>(busy - alone) >= 0.25 * static_cast<double>(busy))
      continue;
    const auto lines =
        by_line(groups, in.places, [](const copy_group& each) { return static_cast<double>(each.alone); });
    const code_place place = lines.front().first;
    const copies most(lines.front().second);
    std::string text = fmt::format(
        "{} was idle for {} ({}), waiting for copies: {}.", in.gpu(device.device),
        format_time(static_cast<time_ns>(waited)), in.share_of_time(waited),
        device.overlap == 0 ? std::string("none overlapped with a kernel")
                            : fmt::format("kernels ran during only {} of their time",
                                          format_share(static_cast<double>(busy - alone) / static_cast<double>(busy))));
    if (const std::string where = to_text(place); !where.empty() && most.alone > 0)
      text += fmt::format(" The longest wait was for the copies of {}: {}.", where, format_time(most.alone));
    text += reason_for(most, lines.front().second.front()->host_side);
    finding& f =
        in.add(finding_kind::copies_not_overlapped, std::move(text),
               "Copy the next batch on a separate stream, from pinned memory, while kernels process this one.");
    f.saves = in.time(hidden, saving_basis::measured);
    f.only_note = !most.recur() || is_of_others(place);
    f.range = copies(groups).range();
    f.where = place;
    for (const copy_group* each : groups)
      if (each->alone > 0) f.parts.push_back(finder::part_of(*each));
    if (most.recur()) in.set_fix(f, copies_not_overlapped_fixes, towards(lines.front().second.front()->direction));
  }
}

}  // namespace sluice::metrics
