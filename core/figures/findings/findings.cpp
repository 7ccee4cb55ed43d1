#include <fmt/format.h>

#include <algorithm>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/figures/findings/fault_findings.hpp"
#include "core/figures/findings/thresholds.hpp"
#include "core/figures/findings/training_findings.hpp"
#include "core/figures/report.hpp"
#include "core/trace/model/driver_results.hpp"
#include "core/trace/model/message_texts.hpp"
#include "core/trace/model/names.hpp"

/// Rules of thumb applied to a report. A threshold only decides what is worth reporting: anything below it is too small
/// to matter or too common to be interesting. What a finding saves decides whether it is a warning (thresholds.hpp).
namespace sluice::analysis {
namespace {

using trace::direction;
using trace::memory_kind;
using trace::severity;

class finder {
 public:
  finder(const report& of, const trace::tables& tables) : of_(of), tables_(tables) {}

  std::vector<finding> all() {
    add_fault_findings(of_, tables_, found_);
    failures();
    retries();
    losses();
    overflows();
    unfreed();
    for (const transfer_statistics& way : of_.whole.transfers) transfers(way);
    for (const device_activity& device : of_.whole.devices) activity(device);
    pools();
    fragmentation();
    untracked();
    host_waits();
    repeated_copies();
    add_training_findings(of_, tables_, found_);
    rank(found_);
    return std::move(found_);
  }

 private:
  finding& add(finding_kind kind, severity how_bad, std::string text, std::string advice) {
    found_.push_back({kind, how_bad, std::move(text), std::move(advice), of_.whole.range, {}, {}});
    return found_.back();
  }

  std::string failure_advice(const failed_allocation& of) const {
    const trace::device_row* const device = tables_.devices.find(of.device);
    if (device != nullptr && device->memory_bytes > 0 && of.bytes > device->memory_bytes)
      return fmt::format("That is more than the GPU has ({}): check the size.", format_bytes(device->memory_bytes));
    return "Look at what held the memory at that moment.";
  }

  void failures() {
    if (of_.whole.failed_allocations == 0) return;
    const failed_allocation& first = of_.failures.front();
    // After a fault every call fails, so this is not a finding of its own.
    if (trace::is_gpu_fault(first.error) && !of_.faults.empty()) return;
    const std::string_view call = tables_.text(first.call);
    finding& f = add(finding_kind::failed_allocations, severity::error,
                     fmt::format("{} failed; the first asked for {} at {}{}{}.",
                                 format_some(of_.whole.failed_allocations, "allocation"), format_bytes(first.bytes),
                                 format_moment(first.time), call.empty() ? "" : " with ", call),
                     failure_advice(first));
    f.event = first.event;
    f.range = {saturating_difference(first.time, time_ns{1}), saturating_sum(first.time, time_ns{1})};
  }

  void retries() {
    const allocation_retries& all = of_.retries;
    if (all.count == 0) return;
    const allocation_retry& first = all.first.front();
    const std::string_view call = tables_.text(first.call);
    finding& f = add(
        finding_kind::allocation_retries, severity::info,
        fmt::format("{} failed and succeeded when repeated, after memory was freed: {} lost. The first asked for {} "
                    "at {}{}{}.",
                    format_some(all.count, "allocation"), format_time(all.total), format_bytes(first.bytes),
                    format_moment(first.time), call.empty() ? "" : " with ", call),
        "The GPU was full for a moment. Use less memory at the peak, or let the allocator fragment less (PyTorch: "
        "expandable_segments:True).");
    f.saves = {.time = all.total, .basis = saving_basis::measured, .share = static_cast<double>(all.total) / active_};
    f.event = first.event;
    f.range = {first.time, saturating_sum(first.until, time_ns{1})};
  }

  /// What importers say of it in a message.
  void overflows() {
    for (const std::string& warning : of_.warnings) {
      if (!warning.starts_with(trace::history_was_full)) continue;
      add(finding_kind::lost_events, severity::warning, warning + ".",
          "Record a shorter time, or allow more entries: "
          "torch.cuda.memory._record_memory_history(max_entries=...).");
    }
  }

  void losses() {
    if (of_.whole.lost_events == 0) return;
    add(finding_kind::lost_events, severity::warning,
        fmt::format("The recorder lost {}{}.", format_some(of_.whole.lost_events, "event"),
                    of_.whole.lost_memory_events > 0
                        ? fmt::format(", {} of them allocations and frees: memory figures are not exact",
                                      format_count(of_.whole.lost_memory_events))
                        : std::string()),
        "Record less at once, or give the recorder larger rings.");
  }

  /// True if the user layer left the same bytes unfreed. It has better names for them than the driver layer.
  bool is_listed_for_user_layer(const unfreed_group& of_driver) const {
    return std::any_of(of_.unfreed.begin(), of_.unfreed.end(), [&](const unfreed_group& group) {
      return group.layer == trace::layer::user && group.process == of_driver.process && group.kind == of_driver.kind &&
             group.bytes == of_driver.bytes;
    });
  }

  /// True if a framework or a pool manages the process's device memory: its segments stay until the end, by design.
  [[nodiscard]] bool are_segments(const unfreed_group& group) const {
    return group.layer == trace::layer::driver &&
           std::any_of(of_.whole.memory.begin(), of_.whole.memory.end(), [&](const memory_statistics& each) {
             return (each.layer == trace::layer::framework || each.layer == trace::layer::pool) &&
                    each.kind == group.kind;
           });
  }

  void unfreed() {
    for (const unfreed_group& group : of_.unfreed) {
      if (group.layer != trace::layer::driver && group.layer != trace::layer::user) continue;
      if (are_segments(group) || (group.layer == trace::layer::driver && is_listed_for_user_layer(group))) continue;
      const unfreed_block& largest = group.largest.front();
      const std::string_view name = tables_.text(largest.name);
      std::string text = fmt::format(
          "{} ({}) of {} memory {} never freed{}. The largest, {}, is from {}{}.", format_some(group.count, "block"),
          format_bytes(group.bytes), name_of(group.kind), group.count == 1 ? "was" : "were",
          group.keeps_growing ? ", and more came until the end: likely a leak" : "", format_bytes(largest.bytes),
          format_moment(largest.born), name.empty() ? std::string() : fmt::format(" ({})", name));
      if (!group.process_ended) text += " The process still ran when the recording ended.";
      finding& f = add(
          finding_kind::unfreed_blocks, group.keeps_growing ? severity::warning : severity::info, std::move(text),
          group.keeps_growing ? "Sort the table of blocks by birth: what was allocated last shows who should free it."
                              : "Fine for memory that a program sets up once.");
      f.block = largest.block;
      f.event = largest.alloc;
    }
  }

  // --- transfers ----------------------------------------------------------------------------------------------------

  static std::string limit_of(const transfer_statistics& way) {
    if (way.attainable > 0) return fmt::format(" of {} attainable", format_rate(way.attainable));
    if (way.link_peak > 0) return fmt::format(" of the link's {}", format_rate(way.link_peak));
    return "";
  }
  static double best_possible(const transfer_statistics& way) {
    return way.attainable > 0 ? way.attainable : way.link_peak;
  }
  static std::string_view towards(const transfer_statistics& way) {
    return way.direction == direction::h2d ? "to the GPU" : "from the GPU";
  }

  /// Faster or fewer copies save no more than the time for which the device waited for copies.
  [[nodiscard]] saving time_saved(trace::device_id device, double ns, saving_basis basis) const {
    for (const device_activity& each : of_.whole.devices)
      if ((each.device == device || device == trace::device_id::none) && each.kernels > 0)
        ns = std::min(ns, static_cast<double>(each.copy_only));
    ns = std::max(ns, 0.0);
    return {.time = static_cast<time_ns>(ns), .basis = basis, .share = ns / active_};
  }
  void transfers(const transfer_statistics& way) {
    if (way.direction != direction::h2d && way.direction != direction::d2h) return;
    const transfer_part* pageable = part_of(way, memory_kind::host);
    const transfer_part* pinned = part_of(way, memory_kind::pinned);
    const transfer_part* managed = part_of(way, memory_kind::managed);
    if (pageable != nullptr) pageable_copies(way, *pageable, pinned);
    if (pinned != nullptr) slow_copies(way, *pinned);
    small_copies(way);
    if (managed != nullptr && way.migrations > 0) migrations(way, *managed);
  }

  static const transfer_part* part_of(const transfer_statistics& way, memory_kind side) {
    const auto part =
        std::find_if(way.parts.begin(), way.parts.end(), [&](const auto& p) { return p.host_side == side; });
    return part == way.parts.end() ? nullptr : &*part;
  }

  void pageable_copies(const transfer_statistics& way, const transfer_part& pageable, const transfer_part* pinned) {
    if (pageable.bytes < 16 * mebi || pageable.bytes < 0.1 * way.bytes) return;
    const double best = best_possible(way);
    if (best > 0 && pageable.mean_bandwidth > 0.75 * best) return;
    std::string text =
        fmt::format("{} ({}) of the bytes copied {} {} pageable memory, at {}.", format_bytes(pageable.bytes),
                    format_share(pageable.bytes / way.bytes), towards(way),
                    way.direction == direction::h2d ? "came from" : "went to", format_rate(pageable.mean_bandwidth));
    // Small pinned copies may be slower than pageable ones: they do not show what pinning would gain.
    if (pinned != nullptr && pinned->fastest_bandwidth > pageable.mean_bandwidth) {
      text += fmt::format(" Pinned memory reached {}{}.", format_rate(pinned->fastest_bandwidth), limit_of(way));
    } else {
      if (way.link_peak > 0) text += fmt::format(" The link's peak is {}.", format_rate(way.link_peak));
    }
    finding& f = add(
        finding_kind::pageable_copies, severity::info, std::move(text),
        of_.compositions.empty()
            ? "Allocate the host side page-locked (cudaMallocHost), register it (cudaHostRegister), or copy through "
              "a pinned staging buffer."
            : "Pin the host side: DataLoader(pin_memory=True), and copy with non_blocking=True, or use "
              "cudaHostRegister.");
    if (best <= 0) return;
    constexpr double reached = 0.85;  // Of a link's theoretical peak, by large copies from pinned memory.
    const double rate = way.attainable > 0 ? way.attainable : reached * way.link_peak;
    f.saves = time_saved(way.device, static_cast<double>(pageable.busy) - pageable.bytes / rate * 1e9,
                         saving_basis::modelled);
  }

  void slow_copies(const transfer_statistics& way, const transfer_part& pinned) {
    const double best = best_possible(way);
    const bool large = pinned.bytes / static_cast<double>(pinned.count) >= mebi;
    if (!large || pinned.bytes < 64 * mebi || best <= 0 || pinned.mean_bandwidth > 0.6 * best) return;
    finding& f = add(finding_kind::slow_copies, severity::info,
                     fmt::format("Copies {} {} pinned memory average {}{}; the fastest reached {}.", towards(way),
                                 way.direction == direction::h2d ? "from" : "to", format_rate(pinned.mean_bandwidth),
                                 limit_of(way), format_rate(pinned.fastest_bandwidth)),
                     "Check the link's width, which CPU socket the memory is near, and what else uses the link.");
    f.event = way.fastest;
  }

  void small_copies(const transfer_statistics& way) {
    const double mean = way.bytes / static_cast<double>(way.count);
    const double best = best_possible(way);
    if (way.count < 256 || mean > 64 * 1024 || (best > 0 && way.mean_bandwidth > 0.5 * best)) return;
    add(finding_kind::small_copies, severity::info,
        fmt::format("{} copies {} average {} and reach {}: starting each costs more than moving it.",
                    format_count(way.count), towards(way), format_bytes(mean), format_rate(way.mean_bandwidth)),
        "Combine them into fewer, larger copies.");
  }

  void migrations(const transfer_statistics& way, const transfer_part& managed) {
    if (managed.bytes < 16 * mebi) return;
    add(finding_kind::migrations, severity::info,
        fmt::format("Managed memory moved {} {} in {} at {}.", format_bytes(managed.bytes), towards(way),
                    format_some(way.migrations, "migration"), format_rate(managed.mean_bandwidth)),
        "Prefetch it (cudaMemPrefetchAsync) before it is needed, or copy it explicitly.");
  }

  // --- devices ------------------------------------------------------------------------------------------------------

  /// A sentence about the line whose copies the device waited for longest; empty if no stacks were recorded.
  [[nodiscard]] std::string longest_waited_for(trace::device_id device) const {
    const line_use* longest = nullptr;
    for (const copying_lines& copying : of_.copying) {
      if (copying.device != device || copying.uses.empty()) continue;
      const line_use& first = copying.uses.lines.front();
      if (longest == nullptr || first.figures.alone > longest->figures.alone) longest = &first;
    }
    if (longest == nullptr || longest->figures.alone == 0) return {};
    const std::string place = symbols::place_of(longest->line);
    return fmt::format(" It waited longest for the copies of {}{}: {}.", symbols::name_of(longest->line),
                       place.empty() ? "" : fmt::format(" ({})", place), format_time(longest->figures.alone));
  }

  void activity(const device_activity& device) {
    const double copies = static_cast<double>(device.copy_busy);
    const double waited = static_cast<double>(device.copy_only);
    if (device.kernels > 0 && waited > 0.01 * active_ && static_cast<double>(device.overlap) < 0.25 * copies) {
      const double share = static_cast<double>(device.overlap) / copies;
      finding& f = add(finding_kind::copies_not_overlapped, severity::info,
                       fmt::format("The GPU sat idle for {} ({} of the active time) waiting for copies: {}.",
                                   format_time(device.copy_only), format_share(waited / active_),
                                   device.overlap == 0
                                       ? std::string("none overlapped with a kernel")
                                       : fmt::format("kernels ran during only {} of their time", format_share(share))) +
                           longest_waited_for(device.device),
                       "Copy the next batch on a stream of its own while a kernel works on this one.");
      f.saves = time_saved(device.device, waited, saving_basis::measured);
    }
    // Before the GPU's first work and after its last it is not waiting: the program imports or saves.
    const double working = static_cast<double>(device.last - device.first);
    if (device.kernels > 0 && working > 0 && static_cast<double>(device.busy) < 0.5 * working) {
      finding& f = add(
          finding_kind::device_idle, severity::info,
          fmt::format("The GPU was idle for {} of the time between its first and its last work ({} of {}).",
                      format_share(1 - static_cast<double>(device.busy) / working),
                      format_time(device.last - device.first - device.busy), format_time(device.last - device.first)),
          "See in the timeline what the host threads do in the gaps.");
      f.range = {device.first, device.last};
    }
  }

  // --- memory -------------------------------------------------------------------------------------------------------

  std::string pool_name(trace::pool_id id) const {
    const trace::pool_row* row = tables_.pools.find(id);
    const std::string_view name = row == nullptr ? std::string_view{} : tables_.text(row->name);
    if (name.empty()) return fmt::format("Pool {}", raw(id));
    return fmt::format("{} {}", name.ends_with("pool") ? "The" : "Pool", name);
  }

  void pools() {
    for (const pool_statistics& pool : of_.whole.pools) {
      if (static_cast<double>(pool.reserved_maximum) < 64 * mebi || pool.used_share >= 0.5) continue;
      finding& f = add(finding_kind::pool_slack, severity::info,
                       fmt::format("{} reserved up to {}, and used {} of it on average, never more than {}.",
                                   pool_name(pool.pool), format_bytes(pool.reserved_maximum),
                                   format_share(pool.used_share), format_bytes(pool.used_maximum)),
                       "If others need the memory, trim it (cudaMemPoolTrimTo) or lower its release threshold.");
      const std::uint64_t unused = pool.reserved_maximum - std::min(pool.reserved_maximum, pool.used_maximum);
      f.saves = {.reserved_bytes = unused,
                 .basis = saving_basis::measured,
                 .share = static_cast<double>(unused) / static_cast<double>(pool.reserved_maximum)};
      f.range = {pool.reserved_maximum_time, pool.reserved_maximum_time + 1};
    }
  }

  /// The program grows its segments by mapping more behind them, as PyTorch's expandable segments do.
  [[nodiscard]] bool maps_segments() const {
    const auto names = tables_.strings.rows();
    return std::any_of(names.begin(), names.end(), [](const auto& row) { return row.text == "cuMemMap"; });
  }

  void fragmentation() {
    for (const fragmentation_figure& figure : of_.fragmentation) {
      if (figure.fragmentation < 0.3 || static_cast<double>(figure.free_bytes) < 64 * mebi) continue;
      finding& f =
          add(finding_kind::fragmentation, severity::info,
              fmt::format(
                  "At the peak the {} layer had {} reserved but unused in {}, in pieces of at most {} (fragmentation "
                  "{}).",
                  name_of(figure.layer), format_bytes(figure.free_bytes), format_some(figure.segments, "segment"),
                  format_bytes(figure.largest_free), format_share(figure.fragmentation)),
              maps_segments() ? "Allocate long-lived blocks first."
                              : "Allocate long-lived blocks first, or use expandable segments.");
      f.range = {figure.time, figure.time + 1};
      f.saves = {.reserved_bytes = figure.free_bytes,
                 .basis = saving_basis::measured,
                 .share = static_cast<double>(figure.free_bytes) /
                          static_cast<double>(std::max<std::uint64_t>(figure.segment_bytes, 1))};
    }
  }

  void untracked() {
    for (const untracked_statistics& device : of_.whole.untracked) {
      if (static_cast<double>(device.maximum) < 1024 * mebi) continue;
      add(finding_kind::untracked_memory, severity::info,
          fmt::format(
              "Up to {} of device memory ({} of the device) is untracked: CUDA contexts, libraries, other processes.",
              format_bytes(device.maximum),
              format_share(static_cast<double>(device.maximum) /
                           static_cast<double>(std::max<std::uint64_t>(device.device_bytes, 1)))),
          "Check with nvidia-smi whether another process uses the GPU.");
    }
  }

  void host_waits() {
    for (const thread_statistics& thread : of_.whole.threads) {
      if (static_cast<double>(thread.wait_busy) < 0.5 * active_) continue;
      const trace::thread_row* row = tables_.threads.find(thread.thread);
      const std::string_view name = row == nullptr ? std::string_view{} : tables_.text(row->name);
      add(finding_kind::waiting_host, severity::info,
          fmt::format("Thread {} waited for the GPU for {}, {} of the active time.",
                      name.empty() ? std::to_string(row == nullptr ? raw(thread.thread) : row->tid) : std::string(name),
                      format_time(thread.wait_busy),
                      format_share(std::min(1.0, static_cast<double>(thread.wait_busy) / active_))),
          "Avoid blocking: wait on CUDA events instead of synchronizing.");
    }
  }

  // --- duplicates ---------------------------------------------------------------------------------------------------

  /// Where the repeated data came from, as part of a sentence.
  static std::string whence(const repeat_figures& repeated) {
    if (repeated.same_source.copies == repeated.all.copies) return ", unchanged at the same address";
    if (repeated.same_source.copies == 0) return ", each time from another address";
    return fmt::format(", {} unchanged at the same address", format_count(repeated.same_source.copies));
  }

  void repeated_copies() {
    const duplicate_copies& found = of_.duplicates;
    const copy_figures& again = found.repeated.all;
    // Less is worth neither the memory to keep it on the GPU nor a finding.
    if (static_cast<double>(again.bytes) < mebi && again.copies < 256) return;
    const double share = static_cast<double>(again.busy) / active_;
    std::string text = fmt::format("The same data was copied to the GPU again {} ({}, {}, {} of the active time){}.",
                                   format_some(again.copies, "time"), format_bytes(again.bytes),
                                   format_time(again.busy), format_share(share), whence(found.repeated));
    if (!found.lines.empty()) {
      const repeating_line& most = found.lines.front();
      const std::string place = symbols::place_of(most.line);
      text +=
          fmt::format(" {} of that by {}{}: {}.", format_bytes(most.figures.all.bytes), symbols::name_of(most.line),
                      place.empty() ? "" : fmt::format(" ({})", place), format_some(most.figures.all.copies, "copy"));
    }
    const std::uint64_t sampled = again.copies - found.repeated.exact.copies;
    if (sampled > 0) {
      text += sampled == again.copies
                  ? " A sample of their bytes was compared."
                  : fmt::format(" Of {} a sample of the bytes was compared.", format_count(sampled));
    }
    if (found.over_budget.copies > 0) {
      text += fmt::format(" Not compared, to save time: {}, {}.", format_some(found.over_budget.copies, "copy"),
                          format_bytes(found.over_budget.bytes));
    }
    if (found.graph_launches > 0) {
      text +=
          fmt::format(" Copies in graphs, launched {}, were not compared.", format_some(found.graph_launches, "time"));
    }
    finding& f = add(finding_kind::repeated_copies, severity::info, std::move(text),
                     "Copy it once and keep it on the GPU. Where only parts change, copy those.");
    f.saves = time_saved({}, static_cast<double>(again.busy), saving_basis::measured);
    f.event = found.largest;
  }

  const report& of_;
  const trace::tables& tables_;
  /// Length in ns of the active span, at least 1.
  const double active_ = static_cast<double>(std::max<time_ns>(of_.whole.active.length(), 1));
  std::vector<finding> found_;
};

}  // namespace

std::vector<finding> findings_of(const report& of, const trace::tables& tables) { return finder(of, tables).all(); }

}  // namespace sluice::analysis
