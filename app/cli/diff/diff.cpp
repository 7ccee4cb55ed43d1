// sluice diff: compares two recordings, or two ranges of one.
#include "core/metrics/comparison/diff.hpp"
#include "core/base/signed_text.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/diff/diff.hpp"
#include "app/cli/metrics/metrics_of_recording.hpp"
#include "app/cli/options/range_option.hpp"
#include "app/cli/options/recording_file.hpp"
#include "app/cli/options/verbs.hpp"
#include "app/cli/options/word_option.hpp"
#include "app/cli/output/json_output.hpp"
#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "core/metrics/verdict/setting_changes.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using metrics::stack_change;

constexpr std::size_t widest_name = 72;  ///< Limit for the names of kernels in the text output.
constexpr std::size_t max_lines = 12;    ///< Limit for each list in the text output. JSON contains all entries.

/// "GPU 3", or "GPU 3 -> GPU 1" if the later recording uses another device.
std::string device_name(metrics::matched_device device) {
  const auto name = [](std::int64_t ordinal) { return ordinal < 0 ? "host" : "GPU " + std::to_string(ordinal); };
  return name(device.before) + (device.before == device.after ? "" : " -> " + name(device.after));
}

json to_number(std::int64_t ordinal) { return value_or_null(ordinal >= 0, ordinal); }

std::string make_change(double before, double after) {
  if (before == after) return "same";
  return with_sign(after - before, format_bytes(after < before ? before - after : after - before)) +
         metrics::percent_of_change(before, after);
}

std::string format_site(const stack_change& change) {
  if (change.stack.empty()) return "no stack recorded";
  const std::string place = symbols::get_place(change.line);
  const std::string name = symbols::get_name(change.line);
  return place.empty() ? name : place + ", " + name;
}

std::string listing(const std::vector<stack_change>& changes, std::string_view noun,
                    bool (*wanted)(const stack_change&)) {
  text_table table("rrrl");
  std::size_t shown = 0;
  std::size_t more = 0;
  for (const stack_change& change : changes) {
    if (!wanted(change)) continue;
    if (shown == max_lines) {
      ++more;
      continue;
    }
    ++shown;
    table.row({make_change(static_cast<double>(change.before.bytes), static_cast<double>(change.after.bytes)),
               format_bytes(change.before.bytes) + " -> " + format_bytes(change.after.bytes),
               format_count(change.before.count) + " -> " + format_some(change.after.count, noun),
               format_site(change)});
  }
  std::string text = table.empty() ? "" : table.text(4);
  if (more > 0) text += fmt::format("    and {} more\n", more);
  return text;
}

bool differs(const stack_change& c) { return c.before.bytes != c.after.bytes || c.before.count != c.after.count; }
bool appeared(const stack_change& c) { return c.appeared(); }
bool vanished(const stack_change& c) { return c.vanished(); }

/// The idle time of each device in one line, and then its causes that changed.
void list_idle(const std::vector<metrics::idle_change>& devices, text_builder& to) {
  to.line("\nIdle time");
  if (devices.empty()) to.line("  none");
  for (const metrics::idle_change& each : devices)
    to.line("  {}: {}", device_name(each.device), metrics::describe_idle_change(each));
  for (const metrics::idle_change& each : devices) {
    const auto changed = static_cast<std::size_t>(
        std::count_if(each.causes.begin(), each.causes.end(), [](const auto& c) { return c.change() != 0; }));
    if (changed == 0) continue;
    text_table table("rrll");
    for (std::size_t i = 0; i < std::min(changed, max_lines); ++i) {
      const metrics::idle_cause_change& c = each.causes[i];
      table.row({metrics::format_time_change(c.before, c.after), format_time(c.before) + " -> " + format_time(c.after),
                 std::string(metrics::describe_trend(c)), metrics::describe_cause_and_line(c)});
    }
    to.line("\n{}: changed causes of idle time", device_name(each.device));
    to.add(table, 4);
    if (changed > max_lines) to.line("    and {} more", changed - max_lines);
  }
}

/// Both reports, and what they say about the change.
struct compared_reports {
  metrics::report before, after;
  metrics::run_change run;
  metrics::changed_values values;
  std::vector<metrics::setting_change> settings;
};

/// Rows of values that differ, at most `max_lines`.
void list_values(std::string_view title, const std::vector<metrics::changed_value>& values, text_builder& to) {
  text_table table("lrrrl");
  std::size_t more = 0;
  for (const metrics::changed_value& each : values) {
    if (!each.differs()) continue;
    if (table.rows() == max_lines) {
      ++more;
      continue;
    }
    table.row({shortened(each.what, widest_name), format_value(each.unit, each.before),
               format_value(each.unit, each.after), format_difference(each), each.where});
  }
  if (table.empty()) return;
  to.line("\n{}", title);
  to.add(table, 2);
  if (more > 0) to.line("  and {} more", more);
}

void list_findings(const compared_reports& of, text_builder& to) {
  text_table table("lll");
  const auto add = [&](const char* word, const metrics::finding& each) {
    table.row({word, metrics::get_title(each), metrics::describe_place(each.where)});
  };
  for (const std::size_t each : of.run.gone) add("gone", of.before.findings[each]);
  for (const std::size_t each : of.run.fresh) add("new", of.after.findings[each]);
  for (const auto& [before, after] : of.run.kept) add("both", of.after.findings[after]);
  if (table.empty()) return;
  to.line("\nFindings");
  to.add(table, 2);
}

void list_change(const compared_reports& of, text_builder& to) {
  const std::string unit = of.run.by_step ? " (times of a step)" : "";
  list_values("What changed" + unit, of.values.main, to);
  list_findings(of, to);
  to.line("\nWhat else differs");
  for (const metrics::setting_change& each : of.settings) to.line("  {}", describe(each));
  list_values("Steps", of.values.steps, to);
  list_values("Kernels" + unit, of.values.kernels, to);
  list_values("Copies" + unit, of.values.copies, to);
}

std::string to_text(const metrics::difference& found, const compared_reports& reports, const std::string& before,
                    const std::string& after) {
  text_builder text;
  text.line("{}", reports.run.headline);
  text.line("{}", describe_parts(reports.run));
  text.line("before: {}", before);
  text.line("after:  {}", after);
  list_change(reports, text);
  text_table peaks("lrrr");
  for (const auto& m : found.memory) {
    peaks.row({fmt::format("{}, {}", device_name(m.device), describe_memory(m.layer, m.kind)),
               format_bytes(m.before.maximum), format_bytes(m.after.maximum),
               make_change(static_cast<double>(m.before.maximum), static_cast<double>(m.after.maximum))});
  }
  const auto table = [&](std::string_view title, const text_table& rows) {
    text.line("\n{}", title);
    text.add(rows, 2);
    if (rows.empty()) text.line("  none");
  };
  const auto section = [&](const std::string& title, const char* subject, const std::string& lines) {
    if (lines.empty()) return;
    text.line("\n{}: {}", title, subject);
    text.add(lines);
  };
  table("Memory, peaks", peaks);
  for (const auto& m : found.memory) {
    const std::string title = fmt::format("{}, {}", device_name(m.device), describe_memory(m.layer, m.kind));
    section(title, "lines with changed memory at the peak", listing(m.at_peak, "block", differs));
    section(title, "new lines that allocate", listing(m.allocated, "block", appeared));
    section(title, "lines that no longer allocate", listing(m.allocated, "block", vanished));
  }
  text_table moved("lrrrr");
  for (const auto& t : found.transfers) {
    moved.row({fmt::format("{}, {}", device_name(t.device), get_name(t.direction)), format_bytes(t.before.bytes),
               format_bytes(t.after.bytes), make_change(t.before.bytes, t.after.bytes),
               format_count(t.before.count) + " -> " + format_some(t.after.count, "copy")});
  }
  table("Transfers", moved);
  for (const auto& t : found.transfers)
    section(fmt::format("{}, {}", device_name(t.device), get_name(t.direction)), "lines with changed copy volume",
            listing(t.sites, "copy", differs));
  list_idle(found.idle, text);
  return text.take();
}

json compute_metrics(const metrics::stack_metrics& f) {
  return {{"bytes", f.bytes}, {"count", f.count}, {"busy_ns", f.busy}};
}

json list_stacks(const std::vector<stack_change>& changes) {
  return list_json(changes, [](const stack_change& change) -> json {
    return {{"site", format_site(change)},
            {"before", compute_metrics(change.before)},
            {"after", compute_metrics(change.after)},
            {"stack", list_json(change.stack, [](const auto& line) { return symbols::to_text(line); })}};
  });
}

json make_json(const metrics::idle_cause_change& change) {
  return {{"cause", metrics::get_word(change.cause)},
          {"reason", change.reason ? json(metrics::get_name(*change.reason)) : json(nullptr)},
          {"library", text_or_null(change.library)},
          {"line", text_or_null(metrics::describe_line(change.line))},
          {"words", metrics::describe_cause(change)},
          {"trend", metrics::describe_trend(change)},
          {"before_ns", change.before},
          {"after_ns", change.after}};
}

/// A change that concerns a device: the device, `about`, and the metrics of both sides.
template <class Change, class Metrics>
json change_json(const Change& change, const json& about, Metrics metrics) {
  json object{{"device", to_number(change.device.before)}, {"device_after", to_number(change.device.after)}};
  object.update(about);
  object["before"] = metrics(change.before);
  object["after"] = metrics(change.after);
  return object;
}

json make_json(const metrics::idle_change& change) {
  json object = change_json(change, {{"summary", metrics::describe_idle_change(change)}},
                            [](const metrics::device_idle& f) -> json {
                              return {{"span_ns", f.span.length()}, {"busy_ns", f.busy}, {"idle_ns", f.idle()}};
                            });
  object["causes"] = list_json(change.causes, [](const auto& each) { return make_json(each); });
  return object;
}

json make_json(const metrics::memory_change& change) {
  json object = change_json(change, {{"layer", get_name(change.layer)}, {"kind", get_name(change.kind)}},
                            [](const metrics::memory_statistics& f) -> json {
                              return {{"peak_bytes", f.maximum},      {"peak_ns", f.maximum_time},
                                      {"mean_bytes", f.mean},         {"at_end_bytes", f.at_end},
                                      {"allocations", f.allocations}, {"allocated_bytes", f.allocated_bytes}};
                            });
  object["at_peak"] = list_stacks(change.at_peak);
  object["allocated"] = list_stacks(change.allocated);
  return object;
}

json make_json(const metrics::transfer_change& change) {
  json object = change_json(
      change, {{"direction", get_name(change.direction)}}, [](const metrics::transfer_statistics& f) -> json {
        return {{"bytes", f.bytes}, {"count", f.count}, {"busy_ns", f.busy}, {"mean_bandwidth", f.mean_bandwidth}};
      });
  object["sites"] = list_stacks(change.sites);
  return object;
}

json make_json(const metrics::changed_value& value) {
  const auto number = [](const std::optional<double>& side) -> json {
    return side ? json(static_cast<std::int64_t>(std::clamp(*side, -9.2e18, 9.2e18))) : json(nullptr);
  };
  return {{"what", value.what},
          {"where", text_or_null(value.where)},
          {"unit", value.unit == metrics::compared_unit::bytes ? "bytes" : "ns"},
          {"before", number(value.before)},
          {"after", number(value.after)},
          {"trend", get_word(value.trend())}};
}

json make_json(const metrics::setting_change& setting) {
  return {{"what", setting.what},
          {"before", text_or_null(setting.before)},
          {"after", text_or_null(setting.after)},
          {"differs", setting.differs}};
}

/// Findings by their title, in the words of `sluice report`.
json list_titles(const std::vector<std::size_t>& which, const std::vector<metrics::finding>& findings) {
  return list_json(which, [&](std::size_t each) { return metrics::get_title(findings[each]); });
}

json make_json(const metrics::run_change& run) {
  const auto pair = [](bool known, time_ns before, time_ns after) -> json {
    if (!known) return nullptr;
    return {{"before", before}, {"after", after}};
  };
  return {{"headline", run.headline},
          {"text", describe_parts(run)},
          {"same_command", run.same_command},
          {"by_step", run.by_step},
          {"time_ns", pair(run.time_before > 0 && run.time_after > 0, run.time_before, run.time_after)},
          {"idle_ns", pair(run.idle_known, run.idle_before, run.idle_after)},
          {"findings_gone", run.gone},
          {"findings_new", run.fresh}};
}

json make_json(const metrics::difference& found, const compared_reports& reports, const std::string& before,
               const std::string& after) {
  const metrics::run_change& run = reports.run;
  json kept =
      list_json(run.kept, [&](const auto& each) { return metrics::get_title(reports.after.findings[each.second]); });
  const auto list = [](const auto& changes) {
    return list_json(changes, [](const auto& each) { return make_json(each); });
  };
  return {{"schema", 1},
          {"before", before},
          {"after", after},
          {"verdict", make_json(run)},
          {"changed", list(reports.values.main)},
          {"findings",
           {{"gone", list_titles(run.gone, reports.before.findings)},
            {"new", list_titles(run.fresh, reports.after.findings)},
            {"both", std::move(kept)}}},
          {"settings", list(reports.settings)},
          {"steps", list(reports.values.steps)},
          {"kernels", list(reports.values.kernels)},
          {"copies", list(reports.values.copies)},
          {"memory", list(found.memory)},
          {"transfers", list(found.transfers)},
          {"idle", list(found.idle)}};
}

result<std::optional<time_range>> get_range(const std::string& text, const metrics_of_recording& recording) {
  if (text.empty()) return std::optional<time_range>();
  const auto parsed = parse_range(text, index::recorded_range(recording.snapshot()));
  if (!parsed) return tl::unexpected(parsed.error());
  return std::optional(*parsed);
}

}  // namespace

result<std::string> difference_text(const diff_wanted& wanted) {
  if (wanted.files.size() > 2)
    return fail(error_code::invalid_argument, "only two recordings can be compared", wanted.files[2]);
  if (wanted.files.size() == 1 && wanted.against.empty()) {
    return fail(error_code::invalid_argument, "nothing to compare with: only one recording was given", wanted.files[0],
                "name a second recording, or two ranges with --range and --against");
  }
  const std::string& text_after = wanted.against.empty() ? wanted.range : wanted.against;
  auto first = metrics_of_recording::open(wanted.files[0], &wanted.sources_from);
  if (!first) return tl::unexpected(first.error());
  std::optional<metrics_of_recording> second;
  if (wanted.files.size() == 2) {
    auto opened = metrics_of_recording::open(wanted.files[1], &wanted.sources_from);
    if (!opened) return tl::unexpected(opened.error());
    second.emplace(*std::move(opened));
  }
  metrics_of_recording& other = second ? *second : *first;
  const auto before = get_range(wanted.range, *first);
  if (!before) return tl::unexpected(before.error());
  const auto after = get_range(text_after, other);
  if (!after) return tl::unexpected(after.error());
  symbols::frame_cache names_after(symbols::options_for(other.snapshot()));
  const auto metrics_before = first->compared(*before);
  if (!metrics_before) return tl::unexpected(metrics_before.error());
  const auto metrics_after = other.compared(*after);
  if (!metrics_after) return tl::unexpected(metrics_after.error());
  const auto report_before = first->report(*before);
  if (!report_before) return tl::unexpected(report_before.error());
  const auto report_after = other.report(*after);
  if (!report_after) return tl::unexpected(report_after.error());
  compared_reports reports{*report_before, *report_after, metrics::compare_runs(*report_before, *report_after), {}, {}};
  const metrics::named_report side_before{reports.before, first->tables()}, side_after{reports.after, other.tables()};
  reports.values = list_changed_values(side_before, side_after, reports.run);
  reports.settings = list_setting_changes(side_before, side_after);
  const auto devices = second ? metrics::device_match::by_role : metrics::device_match::by_ordinal;
  const auto found = metrics::compare({*metrics_before, first->tables()}, first->names(),
                                      {*metrics_after, other.tables()}, names_after, devices);
  const auto title = [](const metrics_of_recording& recording, const std::optional<time_range>& range) {
    if (!range) return recording.path();
    return fmt::format("{}, {} to {}", recording.path(), format_moment(range->begin), format_moment(range->end));
  };
  const std::string name_before = title(*first, *before);
  const std::string name_after = title(other, *after);
  return wanted.json ? json_document(make_json(found, reports, name_before, name_after))
                     : to_text(found, reports, name_before, name_after);
}

namespace {

int print(const diff_wanted& wanted) {
  const auto text = difference_text(wanted);
  if (!text) return complain_of(text.error());
  return print_output(*text, wanted.json, "differences") ? 0 : status_failed;
}

}  // namespace

action declare_diff(CLI::App& command) {
  struct options : diff_wanted {
    std::string format = "text";
  };
  auto wanted = std::make_shared<options>();
  command.add_option("FILE", wanted->files, "The recordings before and after, or one recording with two ranges")
      ->required()
      ->type_name("...");
  command.add_option("--range", wanted->range, range_help)->type_name("FROM:TO");
  command.add_option("--against", wanted->against, "Second range, to compare with the first")->type_name("FROM:TO");
  add_sources_option(command, wanted->sources_from);
  choose(command.add_option("--format", wanted->format, "Output format"), "text|json")->capture_default_str();
  return [wanted] {
    wanted->json = wanted->format == "json";
    return print(*wanted);
  };
}

}  // namespace sluice::cli
