#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <sstream>

#include "app/cli/report/inferred_words.hpp"
#include "app/cli/report/report_out_of_memory.hpp"
#include "app/cli/report/report_output.hpp"
#include "app/cli/report/report_ranks.hpp"
#include "app/cli/report/report_training.hpp"
#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/metrics/host_causes/host_remedies.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using index::device_label;
using metrics::report;

/// Enough columns for most kernel names. On a terminal, they leave space for the numbers.
constexpr std::size_t name_columns = 72;
constexpr std::size_t names_shown = 8;

std::string rate_or_dash(double rate) { return rate > 0 ? format_rate(rate) : "-"; }
/// The size, or "-" if it is 0: every copy has bytes, so 0 means that the file did not record the size.
std::string size_or_dash(double bytes) { return bytes > 0 ? format_bytes(bytes) : "-"; }

std::string capital(std::string_view text) {
  std::string line(text);
  if (!line.empty() && line[0] >= 'a' && line[0] <= 'z') line[0] = static_cast<char>(line[0] - 'a' + 'A');
  return line;
}

/// Writes the report section by section, and omits empty sections.
class text_writer : private text_builder {
 public:
  explicit text_writer(const report_subject& subject)
      : subject_(subject), of_(subject.report), tables_(subject.tables), path_(subject.path) {}

  std::string findings_of(metrics::finding_kind kind) {
    for (const metrics::finding& finding : of_.findings)
      if (finding.kind == kind) one_finding(finding);
    if (size() == 0) line("  There is no such finding in {}.", path_);
    return take();
  }

  std::string all() {
    head();
    const std::size_t only_head = size();
    add(out_of_memory_text(subject_));
    findings();
    memory();
    add(training_text(subject_));
    add(ranks_text(subject_));
    imports();
    pools();
    transfers();
    lines_of_copies();
    duplicates();
    devices();
    names("Kernels by time", of_.whole.kernels, of_.whole.kernel_names);
    names("Named ranges by time", of_.whole.ranges, of_.whole.ranges.size());
    names("API calls by time", of_.whole.calls, of_.whole.calls.size());
    threads();
    unfreed();
    failures();
    retries();
    if (size() == only_head) line("\nNo allocation, copy, kernel or call was recorded.");
    return take();
  }

 private:
  void section(std::string_view title) { line("\n{}", title); }
  std::string to_text(trace::string_id id) const { return std::string(tables_.text(id)); }
  std::string name_or(trace::string_id id, std::string_view otherwise) const {
    const std::string_view name = tables_.text(id);
    return name.empty() ? std::string(otherwise) : readable_name(name);
  }

  void head() {
    line("{}", of_.verdict.text);
    line("{}", path_);
    std::string facts = fmt::format("{}, {}, {}", format_time(of_.span.length()), format_some(of_.events, "event"),
                                    format_bytes(of_.file_bytes));
    if (of_.simulated) facts += ", simulated device: times are not real";
    line("  {}", facts);
    if (subject_.only)
      line("  {} ranks. The tables about a single device or process are for rank {}{}; --rank selects another rank.",
           of_.waste.ranks.size(), subject_.only->rank,
           metrics::rank_to_show(of_) == subject_.only->rank ? ", which needs the most memory" : "");
    for (const trace::device_row& device : tables_.devices.rows()) {
      if (!shows(device.id)) continue;
      std::string about = device_label(device.id, tables_);
      if (device.memory_bytes > 0) about += fmt::format(", {}", format_bytes(device.memory_bytes));
      if (device.link_peak > 0) {
        about += device.link_generation > 0
                     ? fmt::format(", PCIe {} x{} ({})", device.link_generation, device.link_width,
                                   format_rate(static_cast<double>(device.link_peak)))
                     : fmt::format(", link {}", format_rate(static_cast<double>(device.link_peak)));
      }
      line("  {}", about);
    }
    for (const metrics::process_metric& process : of_.processes) {
      std::string about =
          fmt::format("{} (pid {})", process.command.empty() ? "process" : shortened(process.command, 80), process.pid);
      if (process.rank >= 0) about += fmt::format(", rank {}", process.rank);
      if (process.exit_status >= 0) about += fmt::format(", exit status {}", process.exit_status);
      if (process.complete_until != trace::unknown_time && process.complete_until < of_.span.end - 1) {
        about += fmt::format(", device times complete up to {}", format_moment(process.complete_until));
      }
      line("  {}", about);
      if (process.mode == trace::recording_mode::memory) {
        line("    recorded in memory mode: no kernel times; use --mode timeline to record them");
      }
    }
    if (of_.whole.range != of_.span) {
      line("  range: {} to {} ({})", format_moment(of_.whole.range.begin), format_moment(of_.whole.range.end),
           format_time(of_.whole.range.length()));
    }
    const time_range active = of_.whole.active;
    if (active != of_.whole.range) {
      line("  active time: {}, from the first device work or allocation ({}) to the last ({})",
           format_time(active.length()), format_moment(active.begin), format_moment(active.end));
    }
    for (const std::string& warning : of_.warnings) line("warning: {}", warning);
  }

  /// True unless the device belongs to ranks that the report omits.
  bool shows(trace::device_id device) const {
    if (!subject_.only) return true;
    const auto& shown = subject_.only->devices;
    return std::find(shown.begin(), shown.end(), device) != shown.end();
  }

  /// Writes findings in their order. Those that are not major have their own heading.
  void findings() {
    const char* heading = nullptr;
    for (const metrics::finding& finding : of_.findings) {
      const char* const wanted = finding.major ? "Findings" : "Smaller findings";
      if (heading != wanted) section(wanted);
      heading = wanted;
      one_finding(finding);
    }
  }

  void one_finding(const metrics::finding& finding) {
    line("  {} {}", finding.severity == trace::severity::info ? "-" : "!", metrics::get_title(finding));
    if (const std::string saves = metrics::describe_saving(finding.saves); !saves.empty()) line("    Saves {}.", saves);
    if (const std::string place = metrics::describe_place(finding.where); !place.empty()) line("    At {}.", place);
    line("    {}", finding.text);
    line("    {}", finding.advice);
    if (const std::string overlaps = metrics::describe_overlaps(finding, of_); !overlaps.empty())
      line("    {}", overlaps);
    std::istringstream code(finding.fix_code);
    for (std::string each; std::getline(code, each);) line("        {}", each);
  }

  // --- memory -------------------------------------------------------------------------------------------------------

  const metrics::memory_statistics* find_statistics(const metrics::memory_peak& peak) const {
    for (const auto& subject : of_.whole.memory) {
      if (subject.device == peak.device && subject.layer == peak.layer && subject.kind == peak.kind) return &subject;
    }
    return nullptr;
  }

  void memory() {
    if (of_.peaks.empty() && of_.whole.untracked.empty()) return;
    section("Memory (each layer's memory is included in the layer below: do not add layers)");
    text_table table("llrlrrrr");
    table.row({"", "", "peak", "at", "mean", "at end", "allocations", "frees"});
    for (const metrics::memory_peak& peak : of_.peaks) {
      const metrics::memory_statistics* statistics = find_statistics(peak);
      table.row({place(peak.device), describe_memory(peak.layer, peak.kind), format_bytes(peak.bytes),
                 format_moment(peak.time), format_bytes(statistics->mean), format_bytes(statistics->at_end),
                 format_count(statistics->allocations), format_count(statistics->frees)});
    }
    for (const metrics::untracked_statistics& untracked_statistics : of_.whole.untracked) {
      table.row({place(untracked_statistics.device), "untracked (1)", format_bytes(untracked_statistics.maximum), "",
                 format_bytes(untracked_statistics.mean), format_bytes(untracked_statistics.at_end), "", ""});
    }
    add(table, 2);
    const bool managed = std::any_of(of_.whole.memory.begin(), of_.whole.memory.end(),
                                     [](const auto& m) { return m.kind == trace::memory_kind::managed; });
    for (const metrics::untracked_statistics& subject : of_.whole.untracked) {
      line(
          "  (1) CUDA context, libraries, {}other processes; sampled {} on {}. Excludes the profiler's own memory, "
          "about {}.",
          managed ? "managed pages here, " : "", format_some(subject.samples, "time"),
          device_label(subject.device, tables_), format_bytes(subject.recorder));
    }
    holders();
    lines_at_peak();
    fragmentation();
  }

  std::string place(trace::device_id device) const { return index::short_label(device, tables_); }

  void holders() {
    bool titled = false;
    for (const metrics::memory_peak& peak : of_.peaks) {
      if (peak.holders.empty()) continue;
      if (!titled) section("Memory at peak, by owner");
      titled = true;
      const std::string subject = fmt::format("{}, {}", place(peak.device), describe_memory(peak.layer, peak.kind));
      if (peak.holders.size() == 1) {
        const metrics::holder& h = peak.holders.front();
        line("  {}: {} of {}{}", subject, format_some(h.blocks, "block"), holder_name(h),
             h.blocks > 1 ? fmt::format(", largest {}", format_bytes(h.largest_bytes)) : std::string());
      } else {
        line("  {}: {}", subject, format_some(peak.blocks, "block"));
        add(holder_table(peak), 4);
      }
    }
  }

  // --- lines of the program -----------------------------------------------------------------------------------------

  /// Adds a table row for a line of code such as "step, train.py:40", with its source text.
  static void add_line(text_table& table, std::vector<std::string> metrics, const symbols::frame_line& line,
                       const std::string& note = {}) {
    const std::string place = symbols::get_place(line);
    const std::string name = shortened(symbols::get_name(line), name_columns);
    metrics.push_back(place.empty() || place == name ? name : fmt::format("{}, {}", place, name));
    const std::string about = line.missing.empty() ? line.source : fmt::format("({})", line.missing);
    metrics.push_back(shortened(about, name_columns) + (note.empty() || about.empty() ? "" : "  ") + note);
    table.row(std::move(metrics));
  }

  /// How the memory is grouped, and why.
  std::string grouping(const metrics::memory_peak& peak) const {
    static constexpr std::array<std::string_view, symbols::attribution_count> words = {
        "by your code line (innermost, Python first)", "by caller of that line's function",
        "by module (innermost forward)", "by package", "by the library that called the driver"};
    const metrics::attributed_use& asked = peak.asked_by;
    std::string text(words[static_cast<std::size_t>(asked.by)]);
    if (asked.chosen_by_reader || asked.by == symbols::attribution::line) return text;
    if (&peak != metrics::main_peak(of_)) return text + ", as the main peak";
    return text + fmt::format(", because a single line has {}", format_part(asked.choice.largest.front(), peak.bytes));
  }

  void lines_at_peak() {
    bool titled = false;
    for (const metrics::memory_peak& peak : of_.peaks) {
      if (peak.lines.empty()) continue;
      const metrics::attributed_use& asked = peak.asked_by;
      if (!titled) section("Allocated by (choose the grouping with --by line, caller, module, package or owner)");
      titled = true;
      line("  {}, {}, {}", place(peak.device), describe_memory(peak.layer, peak.kind), grouping(peak));
      const auto share = [&](const metrics::stack_metrics& part) { return format_part(part.bytes, peak.bytes); };
      text_table table("rrrll");
      for (const metrics::line_use& use : asked.groups.lines)
        add_line(table, {format_bytes(use.metrics.bytes), share(use.metrics), format_some(use.metrics.count, "block")},
                 use.line,
                 use.inferred.bytes == 0
                     ? ""
                     : fmt::format("(of this, {} {})", format_bytes(use.inferred.bytes), inferred_words(tables_)));
      const auto rest = [&](const metrics::stack_metrics& metrics, const char* subject) {
        if (metrics.count > 0)
          table.row({format_bytes(metrics.bytes), share(metrics), format_some(metrics.count, "block"), subject, ""});
      };
      rest(asked.groups.other, "others");
      rest(asked.groups.without, "no stack recorded");
      add(table, 4);
    }
  }

  void lines_of_copies() {
    bool titled = false;
    for (const metrics::copying_lines& copying : of_.copying) {
      if (!titled) section("Copies by line (waited: no kernel ran during the copy)");
      titled = true;
      line("  {}, {}", capital(get_name(copying.direction)), place(copying.device));
      text_table table("rrrrll");
      table.row({"waited", "copy time", "bytes", "", "", ""});
      const auto compute_metrics = [&](const metrics::stack_metrics& f) -> std::vector<std::string> {
        return {copying.kernels_known ? format_time(f.alone) : "unknown", format_time(f.busy), format_bytes(f.bytes),
                f.count == 1 ? "1 copy" : fmt::format("{} copies", format_count(f.count))};
      };
      for (const metrics::line_use& use : copying.uses.lines) add_line(table, compute_metrics(use.metrics), use.line);
      const auto rest = [&](const metrics::stack_metrics& metrics, const char* subject) {
        if (metrics.count == 0) return;
        std::vector<std::string> cells = compute_metrics(metrics);
        cells.insert(cells.end(), {subject, ""});
        table.row(std::move(cells));
      };
      rest(copying.uses.other, "other lines");
      rest(copying.uses.without, "no stack recorded");
      add(table, 4);
    }
  }

  // --- copies of the same content -----------------------------------------------------------------------------------

  /// True if copies were recorded but duplicates were not looked for: only hashing can find repeated content.
  bool asks_for_duplicates() const {
    return !of_.simulated && !of_.duplicates.looked() &&
           std::any_of(of_.whole.transfers.begin(), of_.whole.transfers.end(), [](const auto& way) {
             return way.direction == trace::direction::h2d && way.count > way.migrations;
           });
  }

  void duplicates() {
    const metrics::duplicate_copies& found = of_.duplicates;
    if (!found.looked()) return;
    section("Repeated host-to-device copies");
    const auto some = [](const metrics::copy_metrics& metrics) {
      return fmt::format("{}, {}", format_some(metrics.copies, "copy"), format_bytes(metrics.bytes));
    };
    line("  compared by a hash of the data: {}", some(found.hashed()));
    if (found.sampled.copies > 0) line("    of these, by a sample of the bytes: {}", some(found.sampled));
    if (found.over_budget.copies > 0) line("  not compared, to save time: {}", some(found.over_budget));
    if (found.unreadable.copies > 0)
      line("  not compared, because the host cannot read the source: {}", some(found.unreadable));
    if (found.overtaken.copies > 0) {
      line("  not compared, because the device wrote to the source first: {}", some(found.overtaken));
    }
    if (found.graph_launches > 0) {
      line("  not compared: copies in graphs, launched {}", format_some(found.graph_launches, "time"));
    }
    if (found.results.copies > 0) line("  copies to the host, also compared: {}", some(found.results));
    if (found.unseen_results.copies > 0) line("  copies to the host, not compared: {}", some(found.unseen_results));
    const auto with_time = [&](const metrics::copy_metrics& metrics) {
      return fmt::format("{}, {}", some(metrics), format_time(metrics.busy));
    };
    if (const auto trips = get_sum(found.round_trips); trips.to_device.copies > 0) {
      line("  copied back to the device unchanged: {}, plus {} to the host", with_time(trips.to_device),
           format_time(trips.to_host.busy));
    }
    if (const auto zeros = get_sum(found.zeros); zeros.all.copies > 0) line("  all zero: {}", with_time(zeros.all));
    if (found.repeated.all.copies == 0) {
      line("  no repeated transfers");
      return;
    }
    text_table table("rrrrrll");
    table.row({"repeated", "", "time", "same source", "same target", "", ""});
    const auto compute_metrics = [](const metrics::repeat_metrics& f) -> std::vector<std::string> {
      return {format_bytes(f.all.bytes), format_some(f.all.copies, "copy"), format_time(f.all.busy),
              format_count(f.same_source.copies), format_count(f.same_destination.copies)};
    };
    for (const metrics::repeating_line& each : found.lines) add_line(table, compute_metrics(each.metrics), each.line);
    const auto rest = [&](const metrics::repeat_metrics& metrics, const char* subject) {
      if (metrics.all.copies == 0) return;
      std::vector<std::string> cells = compute_metrics(metrics);
      cells.insert(cells.end(), {subject, ""});
      table.row(std::move(cells));
    };
    rest(found.other_lines, "other lines");
    rest(found.without_stack, "no stack recorded");
    if (found.lines.size() != 1 || found.without_stack.all.copies > 0) rest(found.repeated, "all");
    add(table, 4);
  }

  std::string holder_name(const metrics::holder& h) const {
    std::string name = shortened(name_or(h.name, "(unnamed)"), name_columns);
    if (h.pool != trace::pool_id::none) name += fmt::format(" in {}", index::pool_label(h.pool, tables_));
    return name;
  }

  text_table holder_table(const metrics::memory_peak& peak) const {
    text_table table("rrlr");
    const std::size_t shown = std::min<std::size_t>(peak.holders.size(), 5);
    std::uint64_t other = peak.other_bytes;
    for (std::size_t i = shown; i < peak.holders.size(); ++i) other += peak.holders[i].bytes;
    for (std::size_t i = 0; i < shown; ++i) {
      const metrics::holder& h = peak.holders[i];
      table.row({format_bytes(h.bytes), format_some(h.blocks, "block"), holder_name(h),
                 h.blocks > 1 ? fmt::format("largest {}", format_bytes(h.largest_bytes)) : ""});
    }
    if (other > 0) table.row({format_bytes(other), "", "others", ""});
    return table;
  }

  void fragmentation() {
    for (const metrics::fragmentation_metric& f : of_.fragmentation) {
      if (f.free_bytes == 0) continue;
      line("  {}, {} at the peak: {} in {}, {} free, largest hole {}, fragmentation {}", place(f.device),
           get_label(f.layer), format_bytes(f.segment_bytes), format_some(f.segments, "segment"),
           format_bytes(f.free_bytes), format_bytes(f.largest_free), format_share(f.fragmentation));
    }
  }

  void imports() {
    if (of_.imports.empty()) return;
    section("Memory of other processes (counted with its owner)");
    text_table table("rrlll");
    for (const index::imported_memory& had : of_.imports) {
      const bool known = had.owner != trace::process_id::none;
      table.row(
          {format_some(had.blocks, "block"), known || had.bytes > 0 ? format_bytes(had.bytes) : "",
           describe_memory(had.layer, had.kind), "in " + index::process_label(had.process, tables_),
           known ? fmt::format("of {}{}", index::process_label(had.owner, tables_), had.inferred ? " (inferred)" : "")
                 : "of an unknown process"});
    }
    add(table, 2);
  }

  void pools() {
    if (of_.whole.pools.empty()) return;
    section("Pools");
    text_table table("lrrrr");
    table.row({"", "peak reserved", "peak used", "mean use", "reserved at end"});
    for (const metrics::pool_statistics& pool : of_.whole.pools) {
      table.row({index::pool_label(pool.pool, tables_), format_bytes(pool.reserved_maximum),
                 format_bytes(pool.used_maximum), pool.used_share > 0 ? format_share(pool.used_share) : "-",
                 format_bytes(pool.reserved_at_end)});
    }
    add(table, 2);
  }

  // --- work ---------------------------------------------------------------------------------------------------------

  void transfers() {
    if (of_.whole.transfers.empty()) return;
    section("Transfers");
    text_table table("lrrrrrr");
    table.row({"", "count", "bytes", "busy", "mean", "fastest", "of link"});
    for (const metrics::transfer_statistics& way : of_.whole.transfers) {
      std::string label = capital(get_name(way.direction));
      if (tables_.devices.rows().size() > 1) label += fmt::format(", {}", place(way.device));
      const auto of_peak = [&](double rate) {
        const auto share = metrics::link_share(rate, way.link_peak);
        return share ? format_share(*share) : std::string("-");
      };
      table.row({label, format_count(way.count), size_or_dash(way.bytes), format_time(way.busy),
                 rate_or_dash(way.mean_bandwidth), rate_or_dash(way.fastest_bandwidth), of_peak(way.mean_bandwidth)});
      for (const metrics::transfer_part& part : way.parts) {
        const bool to_host = way.direction == trace::direction::d2h;
        table.row({fmt::format("  {} {}", to_host ? "to" : "from", name_of_side(part.host_side)),
                   format_count(part.count), size_or_dash(part.bytes), format_time(part.busy),
                   rate_or_dash(part.mean_bandwidth), rate_or_dash(part.fastest_bandwidth),
                   of_peak(part.mean_bandwidth)});
      }
    }
    add(table, 2);
    for (const trace::device_row& device : tables_.devices.rows())
      if (shows(device.id)) limits(device);
    if (asks_for_duplicates()) {
      line("  repeated host-to-device copies: not checked (use sluice record --find-duplicates)");
    }
  }

  void limits(const trace::device_row& device) {
    const auto has = [&](bool peers) {
      const auto& ways = of_.whole.transfers;
      return std::any_of(ways.begin(), ways.end(), [&](const auto& way) {
        return way.device == device.id && (way.direction == trace::direction::p2p) == peers;
      });
    };
    const bool several = tables_.devices.rows().size() > 1;
    const std::string peak = several ? "peak, " + place(device.id) : "peak";
    if (device.peer_peak > 0 && has(true))
      line("  {}: {} each way (NVLink, theoretical)", peak, format_rate(static_cast<double>(device.peer_peak)));
    if (device.link_peak == 0 || !has(false)) return;
    std::string about =
        fmt::format("{}: {} each way (link, theoretical)", peak, format_rate(static_cast<double>(device.link_peak)));
    if (device.attainable_h2d > 0 || device.attainable_d2h > 0) {
      about += fmt::format("; measured limit: {} to the device, {} from it",
                           rate_or_dash(static_cast<double>(device.attainable_h2d)),
                           rate_or_dash(static_cast<double>(device.attainable_d2h)));
    }
    line("  {}", about);
  }

  /// True if kernels were not recorded, so that the absence of kernels means nothing.
  bool kernels_left_out() const {
    return std::any_of(of_.processes.begin(), of_.processes.end(),
                       [](const auto& process) { return process.mode == trace::recording_mode::memory; });
  }

  void devices() {
    if (of_.whole.devices.empty()) return;
    section("Device activity");
    // The same time as in the verdict and the findings, so that shares can be compared.
    const trace::time_ns span = of_.verdict.time;
    for (const metrics::device_activity& device : of_.whole.devices) {
      const bool no_kernels = device.kernels == 0 && kernels_left_out();
      std::string busy = format_time(device.busy);
      if (device.busy <= span)
        busy = fmt::format("{} of the time after start-up ({} of {})", format_part(device.busy, span), busy,
                           format_time(span));
      line("  {}: {} {}", device_label(device.device, tables_),
           no_kernels ? "kernels not recorded; copies and memsets took" : "busy", busy);
      text_table table("lrrl");
      if (device.kernels > 0) {
        table.row({"kernels", format_count(device.kernels), format_time(device.kernel_busy),
                   format_part(device.kernel_busy, span)});
      }
      if (device.copy_busy > 0) {
        table.row({"copies", "", format_time(device.copy_busy), format_part(device.copy_busy, span)});
      }
      if (device.copy_busy > 0 && !no_kernels) {
        table.row({"  during kernels", "", format_time(device.overlap),
                   fmt::format("{} of the copies' time", format_part(device.overlap, device.copy_busy))});
        table.row({"  without a kernel: the GPU waited", "", format_time(device.copy_only),
                   format_part(device.copy_only, span)});
      }
      if (device.memsets > 0) {
        table.row({"memsets", format_count(device.memsets), format_time(device.memset_busy),
                   format_part(device.memset_busy, span)});
      }
      add(table, 4);
      for (const metrics::device_idle& each : of_.waste.idle_times)
        if (each.device == device.device) idle(each, span);
    }
  }

  /// Adds what the host did. Samples do not tell how much of it was one-time work, so their times have no share.
  void host_causes(const metrics::device_idle& device, text_table& table) {
    constexpr std::size_t shown = 6;
    for (std::size_t i = 0; i < std::min(device.host.size(), shown); ++i) {
      const metrics::host_cause_group& each = device.host[i];
      std::string words = fmt::format("    the host {}", metrics::describe_reason(each.cause));
      if (const std::string line = metrics::describe_line(each.cause, tables_); !line.empty()) words += ", at " + line;
      table.row({words, format_some(each.gaps, "gap"), format_time(each.total), ""});
    }
    trace::time_ns rest = 0;
    for (std::size_t i = shown; i < device.host.size(); ++i) rest += device.host[i].total;
    if (rest > 0) table.row({"    the host, all else", "", format_time(rest), ""});
  }

  void idle(const metrics::device_idle& device, trace::time_ns span) {
    text_table table("lrrr");
    if (device.collectives_alone > 0)
      table.row({"only collectives: communication not hidden", "", format_time(device.collectives_alone),
                 format_part(device.collectives_alone, span)});
    std::array<trace::time_ns, metrics::gap_cause_count> once{};
    for (const metrics::gap_group& each : of_.waste.gaps)
      if (each.device == device.device) once[static_cast<std::size_t>(each.cause)] += each.total - each.recurring;
    const trace::time_ns once_of_all = std::accumulate(once.begin(), once.end(), trace::time_ns{0});
    const trace::time_ns idle_time = device.idle() - once_of_all;
    if (idle_time > 0) table.row({"idle after start-up", "", format_time(idle_time), format_part(idle_time, span)});
    for (const metrics::cause_time& each : device.causes) {
      const trace::time_ns total = each.total - once[static_cast<std::size_t>(each.cause)];
      table.row({fmt::format("  {}", metrics::get_words(each.cause)), format_some(each.count, "gap"),
                 format_time(total), format_part(total, span)});
      if (each.cause == metrics::gap_cause::host) host_causes(device, table);
    }
    if (once_of_all > 0) table.row({"idle in one-time work, such as start-up", "", format_time(once_of_all), ""});
    add(table, 4);
    const metrics::launch_rate& launches = device.launches;
    if (launches.launches > 0)
      line("    launch-bound: {} launches at {} each against {} of GPU work; CUDA graphs would save up to {}",
           format_count(launches.launches), format_time(launches.period()), format_time(launches.work_per_launch()),
           format_time(launches.saved));
  }

  void names(std::string_view title, const std::vector<metrics::named_time>& named, std::size_t of_all) {
    if (named.empty()) return;
    const std::size_t shown = std::min(named.size(), names_shown);
    const std::size_t ranks = std::max<std::size_t>(of_.waste.ranks.size(), 1);
    std::string heading(title);
    if (ranks > 1) heading += fmt::format(", all {} ranks together", ranks);
    if (of_all > shown) heading += fmt::format(" (top {} of {})", shown, format_count(of_all));
    section(heading);
    text_table table("rrrrl");
    table.row({"total", ranks > 1 ? "of active time, mean" : "of active time", "count", "longest", ""});
    for (std::size_t i = 0; i < shown; ++i) {
      const metrics::named_time& n = named[i];
      table.row({format_time(n.total),
                 format_part(n.total, static_cast<trace::time_ns>(ranks) * of_.whole.active.length()),
                 format_count(n.count), format_time(n.longest), shortened(name_or(n.name, "(no name)"), name_columns)});
    }
    add(table, 2);
  }

  void threads() {
    if (of_.whole.threads.empty()) return;
    section("Host threads");
    text_table table("lrrrr");
    table.row({"", "API calls", "in calls", "waiting for device", "files"});
    for (std::size_t i = 0; i < std::min(of_.whole.threads.size(), names_shown); ++i) {
      const metrics::thread_statistics& t = of_.whole.threads[i];
      std::string label = index::thread_label(t.thread, tables_);
      if (of_.processes.size() > 1) label += " of " + index::process_label(t.process, tables_);
      table.row({label, format_count(t.calls), format_time(t.call_busy), format_time(t.wait_busy),
                 t.file_operations > 0 ? fmt::format("{} in {}", format_bytes(t.file_bytes), format_time(t.file_busy))
                                       : "-"});
    }
    add(table, 2);
    if (of_.whole.threads.size() > names_shown) line("  and {} more", of_.whole.threads.size() - names_shown);
  }

  // --- errors -------------------------------------------------------------------------------------------------------

  void unfreed() {
    if (of_.unfreed.empty()) return;
    section("Never freed");
    for (const metrics::unfreed_group& group : of_.unfreed) {
      line("  {}: {}, {}, {} in {}{}", describe_memory(group.layer, group.kind), format_some(group.count, "block"),
           format_bytes(group.bytes), group.process_ended ? "left" : "live",
           index::process_label(group.process, tables_),
           group.process_ended ? " when it ended" : ", which was still running at the end of the recording");
      text_table table("rlll");
      const std::size_t shown = std::min<std::size_t>(group.largest.size(), 5);
      for (std::size_t i = 0; i < shown; ++i) {
        const metrics::unfreed_block& block = group.largest[i];
        table.row({format_bytes(block.bytes), format_address(block.address),
                   "allocated at " + format_moment(block.born), shortened(name_or(block.name, ""), name_columns)});
      }
      if (group.count > shown) table.row({"...", fmt::format("{} more", format_count(group.count - shown)), "", ""});
      add(table, 4);
    }
  }

  void failures() {
    if (of_.failures.empty()) return;
    section("Failed allocations");
    text_table table("rlll");
    for (std::size_t i = 0; i < std::min(of_.failures.size(), names_shown); ++i) {
      const metrics::failed_allocation& f = of_.failures[i];
      table.row({format_bytes(f.bytes), format_moment(f.time), name_or(f.call, "(unknown call)"),
                 fmt::format("error {}", f.error)});
    }
    add(table, 2);
    if (of_.whole.failed_allocations > names_shown) line("  and {} more", of_.whole.failed_allocations - names_shown);
  }

  void retries() {
    const metrics::allocation_retries& allocation_retries = of_.retries;
    if (allocation_retries.count == 0) return;
    section("Retried allocations (failed, then succeeded)");
    text_table table("rlll");
    for (std::size_t i = 0; i < std::min(allocation_retries.first.size(), names_shown); ++i) {
      const metrics::allocation_retry& r = allocation_retries.first[i];
      table.row({format_bytes(r.bytes), format_moment(r.time), name_or(r.call, "(unknown call)"),
                 format_time(r.until - r.time) + " until it succeeded"});
    }
    add(table, 2);
    if (allocation_retries.count > names_shown) line("  and {} more", allocation_retries.count - names_shown);
    line("  {} in total", format_time(allocation_retries.total));
  }

  const report_subject& subject_;
  const report& of_;
  const trace::tables& tables_;
  const std::string& path_;
};

}  // namespace

std::string report_text(const report_subject& subject) { return text_writer(subject).all(); }

std::string findings_text(const report_subject& subject, metrics::finding_kind kind) {
  return text_writer(subject).findings_of(kind);
}

}  // namespace sluice::cli
