#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/format.hpp"
#include "core/index/memory/memory_use.hpp"
#include "core/metrics/findings/reserved/descriptor.hpp"
#include "core/metrics/findings/reserved/replay_choice.hpp"
#include "core/metrics/findings/reserved/reserved_replays.hpp"
#include "core/metrics/findings/reserved/thresholds.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/trace/model/names.hpp"

/// Findings about memory that pools and allocators hold but do not hand out, and about untracked device memory.
namespace sluice::metrics {
namespace {

std::string pool_name(trace::pool_id id, const trace::tables& tables) {
  const trace::pool_row* row = tables.pools.find(id);
  const std::string_view name = row == nullptr ? std::string_view{} : tables.text(row->name);
  if (name.empty()) return fmt::format("Pool {}", raw(id));
  return fmt::format("{} {}", name.ends_with("pool") ? "The" : "Pool", name);
}

/// True for a pool of CUDA's own allocator (cudaMallocAsync).
bool is_driver_pool(trace::pool_id id, const trace::tables& tables) {
  const trace::pool_row* row = tables.pools.find(id);
  return row != nullptr && row->layer == trace::layer::driver;
}

/// True if segments grow by mapping more memory after their end, as PyTorch's expandable segments do.
bool maps_segments(const trace::tables& tables) {
  const auto names = tables.strings.rows();
  return std::any_of(names.begin(), names.end(), [](const auto& row) { return row.text == "cuMemMap"; });
}

/// Returns the line that holds the most bytes at the peak.
code_place top_of_peak(const finder& in, trace::device_id device, trace::layer layer) {
  code_place place;
  for (const memory_peak& peak : in.whole.peaks) {
    if (peak.device != device || peak.layer != layer || !index::is_device_resident(peak.kind) || peak.lines.empty())
      continue;
    place.known = true;
    place.line = place.caller = peak.lines.lines.front().line;
    break;
  }
  return place;
}

/// Returns the saving if, in a replay, reserved memory falls from `before` to `after`; empty if it is too small for a
/// warning. `share`: see `finder::reserved_share`.
saving replayed_saving(std::uint64_t before, std::uint64_t after, double share) {
  const double saved = static_cast<double>(before) - static_cast<double>(after);
  const double error = replay_error * static_cast<double>(after);
  if (saved - error < warned_memory_share * static_cast<double>(before) || before == 0) return {};
  return {.reserved_bytes = static_cast<std::uint64_t>(saved),
          .basis = saving_basis::modelled,
          .share = share,
          .bytes_error = static_cast<std::uint64_t>(error)};
}

saving replayed_saving(const finder& in, trace::device_id device, std::uint64_t before, std::uint64_t after) {
  return replayed_saving(before, after, in.reserved_share(before - std::min(before, after), before, device));
}

/// Returns advice to use a setting, with the result of the setting's replay.
std::string use_policy(const policy_outcome& by, const reserved_replay& subject) {
  return fmt::format("Set PYTORCH_CUDA_ALLOC_CONF={}: a replay of these requests reserves {} instead of {}.", by.policy,
                     format_bytes(by.peak_reserved), format_bytes(subject.peak_reserved));
}

}  // namespace

const reserved_replay* replay_on(const finder& in, trace::device_id device) {
  const auto& replays = in.whole.waste.replays;
  const auto found =
      std::find_if(replays.begin(), replays.end(), [&](const auto& each) { return each.device == device; });
  return found == replays.end() ? nullptr : &*found;
}

const policy_outcome* winning_policy(const reserved_replay& subject) {
  const policy_outcome* best = nullptr;
  for (const policy_outcome& each : subject.policies)
    if (each.failures == 0 && (best == nullptr || each.peak_reserved < best->peak_reserved)) best = &each;
  if (best == nullptr || replayed_saving(subject.peak_reserved, best->peak_reserved, 0).reserved_bytes == 0)
    return nullptr;
  return best;
}

void find_cached_unused(finder& in) {
  for (const cache_use& each : in.whole.waste.caches) {
    in.device = each.device;
    if (static_cast<double>(each.reserved_maximum) < min_reserved) continue;
    const double low = each.low_share();
    if (low < unused_at_last) continue;
    const std::uint64_t unused = each.usual_reserved - std::min(each.usual_reserved, each.usual_maximum);
    if (static_cast<double>(unused) < min_reserved) continue;
    const bool pool = each.pool != trace::pool_id::none;
    finding& f =
        in.add(finding_kind::cached_unused,
               fmt::format("{} held up to {}{}, but needed at most {} in the last {} of the allocations and frees.",
                           pool ? pool_name(each.pool, in.tables) : std::string("The allocator"),
                           format_bytes(each.reserved_maximum), pool ? std::string() : in.on(each.device),
                           format_bytes(each.usual_maximum), format_share(low)),
               pool ? "If other code needs the memory, trim the pool after the peak (cudaMemPoolTrimTo) or lower its "
                      "release threshold."
                    : "Lower the peak that made it grow, or release unused memory after the peak (PyTorch: "
                      "torch.cuda.empty_cache(); CuPy: free_all_blocks()).");
    f.saves = {.reserved_bytes = unused,
               .basis = saving_basis::measured,
               .share = in.reserved_share(unused, each.reserved_maximum, each.device)};
    f.range = {each.reserved_time, each.reserved_time + 1};
    f.parts = {{saved_part::type::reserved, each.device, pool ? 1 + raw(each.pool) : 0, {}}};
    in.set_fix(f, cached_unused_fixes, is_driver_pool(each.pool, in.tables) ? "driver pool" : "",
               pool ? trace::layer::driver : trace::layer::framework);
    if (pool) continue;
    f.where = top_of_peak(in, each.device, trace::layer::framework);
    if (const reserved_replay* replay = replay_on(in, each.device); replay != nullptr && replay->late_reserved > 0) {
      f.advice = fmt::format(
          "Lower the peak that made it grow, or call torch.cuda.empty_cache() after the peak: "
          "in a replay, at most {} then stay reserved instead of {}.",
          format_bytes(replay->late_emptied), format_bytes(replay->late_reserved));
      f.saves = replayed_saving(in, each.device, replay->late_reserved, replay->late_emptied);
      f.only_note = f.saves.basis == saving_basis::none;
      if (f.only_note) f.fix_code.clear();
    }
  }
}

namespace {

/// Describes the segments that PyTorch allocated because of fragmentation; empty if they are too small. `where`: " on
/// GPU 1" or empty.
std::string get_words(finder& in, const forced_growths& growths, const std::string& where) {
  if (static_cast<double>(growths.bytes) < min_reserved ||
      static_cast<double>(growths.bytes) < warned_memory_share * static_cast<double>(growths.reserved_maximum))
    return {};
  const forced_growth& most = growths.largest;
  std::string text = fmt::format(
      "PyTorch allocated {} ({}) from the driver{} although enough memory was free, because all holes were too small. "
      "Largest case: {} requested{} at {}, {} free, largest hole {}",
      format_some(growths.count, "segment"), format_bytes(growths.bytes), where, format_bytes(most.asked),
      from_place(in.places.of(most.stack)), format_moment(most.time), format_bytes(most.free),
      format_bytes(most.largest_hole));
  if (most.pins == 0) return text + "; no segment was large enough.";
  return text + fmt::format("; {} ({}{}) separated the holes of a segment that was large enough.",
                            format_some(most.pins, "live block"), format_bytes(most.pinned_bytes),
                            from_place(in.places.of(most.pin_stack)));
}

/// Adds forced growth to the finding about each device's peak, or reports it separately if there is no such finding.
void find_forced_growth(finder& in, std::map<trace::device_id, std::size_t> reported) {
  for (const forced_growths& each : in.whole.waste.forced) {
    in.device = each.device;
    const auto known = reported.find(each.device);
    const std::string words = get_words(in, each, known == reported.end() ? in.on(each.device) : std::string());
    if (words.empty()) continue;
    if (known != reported.end()) {
      in.found[known->second].text += " " + words;
      continue;
    }
    finding& f = in.add(finding_kind::fragmentation, words,
                        "Free the blocks between the holes earlier, or allocate long-lived blocks first.");
    f.range = {each.largest.time, each.largest.time + 1};
    f.block = each.largest.largest_pin != trace::block_id::none ? each.largest.largest_pin : each.largest.segment;
    f.where = in.places.of(each.largest.pins > 0 ? each.largest.pin_stack : each.largest.stack);
    const reserved_replay* replay = replay_on(in, each.device);
    const policy_outcome* best = replay == nullptr ? nullptr : winning_policy(*replay);
    // These holes do not exist at the peak, so the peak of reserved memory may be the same without them.
    f.only_note = true;
    if (best == nullptr) continue;
    f.advice = use_policy(*best, *replay);
    in.set_fix(f, fragmentation_fixes, best->policy, trace::layer::framework);
    f.saves = replayed_saving(in, each.device, replay->peak_reserved, best->peak_reserved);
  }
}

}  // namespace

void find_fragmentation(finder& in) {
  std::map<trace::device_id, std::size_t> reported;
  for (const fragmentation_metric& metric : in.whole.fragmentation) {
    in.device = metric.device;
    const double free = static_cast<double>(metric.free_bytes);
    if (metric.fragmentation < fragmented || free < min_reserved) continue;
    if (free < much_free * static_cast<double>(metric.segment_bytes)) continue;
    finding& f = in.add(finding_kind::fragmentation,
                        fmt::format("At the peak, {} reserved for {}{} were unused, in {} with holes of at most {} "
                                    "(fragmentation {}).",
                                    format_bytes(metric.free_bytes), get_label(metric.layer), in.on(metric.device),
                                    format_some(metric.segments, "segment"), format_bytes(metric.largest_free),
                                    format_share(metric.fragmentation)),
                        maps_segments(in.tables) ? "Allocate long-lived blocks first."
                                                 : "Allocate long-lived blocks first, or use expandable segments.");
    if (metric.layer == trace::layer::framework) reported[metric.device] = in.found.size() - 1;
    f.range = {metric.time, metric.time + 1};
    f.where = top_of_peak(in, metric.device, metric.layer);
    if (metric.layer == trace::layer::framework) f.parts = {{saved_part::type::reserved, metric.device, 0, {}}};
    f.only_note = free < mostly_free * static_cast<double>(metric.segment_bytes);
    f.saves = {.reserved_bytes = metric.free_bytes,
               .basis = saving_basis::measured,
               .share = in.reserved_share(metric.free_bytes, metric.segment_bytes, metric.device)};
    const reserved_replay* replay = metric.layer == trace::layer::framework ? replay_on(in, metric.device) : nullptr;
    if (replay == nullptr || replay->policies.empty()) continue;
    if (const policy_outcome* best = winning_policy(*replay)) {
      f.advice = use_policy(*best, *replay);
      in.set_fix(f, fragmentation_fixes, best->policy, metric.layer);
      f.saves = replayed_saving(in, metric.device, replay->peak_reserved, best->peak_reserved);
    } else {
      f.advice =
          "Allocate long-lived blocks first. No other setting of PyTorch's allocator helps: in replays with "
          "expandable segments, rounded sizes or a limit on splitting, these requests reserve about as much.";
      f.saves = {};
      f.only_note = true;
    }
  }
  find_forced_growth(in, std::move(reported));
}

void find_untracked(finder& in) {
  for (const untracked_statistics& device : in.whole.whole.untracked) {
    in.device = device.device;
    if (static_cast<double>(device.maximum) < 1024 * mebi) continue;
    in.add(finding_kind::untracked_memory,
           fmt::format("Up to {} of device memory ({} of the device) is untracked: CUDA contexts, libraries, other "
                       "processes.",
                       format_bytes(device.maximum),
                       format_share(static_cast<double>(device.maximum) /
                                    static_cast<double>(std::max<std::uint64_t>(device.device_bytes, 1)))),
           "Check with nvidia-smi whether another process uses the GPU.");
  }
}

void find_driver_allocations(finder& in) {
  struct calls {
    std::uint64_t allocations = 0, frees = 0;
    time_ns in_calls = 0;
    time_range allocating{std::numeric_limits<time_ns>::max(), 0}, freeing{std::numeric_limits<time_ns>::max(), 0};
    time_ns idle = 0;
    time_ns saved = 0;
    const driver_call_group* some = nullptr;
    std::vector<saved_part> parts;
  };
  std::vector<const driver_call_group*> groups;
  for (const driver_call_group& each : in.whole.waste.driver_calls) groups.push_back(&each);
  for (const auto& [place, of_line] :
       by_line(groups, in.places, [](const driver_call_group& each) { return each.total; })) {
    calls whole;
    for (const driver_call_group* each : of_line) {
      (each->frees ? whole.frees : whole.allocations) += each->count;
      whole.in_calls += each->total;
      time_range& when = each->frees ? whole.freeing : whole.allocating;
      when = {std::min(when.begin, each->first), std::max(when.end, each->last)};
      if (whole.some == nullptr || !each->frees) whole.some = each;
    }
    // Programs allocate at startup and free at exit, and caching allocators stop allocating once they have enough.
    if (whole.allocations < min_driver_calls || whole.frees < min_driver_calls ||
        static_cast<double>(intersect(whole.allocating, whole.freeing).length()) < in.working / 4)
      continue;
    for (const gap_group& gap : in.whole.waste.gaps)
      if ((gap.cause == gap_cause::allocation || gap.cause == gap_cause::release) &&
          to_text(in.places.of(gap.stack)) == to_text(place)) {
        whole.idle += gap.total;
        whole.saved += gap.saved;
        whole.parts.push_back(in.part_of(gap));
      }
    const std::string_view call = in.tables.text(whole.some->call);
    const std::string maker = find_maker(place, trace::layer::driver);
    finding& f = in.add(
        finding_kind::driver_allocations,
        fmt::format("Driver memory was allocated{} {} and freed {}{}: {} in the calls{}.",
                    call.empty() ? std::string() : fmt::format(" ({})", call), format_some(whole.allocations, "time"),
                    format_some(whole.frees, "time"), from_place(place), format_time(whole.in_calls),
                    whole.idle > 0
                        ? fmt::format(", and the GPU was idle for {} because of them{}", format_time(whole.idle),
                                      whole.saved > whole.idle
                                          ? ". The saving is larger, because the fix also ends the wait behind them"
                                          : "")
                        : std::string()),
        maker == "PyTorch" ? "Let the caching allocator keep its memory: no torch.cuda.empty_cache() in the loop."
        : maker == "CuPy"  ? "Let the memory pool keep its memory: no free_all_blocks() in the loop, and no allocator "
                             "without a pool."
                           : "Allocate once before the loop, or take memory from a pool (cudaMallocAsync).");
    // During these calls the host gives the GPU no work, but the GPU still runs work that was queued before.
    f.saves = whole.idle > 0 ? in.time(static_cast<double>(whole.saved), saving_basis::modelled)
                             : in.time(static_cast<double>(whole.in_calls), saving_basis::measured);
    f.range = {whole.allocating.begin, whole.freeing.end + 1};
    f.only_note = is_of_others(place);
    f.where = place;
    f.parts = std::move(whole.parts);
    in.set_fix(f, driver_allocations_fixes);
  }
}

}  // namespace sluice::metrics
