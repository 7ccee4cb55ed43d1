#include "app/cli/report/report_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/cli/output/json_values.hpp"
#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/index/labels.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using metrics::report;

constexpr std::size_t columns_of_name = 60;
constexpr std::size_t groups_shown = 6;
constexpr std::size_t steps_shown = 12;

/// The source of steps in words, indexed by `step_source`: for JSON and for the text report.
struct source_words {
  std::string_view json;
  std::string_view text;
};
const source_words& get_words(index::step_source source) {
  static constexpr source_words words[] = {
      {"none", ""},
      {"marks", "marked by the program"},
      {"profiler_ranges", "from torch.profiler"},
      {"named_ranges", "from the program's ranges"},
      {"pattern", "inferred from repeated work"},
  };
  static_assert(std::size(words) == static_cast<std::size_t>(index::step_source::pattern) + 1);
  return words[static_cast<std::size_t>(source) % std::size(words)];
}

class training_writer : private text_builder {
 public:
  explicit training_writer(const report_subject& subject) : of_(subject.report), tables_(subject.tables) {}

  std::string all() {
    compositions();
    for (const metrics::step_summary& steps : of_.steps) one_process(steps);
    unused();
    return take();
  }

 private:
  std::string place(trace::device_id device, trace::layer layer, trace::memory_kind kind) const {
    return fmt::format("{}, {}", index::short_label(device, tables_), describe_memory(layer, kind));
  }

  /// The share of the segments of the layer below that the bytes of `peak` occupy.
  std::string format_segments(const metrics::peak_composition& peak) const {
    for (const metrics::fragmentation_metric& f : of_.fragmentation)
      if (f.device == peak.device && f.layer == peak.layer && f.time == peak.time)
        return fmt::format(", {} of the {} in {}", format_part(peak.bytes, f.segment_bytes),
                           format_bytes(f.segment_bytes), format_some(f.segments, "segment"));
    return {};
  }

  void compositions() {
    const bool any = std::any_of(of_.compositions.begin(), of_.compositions.end(),
                                 [](const auto& peak) { return peak.shares.size() > 1 || peak.get_bytes({}) == 0; });
    if (!any) return;
    const bool inferred =
        std::any_of(of_.compositions.begin(), of_.compositions.end(), [](const auto& peak) { return peak.inferred(); });
    line("\nMemory at peak, by category{}", inferred ? " (inferred, unless the program named them)" : "");
    for (const metrics::peak_composition& peak : of_.compositions) {
      line("  {}: {} at {}{}", place(peak.device, peak.layer, peak.kind), format_bytes(peak.bytes),
           format_moment(peak.time), format_segments(peak));
      text_table table("rrrll");
      for (const metrics::category_share& share : peak.shares) {
        table.row({format_bytes(share.bytes), format_part(share.bytes, peak.bytes), format_some(share.blocks, "block"),
                   std::string(index::category_name(share.category)),
                   share.exact_bytes == 0 ? ""
                   : share.exact_bytes == share.bytes
                       ? "named by the program"
                       : fmt::format("{} named by the program", format_bytes(share.exact_bytes))});
      }
      add(table, 4);
    }
  }

  void one_process(const metrics::step_summary& step_summary) {
    line("\nSteps ({})", get_words(step_summary.source).text);
    std::string who = of_.processes.size() > 1 ? index::process_label(step_summary.process, tables_) + ": " : "";
    line("  {}{}, {} each (median); memory of {}", who, format_some(step_summary.count, "step"),
         format_time(step_summary.median_duration), place(step_summary.device, step_summary.layer, step_summary.kind));
    text_table table("rlrrrrrrrl");
    table.row(
        {"step", "from", "duration", "peak", "at start", "allocated", "allocations", "to device", "from device", ""});
    bool gap = false;
    for (std::size_t i = 0; i < step_summary.steps.size(); ++i) {
      const bool shown = step_summary.steps.size() <= steps_shown || i < 5 || i + 5 >= step_summary.steps.size() ||
                         i == step_summary.highest;
      if (!shown) {
        if (!gap) table.row({"..."});
        gap = true;
        continue;
      }
      gap = false;
      const metrics::step_metrics& step = step_summary.steps[i];
      table.row({fmt::format("{}", step.number), format_moment(step.span.begin), format_time(step.span.length()),
                 format_bytes(step.peak), format_bytes(step.at_begin), format_bytes(step.allocated_bytes),
                 format_count(step.allocations), format_bytes(step.h2d_bytes), format_bytes(step.d2h_bytes),
                 i == step_summary.highest && stands_out(step_summary) ? "highest" : ""});
    }
    add(table, 4);
    if (step_summary.keeps_growing)
      line("  Memory in use at the start of a step grows by {} per step.", format_bytes(step_summary.growth));
  }

  static bool stands_out(const metrics::step_summary& step_summary) {
    return std::any_of(step_summary.steps.begin(), step_summary.steps.end(),
                       [&](const auto& step) { return step.peak < step_summary.steps[step_summary.highest].peak; });
  }

  std::string origin(const metrics::unused_group& group) const {
    if (group.stack != trace::stack_id::none) {
      const std::string place = symbols::get_place(group.line);
      const std::string called = symbols::get_name(group.line);
      return shortened(place.empty() || place == called ? called : fmt::format("{}, {}", place, called),
                       columns_of_name);
    }
    const std::string_view name = tables_.text(group.name);
    return shortened(name.empty() ? "no name" : readable_name(name), columns_of_name);
  }

  void unused() {
    bool titled = false;
    for (const metrics::unused_memory& memory : of_.unused) {
      if (memory.bytes_at_peak == 0 && memory.mean_bytes < 1024 * 1024 && memory.never_touched == 0) continue;
      if (!titled) line("\nIdle since last use");
      titled = true;
      line("  {}: {} at the peak ({}), {} on average", place(memory.device, memory.layer, memory.kind),
           format_bytes(memory.bytes_at_peak), format_part(memory.bytes_at_peak, memory.peak_bytes),
           format_bytes(memory.mean_bytes));
      text_table table("rrrrll");
      if (!memory.groups.empty()) table.row({"at the peak", "on average", "blocks", "longest", "", ""});
      for (std::size_t i = 0; i < std::min(memory.groups.size(), groups_shown); ++i) {
        const metrics::unused_group& group = memory.groups[i];
        table.row({format_bytes(group.bytes_at_peak), format_bytes(group.mean_bytes), format_count(group.blocks),
                   format_time(group.longest),
                   group.category == index::category::none ? "" : std::string(index::category_name(group.category)),
                   origin(group)});
      }
      add(table, 4);
      if (memory.never_touched > 0)
        line("    never used by a launch or copy: {}, {}", format_some(memory.never_touched, "block"),
             format_bytes(memory.never_touched_bytes));
    }
    if (titled)
      line(
          "  A use is a copy, or a kernel with the block in its arguments; addresses that a kernel loads from memory "
          "are not seen.");
  }

  const report& of_;
  const trace::tables& tables_;
};

json of_steps(const metrics::step_summary& step_summary, const trace::tables& tables) {
  return {{"process", id_or_null(step_summary.process)},
          {"source", get_words(step_summary.source).json},
          {"inferred", step_summary.source == index::step_source::pattern},
          {"device", id_or_null(step_summary.device)},
          {"layer", get_name(step_summary.layer)},
          {"kind", get_name(step_summary.kind)},
          {"count", step_summary.count},
          {"median_ns", step_summary.median_duration},
          {"growth_bytes", step_summary.growth},
          {"keeps_growing", step_summary.keeps_growing},
          {"each", to_json(step_summary.steps, tables)}};
}

json of_group(const metrics::unused_group& group, const trace::tables& tables) {
  return {{"name", std::string(tables.text(group.name))},
          {"stack", id_or_null(group.stack)},
          {"line", value_or_null(group.stack != trace::stack_id::none, symbols::to_text(group.line))},
          {"category", category_or_null(group.category)},
          {"blocks", group.blocks},
          {"bytes", group.bytes},
          {"at_maximum_bytes", group.bytes_at_peak},
          {"mean_bytes", group.mean_bytes},
          {"longest_ns", group.longest},
          {"longest_block", id_or_null(group.longest_block)}};
}

json of_unused(const metrics::unused_memory& memory, const trace::tables& tables) {
  return {{"device", id_or_null(memory.device)},
          {"layer", get_name(memory.layer)},
          {"kind", get_name(memory.kind)},
          {"maximum_time_ns", memory.peak_time},
          {"at_maximum_bytes", memory.bytes_at_peak},
          {"mean_bytes", memory.mean_bytes},
          {"never_touched", memory.never_touched},
          {"never_touched_bytes", memory.never_touched_bytes},
          {"other_bytes", memory.other_bytes_at_peak},
          {"groups", list_json(memory.groups, [&](const auto& group) { return of_group(group, tables); })}};
}

}  // namespace

std::string training_text(const report_subject& subject) { return training_writer(subject).all(); }

void put_training(const report_subject& subject, json& into) {
  const auto list = [&](const auto& items, auto to_value) {
    return list_json(items, [&](const auto& each) { return to_value(each, subject.tables); });
  };
  into["peak_composition"] = to_json(subject.report.compositions, subject.tables);
  into["steps"] = list(subject.report.steps, of_steps);
  into["unused"] = list(subject.report.unused, of_unused);
}

}  // namespace sluice::cli
