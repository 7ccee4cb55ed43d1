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
/// to matter or too common to be interesting.
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
    std::stable_sort(found_.begin(), found_.end(),
                     [](const finding& a, const finding& b) { return a.severity > b.severity; });
    return std::move(found_);
  }

 private:
  finding& add(finding_kind kind, severity how_bad, std::string text, std::string advice) {
    found_.push_back({kind, how_bad, std::move(text), std::move(advice), of_.whole.range, {}, {}});
    return found_.back();
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
                     "Look at what held the memory at that moment.");
    f.event = first.event;
    f.range = {saturating_difference(first.time, time_ns{1}), saturating_sum(first.time, time_ns{1})};
  }

  void retries() {
    const allocation_retries& all = of_.retries;
    if (all.count == 0) return;
    const allocation_retry& first = all.first.front();
    const std::string_view call = tables_.text(first.call);
    finding& f = add(
        finding_kind::allocation_retries, severity::warning,
        fmt::format("{} failed and succeeded when repeated, after memory was freed: {} lost. The first asked for {} "
                    "at {}{}{}.",
                    format_some(all.count, "allocation"), format_time(all.total), format_bytes(first.bytes),
                    format_moment(first.time), call.empty() ? "" : " with ", call),
        "The GPU was full for a moment. Use less memory at the peak, or let the allocator fragment less (PyTorch: "
        "expandable_segments:True).");
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
  bool is_told_by_user(const unfreed_group& of_driver) const {
    return std::any_of(of_.unfreed.begin(), of_.unfreed.end(), [&](const unfreed_group& group) {
      return group.layer == trace::layer::user && group.process == of_driver.process && group.kind == of_driver.kind &&
             group.bytes == of_driver.bytes;
    });
  }

  void unfreed() {
    for (const unfreed_group& group : of_.unfreed) {
      if (group.layer != trace::layer::driver && group.layer != trace::layer::user) continue;
      if (group.layer == trace::layer::driver && is_told_by_user(group)) continue;
      const unfreed_block& largest = group.largest.front();
      const std::string_view name = tables_.text(largest.name);
      const std::string origin = fmt::format(
          "{} at {}.", name.empty() ? std::string("born") : fmt::format("from {}", name), format_moment(largest.born));
      std::string what = fmt::format("{}, {}, of {} memory ({} layer) ", format_some(group.count, "block"),
                                     format_bytes(group.bytes), name_of(group.kind), name_of(group.layer));
      what += group.count == 1
                  ? fmt::format("was never freed: {}", origin)
                  : fmt::format("were never freed; the largest, {}, {}", format_bytes(largest.bytes), origin);
      if (group.keeps_growing) what += " They kept coming until the end, as a leak does.";
      if (!group.process_ended) what += " The process still ran when the recording ended.";
      finding& f =
          add(finding_kind::unfreed_blocks, group.keeps_growing ? severity::warning : severity::info, std::move(what),
              group.keeps_growing ? "Look at those born last in the table of blocks: who makes them should free them."
                                  : "Held until the end, which is fine for what a program sets up once.");
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
        fmt::format("{} of {} bytes ({}) {} pageable memory at {}", format_share(pageable.bytes / way.bytes),
                    name_of(way.direction), format_bytes(pageable.bytes),
                    way.direction == direction::h2d ? "come from" : "go to", format_rate(pageable.mean_bandwidth));
    // Small pinned copies may be slower than pageable ones: they do not show what pinning would gain.
    if (pinned != nullptr && pinned->fastest_bandwidth > pageable.mean_bandwidth) {
      text += fmt::format("; pinned reached {}{}.", format_rate(pinned->fastest_bandwidth), limit_of(way));
    } else {
      text += way.link_peak > 0 ? fmt::format("; the link's peak is {}.", format_rate(way.link_peak)) : ".";
    }
    const bool costly = static_cast<double>(pageable.busy) > 0.01 * static_cast<double>(of_.whole.range.length());
    add(finding_kind::pageable_copies, costly ? severity::warning : severity::info, std::move(text),
        of_.compositions.empty()
            ? "Allocate the host side page-locked (cudaMallocHost), register it (cudaHostRegister), or copy through "
              "pinned slots."
            : "Pin the host side: DataLoader(pin_memory=True), and copy with non_blocking=True, or use "
              "cudaHostRegister.");
  }

  void slow_copies(const transfer_statistics& way, const transfer_part& pinned) {
    const double best = best_possible(way);
    const bool large = pinned.bytes / static_cast<double>(pinned.count) >= mebi;
    if (!large || pinned.bytes < 64 * mebi || best <= 0 || pinned.mean_bandwidth > 0.6 * best) return;
    finding& f =
        add(finding_kind::slow_copies, severity::info,
            fmt::format("Pinned {} copies average {}{}; the fastest reached {}.", name_of(way.direction),
                        format_rate(pinned.mean_bandwidth), limit_of(way), format_rate(pinned.fastest_bandwidth)),
            "Check the link's width, which processor the memory is near, and what else uses the link.");
    f.event = way.fastest;
  }

  void small_copies(const transfer_statistics& way) {
    const double mean = way.bytes / static_cast<double>(way.count);
    const double best = best_possible(way);
    if (way.count < 256 || mean > 64 * 1024 || (best > 0 && way.mean_bandwidth > 0.5 * best)) return;
    add(finding_kind::small_copies, severity::info,
        fmt::format("{} {} average {} and reach {}: starting each costs more than moving it.", format_count(way.count),
                    fmt::format("{} copies", name_of(way.direction)), format_bytes(mean),
                    format_rate(way.mean_bandwidth)),
        "Gather them into fewer, larger copies.");
  }

  void migrations(const transfer_statistics& way, const transfer_part& managed) {
    if (managed.bytes < 16 * mebi) return;
    add(finding_kind::migrations, severity::info,
        fmt::format("Managed memory moved {} {} in {} at {}.", format_bytes(managed.bytes), name_of(way.direction),
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
    return fmt::format(" Longest for the copies of {}{}: {}.", symbols::name_of(longest->line),
                       place.empty() ? "" : fmt::format(" ({})", place), format_time(longest->figures.alone));
  }

  void activity(const device_activity& device) {
    const double span = static_cast<double>(of_.whole.range.length());
    const double copies = static_cast<double>(device.copy_busy);
    if (device.kernels > 0 && copies > 0.05 * span && static_cast<double>(device.overlap) < 0.25 * copies) {
      add(finding_kind::copies_not_overlapped, severity::warning,
          fmt::format("Copies ran for {} and {} of that beside kernels: the GPU waited {} for data, {} of the {}.",
                      format_time(device.copy_busy), format_share(static_cast<double>(device.overlap) / copies),
                      format_time(device.copy_only), format_share(static_cast<double>(device.copy_only) / span),
                      part_) +
              longest_waited_for(device.device),
          "Copy the next piece on a stream of its own while a kernel works on this one.");
    }
    // Before the GPU's first work and after its last it is not waiting: the program imports or saves.
    const double active = static_cast<double>(device.last - device.first);
    if (device.kernels > 0 && active > 0 && static_cast<double>(device.busy) < 0.5 * active) {
      finding& f = add(
          finding_kind::device_idle, severity::info,
          fmt::format("The GPU was idle for {} of the time from its first to its last work ({} of {}).",
                      format_share(1 - static_cast<double>(device.busy) / active),
                      format_time(device.last - device.first - device.busy), format_time(device.last - device.first)),
          "Look at what the host threads do in the gaps.");
      f.range = {device.first, device.last};
    }
  }

  // --- memory -------------------------------------------------------------------------------------------------------

  std::string pool_name(trace::pool_id id) const {
    const trace::pool_row* row = tables_.pools.find(id);
    const std::string_view name = row == nullptr ? std::string_view{} : tables_.text(row->name);
    return name.empty() ? fmt::format("Pool {}", raw(id)) : fmt::format("Pool {}", name);
  }

  void pools() {
    for (const pool_statistics& pool : of_.whole.pools) {
      if (static_cast<double>(pool.reserved_maximum) < 64 * mebi || pool.used_share >= 0.5) continue;
      finding& f = add(finding_kind::pool_slack, severity::info,
                       fmt::format("{} reserved up to {} and used {} of what it held on average (at most {}).",
                                   pool_name(pool.pool), format_bytes(pool.reserved_maximum),
                                   format_share(pool.used_share), format_bytes(pool.used_maximum)),
                       "Trim it, or lower its release threshold, if others need the memory.");
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
      finding& f = add(
          finding_kind::fragmentation, severity::warning,
          fmt::format("At its peak the {} layer had {} free in {}, the largest hole {}: fragmentation {}.",
                      name_of(figure.layer), format_bytes(figure.free_bytes), format_some(figure.segments, "segment"),
                      format_bytes(figure.largest_free), format_share(figure.fragmentation)),
          maps_segments() ? "Allocate long-lived blocks first."
                          : "Allocate long-lived blocks first, or use expandable segments.");
      f.range = {figure.time, figure.time + 1};
    }
  }

  void untracked() {
    for (const untracked_statistics& device : of_.whole.untracked) {
      if (static_cast<double>(device.maximum) < 1024 * mebi) continue;
      add(finding_kind::untracked_memory, severity::info,
          fmt::format(
              "Up to {} of device memory ({} of the device) is not tracked: contexts, modules, libraries, other "
              "processes.",
              format_bytes(device.maximum),
              format_share(static_cast<double>(device.maximum) /
                           static_cast<double>(std::max<std::uint64_t>(device.device_bytes, 1)))),
          "See whether another process uses the device.");
    }
  }

  void host_waits() {
    const double span = static_cast<double>(of_.whole.range.length());
    for (const thread_statistics& thread : of_.whole.threads) {
      if (static_cast<double>(thread.wait_busy) < 0.5 * span) continue;
      const trace::thread_row* row = tables_.threads.find(thread.thread);
      const std::string_view name = row == nullptr ? std::string_view{} : tables_.text(row->name);
      add(finding_kind::waiting_host, severity::info,
          fmt::format("Thread {} waited for the device for {}, {} of the {}.",
                      name.empty() ? std::to_string(row == nullptr ? raw(thread.thread) : row->tid) : std::string(name),
                      format_time(thread.wait_busy), format_share(static_cast<double>(thread.wait_busy) / span), part_),
          "Give it other work, or let the device's work depend on events instead.");
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
    const double span = static_cast<double>(of_.whole.range.length());
    const double share = span > 0 ? static_cast<double>(again.busy) / span : 0;
    std::string text = fmt::format("{} moved {} to the GPU that had been moved there before, in {} ({} of the {}){}.",
                                   format_some(again.copies, "copy"), format_bytes(again.bytes),
                                   format_time(again.busy), format_share(share), part_, whence(found.repeated));
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
    finding& f = add(finding_kind::repeated_copies, share > 0.01 ? severity::warning : severity::info, std::move(text),
                     "Copy it once and keep it on the GPU; where it changes in parts, copy those.");
    f.event = found.largest;
  }

  const report& of_;
  const trace::tables& tables_;
  const char* part_ = of_.whole.range == of_.span ? "recording" : "range";
  std::vector<finding> found_;
};

}  // namespace

std::vector<finding> findings_of(const report& of, const trace::tables& tables) { return finder(of, tables).all(); }

}  // namespace sluice::analysis
