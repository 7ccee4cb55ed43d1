#include "app/cli/report/report_out_of_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/output/json_values.hpp"
#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/code_place.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using metrics::oom_line;
using metrics::oom_list;
using metrics::out_of_memory_report;

constexpr std::size_t place_columns = 72;

class failure_writer : private text_builder {
 public:
  failure_writer(const report_subject& subject, const out_of_memory_report& report) : subject_(subject), of_(report) {}

  std::string all() {
    const bool on_device = of_.metrics.device != trace::device_id::none;
    line("\nOut of memory at {}{}", format_moment(of_.metrics.time),
         on_device ? " on " + index::short_label(of_.metrics.device, subject_.tables) : "");
    line("  {}.", of_.shortage);
    text_table facts("ll");
    for (const auto& [label, said] : of_.facts) facts.row({label, said});
    add(facts, 2);
    changes();
    categories();
    lines("Memory at the failure, by line", of_.lines);
    if (!of_.modules.lines.empty()) modules();
    unused();
    if (!of_.grown.lines.empty()) lines("Growth since the same moment in the previous step", of_.grown);
    pins();
    others();
    return take();
  }

 private:
  void title(std::string_view words) { line("  {}", words); }

  void changes() {
    title(of_.verdict);
    std::size_t number = 0;
    for (const metrics::oom_change& each : of_.changes) {
      ++number;
      line("    {}. {}", number, each.text);
      line("       {}", each.advice);
      line("       Checked {}.", each.checked_by == metrics::remedy_check::layout
                                     ? "against the memory layout at that moment"
                                     : "by replaying the recorded requests");
    }
  }

  [[nodiscard]] std::string share(std::uint64_t bytes) const { return format_part(bytes, of_.metrics.used); }

  void categories() {
    if (of_.categories.lines.empty()) return;
    title("Memory at the failure, by category");
    text_table table("rrrl");
    for (const oom_line& each : of_.categories.lines)
      table.row({format_bytes(each.bytes), share(each.bytes), format_some(each.blocks, "block"),
                 std::string(index::category_name(each.category))});
    add(table, 4);
  }

  static std::string category(const oom_line& line) {
    return line.category == index::category::none ? std::string() : std::string(index::category_name(line.category));
  }

  static std::string place(const oom_line& line) {
    std::string text = metrics::to_text(line.place);
    if (text.empty()) return "no stack recorded";
    const std::string caller = symbols::get_place(line.place.caller);
    if (line.place.caller != line.place.line && !caller.empty()) text += ", called from " + caller;
    return shortened(text, place_columns);
  }

  void lines(std::string_view words, const oom_list& list) {
    if (list.lines.empty()) return;
    title(words);
    text_table table("rrrll");
    for (const oom_line& each : list.lines)
      table.row({format_bytes(each.bytes), share(each.bytes), format_some(each.blocks, "block"), category(each),
                 place(each)});
    rest(list, table);
    add(table, 4);
  }

  void rest(const oom_list& list, text_table& table) const {
    if (list.other_blocks > 0)
      table.row({format_bytes(list.other_bytes), share(list.other_bytes), format_some(list.other_blocks, "block"), "",
                 "others"});
  }

  void modules() {
    title("Memory at the failure, by module");
    text_table table("rrrl");
    for (const oom_line& each : of_.modules.lines)
      table.row({format_bytes(each.bytes), share(each.bytes), format_some(each.blocks, "block"), each.place.module});
    add(table, 4);
  }

  void unused() {
    if (!of_.metrics.uses_known) return;
    if (of_.unused.lines.empty()) return title("No longer used: no blocks, according to the recorded uses");
    title(fmt::format("No longer used: {} in {}", format_bytes(of_.unused.bytes),
                      format_some(of_.unused.blocks, "block")));
    text_table table("rrrlll");
    for (const oom_line& each : of_.unused.lines)
      table.row({format_bytes(each.bytes), share(each.bytes), format_some(each.blocks, "block"), category(each),
                 each.last_use == trace::unknown_time
                     ? "never used"
                     : "last used " + format_time(of_.metrics.time - each.last_use) + " earlier",
                 place(each)});
    add(table, 4);
  }

  void pins() {
    if (of_.pins.lines.empty()) return;
    title("Live blocks that pin partly free segments");
    text_table table("rlrrl");
    for (const oom_line& each : of_.pins.lines)
      table.row({format_bytes(each.pinned_bytes), "free next to", format_bytes(each.bytes),
                 format_some(each.blocks, "block"), place(each)});
    add(table, 4);
  }

  void others() {
    const auto& failures = subject_.report.failures;
    std::uint64_t more = 0;
    for (const metrics::failed_allocation& each : failures) more += each.event != of_.metrics.event ? 1 : 0;
    if (more > 0) title(fmt::format("{} also failed: see \"Failed allocations\"", format_some(more, "allocation")));
  }

  const report_subject& subject_;
  const out_of_memory_report& of_;
};

std::string_view get_word(metrics::remedy remedy) {
  constexpr auto words = std::to_array<std::string_view>(
      {"free_unused", "expandable_segments", "move_idle_state", "checkpoint", "smaller_batch"});
  static_assert(words.size() == metrics::remedy_count);
  return words[static_cast<std::size_t>(remedy)];
}

json make_json(const oom_list& list, bool by_module = false) {
  const auto line = [&](const oom_line& each) -> json {
    return {{"where", by_module ? json{{"module", each.place.module}} : place_or_null(each.place)},
            {"category", category_or_null(each.category)},
            {"blocks", each.blocks},
            {"bytes", each.bytes},
            {"pinned_bytes", each.pinned_bytes},
            {"largest_block", id_or_null(each.largest)},
            {"largest_bytes", each.largest_bytes},
            {"last_use_ns", time_or_null(each.last_use)}};
  };
  return {{"blocks", list.blocks},
          {"bytes", list.bytes},
          {"lines", list_json(list.lines, line)},
          {"other_blocks", list.other_blocks},
          {"other_bytes", list.other_bytes}};
}

json make_json(const metrics::oom_change& change) {
  const bool replayed = change.checked_by == metrics::remedy_check::replay;
  return {{"kind", get_word(change.kind)},
          {"text", change.text},
          {"advice", change.advice},
          {"checked_by", replayed ? "replay" : "layout"},
          {"freed_bytes", change.freed},
          {"reserved_bytes", value_or_null(replayed, change.reserved)},
          {"where", place_or_null(change.where)},
          {"block", id_or_null(change.block)}};
}

json limit_json(metrics::memory_limit limit) {
  if (limit == metrics::memory_limit::unknown) return nullptr;
  return limit == metrics::memory_limit::device ? "device" : "framework";
}

}  // namespace

std::string out_of_memory_text(const report_subject& subject) {
  std::string text;
  for (const out_of_memory_report& each : subject.report.out_of_memory) text += failure_writer(subject, each).all();
  return text;
}

json out_of_memory_json(const report_subject& subject) {
  if (subject.report.out_of_memory.empty()) return nullptr;
  const out_of_memory_report& report = subject.report.out_of_memory.front();
  const metrics::out_of_memory& metrics = report.metrics;
  return {{"event", id_or_null(metrics.event)},
          {"time_ns", metrics.time},
          {"process", id_or_null(metrics.process)},
          {"device", id_or_null(metrics.device)},
          {"layer", get_name(metrics.layer)},
          {"kind", get_name(metrics.kind)},
          {"call", std::string(subject.tables.text(metrics.call))},
          {"where", place_or_null(report.where)},
          {"asked_bytes", metrics.asked},
          {"needed_bytes", metrics.needed},
          {"missing_bytes", metrics.missing},
          {"releasable_bytes", metrics.releasable},
          {"short_by_bytes", get_shortage(metrics)},
          {"shortage", report.shortage},
          {"limit", limit_json(metrics.limit)},
          {"limit_from_bytes", count_or_null(metrics.limit_from)},
          {"limit_to_bytes", count_or_null(metrics.limit_to)},
          {"device_bytes", count_or_null(metrics.device_bytes)},
          {"device_free_bytes", value_or_null(metrics.device_free_known, metrics.device_free)},
          {"others_bytes", count_or_null(metrics.others)},
          {"used_bytes", metrics.used},
          {"reserved_bytes", metrics.reserved},
          {"segments", metrics.segments},
          {"largest_hole_bytes", metrics.largest_hole},
          {"seen_from_ns", time_or_null(metrics.seen_from)},
          {"categories", make_json(report.categories)},
          {"lines", make_json(report.lines)},
          {"modules", make_json(report.modules, true)},
          {"unused", metrics.uses_known ? make_json(report.unused) : json(nullptr)},
          {"grown", metrics.compared == trace::unknown_time ? json(nullptr) : make_json(report.grown)},
          {"compared_ns", time_or_null(metrics.compared)},
          {"pins", make_json(report.pins)},
          {"verdict", report.verdict},
          {"only_together", metrics.only_together},
          {"changes", list_json(report.changes, [](const auto& each) { return make_json(each); })}};
}

}  // namespace sluice::cli
