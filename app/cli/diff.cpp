// sluice diff: compares two recordings, or two ranges of one.
#include "core/metrics/diff.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/diff.hpp"
#include "app/cli/metrics/metrics_of_recording.hpp"
#include "app/cli/range_option.hpp"
#include "app/cli/recording_file.hpp"
#include "app/cli/text_table.hpp"
#include "app/cli/verbs.hpp"
#include "core/base/format.hpp"
#include "core/metrics/host_causes/describe.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::cli {
namespace {

using metrics::stack_change;
using json = nlohmann::ordered_json;

constexpr std::size_t max_lines = 12;  ///< Limit for each list in the text output. JSON contains all entries.

/// "GPU 3", or "GPU 3 -> GPU 1" if the later recording uses another device.
std::string device_name(metrics::matched_device device) {
  const auto name = [](std::int64_t ordinal) { return ordinal < 0 ? "host" : "GPU " + std::to_string(ordinal); };
  return name(device.before) + (device.before == device.after ? "" : " -> " + name(device.after));
}

json to_number(std::int64_t ordinal) { return ordinal < 0 ? json(nullptr) : json(ordinal); }

std::string make_change(double before, double after) {
  if (before == after) return "same";
  return (after < before ? "-" : "+") + format_bytes(after < before ? before - after : after - before) +
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
std::string list_idle(const std::vector<metrics::idle_change>& devices) {
  std::string text = "\nIdle time\n";
  if (devices.empty()) text += "  none\n";
  for (const metrics::idle_change& each : devices)
    text += fmt::format("  {}: {}\n", device_name(each.device), metrics::describe_idle_change(each));
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
    text += fmt::format("\n{}: changed causes of idle time\n{}", device_name(each.device), table.text(4));
    if (changed > max_lines) text += fmt::format("    and {} more\n", changed - max_lines);
  }
  return text;
}

std::string to_text(const metrics::difference& found, const std::string& before, const std::string& after) {
  std::string text = fmt::format("before: {}\nafter:  {}\n", before, after);
  text += "\nMemory, peaks\n";
  text_table peaks("lrrr");
  for (const auto& m : found.memory) {
    peaks.row({fmt::format("{}, {}: {}", device_name(m.device), get_name(m.layer), get_name(m.kind)),
               format_bytes(m.before.maximum), format_bytes(m.after.maximum),
               make_change(static_cast<double>(m.before.maximum), static_cast<double>(m.after.maximum))});
  }
  text += peaks.empty() ? "  none\n" : peaks.text(2);
  const auto section = [&](const metrics::memory_change& m, const char* subject, const std::string& lines) {
    if (!lines.empty())
      text += fmt::format("\n{}, {}: {}: {}\n{}", device_name(m.device), get_name(m.layer), get_name(m.kind), subject,
                          lines);
  };
  for (const auto& m : found.memory) {
    section(m, "lines with changed memory at the peak", listing(m.at_peak, "block", differs));
    section(m, "new lines that allocate", listing(m.allocated, "block", appeared));
    section(m, "lines that no longer allocate", listing(m.allocated, "block", vanished));
  }
  text += "\nTransfers\n";
  text_table moved("lrrrr");
  for (const auto& t : found.transfers) {
    moved.row({fmt::format("{}, {}", device_name(t.device), get_name(t.direction)), format_bytes(t.before.bytes),
               format_bytes(t.after.bytes), make_change(t.before.bytes, t.after.bytes),
               format_count(t.before.count) + " -> " + format_some(t.after.count, "copy")});
  }
  text += moved.empty() ? "  none\n" : moved.text(2);
  for (const auto& t : found.transfers) {
    const std::string lines = listing(t.sites, "copy", differs);
    if (!lines.empty())
      text += fmt::format("\n{}, {}: lines with changed copy volume\n{}", device_name(t.device), get_name(t.direction),
                          lines);
  }
  return text + list_idle(found.idle);
}

json compute_metrics(const metrics::stack_metrics& f) {
  return {{"bytes", f.bytes}, {"count", f.count}, {"busy_ns", f.busy}};
}

json list_stacks(const std::vector<stack_change>& changes) {
  json array = json::array();
  for (const stack_change& change : changes) {
    json stack = json::array();
    for (const auto& line : change.stack) stack.push_back(symbols::to_text(line));
    array.push_back({{"site", format_site(change)},
                     {"before", compute_metrics(change.before)},
                     {"after", compute_metrics(change.after)},
                     {"stack", std::move(stack)}});
  }
  return array;
}

json list_idle_causes(const std::vector<metrics::idle_cause_change>& causes) {
  json array = json::array();
  for (const metrics::idle_cause_change& each : causes) {
    const std::string line = metrics::describe_line(each.line);
    array.push_back({{"cause", metrics::get_word(each.cause)},
                     {"reason", each.reason ? json(metrics::get_name(*each.reason)) : json(nullptr)},
                     {"library", each.library.empty() ? json(nullptr) : json(each.library)},
                     {"line", line.empty() ? json(nullptr) : json(line)},
                     {"words", metrics::describe_cause(each)},
                     {"trend", metrics::describe_trend(each)},
                     {"before_ns", each.before},
                     {"after_ns", each.after}});
  }
  return array;
}

json idle_json(const std::vector<metrics::idle_change>& devices) {
  const auto metrics = [](const metrics::device_idle& f) {
    return json{{"span_ns", f.span.length()}, {"busy_ns", f.busy}, {"idle_ns", f.idle()}};
  };
  json array = json::array();
  for (const metrics::idle_change& each : devices)
    array.push_back({{"device", to_number(each.device.before)},
                     {"device_after", to_number(each.device.after)},
                     {"summary", metrics::describe_idle_change(each)},
                     {"before", metrics(each.before)},
                     {"after", metrics(each.after)},
                     {"causes", list_idle_causes(each.causes)}});
  return array;
}

std::string to_json(const metrics::difference& found, const std::string& before, const std::string& after) {
  json array;
  array["schema"] = 1;
  array["before"] = before;
  array["after"] = after;
  array["memory"] = json::array();
  for (const auto& m : found.memory) {
    const auto metrics = [](const metrics::memory_statistics& f) {
      return json{{"peak_bytes", f.maximum},  {"peak_ns", f.maximum_time},    {"mean_bytes", f.mean},
                  {"at_end_bytes", f.at_end}, {"allocations", f.allocations}, {"allocated_bytes", f.allocated_bytes}};
    };
    array["memory"].push_back({{"device", to_number(m.device.before)},
                               {"device_after", to_number(m.device.after)},
                               {"layer", get_name(m.layer)},
                               {"kind", get_name(m.kind)},
                               {"before", metrics(m.before)},
                               {"after", metrics(m.after)},
                               {"at_peak", list_stacks(m.at_peak)},
                               {"allocated", list_stacks(m.allocated)}});
  }
  array["transfers"] = json::array();
  for (const auto& t : found.transfers) {
    const auto metrics = [](const metrics::transfer_statistics& f) {
      return json{{"bytes", f.bytes}, {"count", f.count}, {"busy_ns", f.busy}, {"mean_bandwidth", f.mean_bandwidth}};
    };
    array["transfers"].push_back({{"device", to_number(t.device.before)},
                                  {"device_after", to_number(t.device.after)},
                                  {"direction", get_name(t.direction)},
                                  {"before", metrics(t.before)},
                                  {"after", metrics(t.after)},
                                  {"sites", list_stacks(t.sites)}});
  }
  array["idle"] = idle_json(found.idle);
  return array.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
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
  const auto devices = second ? metrics::device_match::by_role : metrics::device_match::by_ordinal;
  const auto found = metrics::compare({*metrics_before, first->tables()}, first->names(),
                                      {*metrics_after, other.tables()}, names_after, devices);
  const auto title = [](const metrics_of_recording& recording, const std::optional<time_range>& range) {
    if (!range) return recording.path();
    return fmt::format("{}, {} to {}", recording.path(), format_moment(range->begin), format_moment(range->end));
  };
  const std::string name_before = title(*first, *before);
  const std::string name_after = title(other, *after);
  return wanted.json ? to_json(found, name_before, name_after) : to_text(found, name_before, name_after);
}

namespace {

int print(const diff_wanted& wanted) {
  const auto text = difference_text(wanted);
  if (!text) {
    complain(text.error().to_string());
    return get_status(text.error());
  }
  const bool printed = wanted.json ? print_document(*text) : cli::print(*text);
  if (!printed || std::fflush(stdout) != 0) {
    complain("cannot write the differences: the output was closed or is full");
    return status_failed;
  }
  return 0;
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
  command.add_option("--format", wanted->format, "Output format")
      ->check(CLI::IsMember({"text", "json"}).description(""))
      ->type_name("text|json")
      ->capture_default_str();
  return [wanted] {
    wanted->json = wanted->format == "json";
    return print(*wanted);
  };
}

}  // namespace sluice::cli
