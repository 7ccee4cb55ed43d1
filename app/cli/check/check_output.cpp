#include "app/cli/check/check_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/cli/options/number_option.hpp"
#include "app/cli/output/json_output.hpp"
#include "app/cli/page/web_text.hpp"
#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/base/printable.hpp"
#include "core/base/saturating.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;
using metrics::changed_part;
using metrics::condition;
using metrics::format_quantity;
using metrics::quantity;
using metrics::verdict;

constexpr auto format_names = std::to_array<std::string_view>({"text", "json", "junit", "markdown", "github"});

std::string get_limit(const condition& subject) {
  // If the baseline has no value, there is no limit.
  if (subject.name.starts_with("baseline-") && !subject.baseline) return "-";
  return format_quantity(subject.limit, subject.kind);
}

std::string format_measured(const condition& subject) {
  return subject.measured ? format_quantity(*subject.measured, subject.kind) : "-";
}

/// A remark on the verdict: why it is unknown; otherwise where to look.
std::string format_remark(const condition& subject) { return subject.reason.empty() ? subject.where : subject.reason; }

std::string grown_words(const changed_part& subject) {
  return fmt::format("{}: {} -> {}", subject.name, format_bytes(subject.before), format_bytes(subject.after));
}

/// Describes a condition in one line: "max-peak not met: 1.20 GiB, limit 1.00 GiB (framework layer, device memory of
/// GPU 0)".
std::string format_sentence(const condition& subject) {
  std::string text = fmt::format("{} {}: {}, limit {}", subject.name, get_name(subject.status),
                                 format_measured(subject), get_limit(subject));
  if (subject.baseline) text += fmt::format(", baseline {}", format_quantity(*subject.baseline, subject.kind));
  if (!subject.about.empty()) text += fmt::format(" ({})", subject.about);
  return text;
}

/// Details of a condition that its sentence does not contain, one per line.
std::vector<std::string> list_details(const condition& subject) {
  std::vector<std::string> strings;
  if (const std::string remark = format_remark(subject); !remark.empty()) strings.push_back(remark);
  if (subject.parts.size() > 1)
    for (const metrics::measured_part& part : subject.parts)
      strings.push_back(fmt::format("{}: {}", part.name, format_quantity(part.value, subject.kind)));
  if (subject.status == verdict::not_met) {
    for (const changed_part& line : subject.lines) strings.push_back("line " + grown_words(line));
    for (const changed_part& module : subject.modules) strings.push_back("module " + grown_words(module));
  }
  return strings;
}

auto count(const checked_recording& recording, verdict value) {
  return std::count_if(recording.conditions.begin(), recording.conditions.end(),
                       [&](const condition& c) { return c.status == value; });
}

std::string get_summary(const checked_recording& recording) {
  return fmt::format("{}: {} met, {} not met, {} unknown", recording.path, count(recording, verdict::met),
                     count(recording, verdict::not_met), count(recording, verdict::unknown));
}

std::string as_text(const checked_recording& recording) {
  text_builder text;
  text.line("{}", get_summary(recording));
  if (!recording.baseline.empty()) text.line("baseline: {}", recording.baseline);
  text.add("\n");
  text_table table("lrrll");
  table.row({"condition", "measured", "limit", "verdict", "metric"});
  for (const condition& each : recording.conditions)
    table.row({each.name, format_measured(each), get_limit(each), std::string(get_name(each.status)), each.about});
  text.add(table, 2);
  for (const condition& each : recording.conditions) {
    const auto details = each.status == verdict::met ? std::vector<std::string>{} : list_details(each);
    if (!details.empty()) text.line("\n  {}", each.name);
    for (const std::string& line : details) text.line("    {}", line);
  }
  for (const std::string& warning : recording.warnings) text.line("\n  note: {}", warning);
  return text.take();
}

// --- JSON -----------------------------------------------------------------------------------------------------------

std::string_view get_unit(quantity wanted) {
  constexpr auto names = std::to_array<std::string_view>({"bytes", "bytes_per_step", "share", "ns", "count"});
  return names[static_cast<std::size_t>(wanted) % names.size()];
}

std::string_view word_of_verdict(verdict value) {
  constexpr auto names = std::to_array<std::string_view>({"met", "not_met", "unknown"});
  return names[static_cast<std::size_t>(value) % names.size()];
}

/// Formats a share as a fraction, and any other value as a whole number.
json quantity_json(double value, quantity wanted) {
  return wanted == quantity::share ? json(value) : json(saturating_cast<std::int64_t>(value));
}
json quantity_or_null(const std::optional<double>& value, quantity wanted) {
  return value ? quantity_json(*value, wanted) : json(nullptr);
}

json grown_json(const std::vector<changed_part>& items) {
  return list_json(items, [](const changed_part& each) -> json {
    return {{"name", each.name},
            {"before_bytes", quantity_json(each.before, quantity::bytes)},
            {"after_bytes", quantity_json(each.after, quantity::bytes)}};
  });
}

json line_json(const symbols::frame_line& line) {
  return {
      {"file", text_or_null(line.file)}, {"line", count_or_null(line.line)}, {"function", text_or_null(line.function)}};
}

json condition_json(const condition& subject) {
  const bool has_limit = subject.baseline || !subject.name.starts_with("baseline-");
  const auto part = [&](const metrics::measured_part& each) -> json {
    return {{"name", each.name}, {"value", quantity_json(each.value, subject.kind)}};
  };
  return {{"name", subject.name},
          {"verdict", word_of_verdict(subject.status)},
          {"unit", get_unit(subject.kind)},
          {"limit", has_limit ? quantity_json(subject.limit, subject.kind) : json(nullptr)},
          {"measured", quantity_or_null(subject.measured, subject.kind)},
          {"baseline", quantity_or_null(subject.baseline, subject.kind)},
          {"about", text_or_null(subject.about)},
          {"where", text_or_null(subject.where)},
          {"reason", text_or_null(subject.reason)},
          {"line", subject.line ? line_json(*subject.line) : json(nullptr)},
          {"parts", list_json(subject.parts, part)},
          {"grown_lines", grown_json(subject.lines)},
          {"grown_modules", grown_json(subject.modules)}};
}

std::string as_json(const checked_recording& recording) {
  return json_document({{"schema", "sluice.check"},
                        {"version", 1},
                        {"file", recording.path},
                        {"baseline", text_or_null(recording.baseline)},
                        {"verdict", word_of_verdict(metrics::overall_verdict(recording.conditions))},
                        {"warnings", recording.warnings},
                        {"conditions", list_json(recording.conditions, condition_json)}});
}

// --- JUnit ----------------------------------------------------------------------------------------------------------

/// Escapes text for XML, including attributes in quotes. `printable` removes all characters that XML forbids.
std::string xml(std::string_view text) { return as_html(printable(text, line_ends::keep)); }

std::string as_junit(const checked_recording& recording) {
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"", recording.conditions.size(),
                  count(recording, verdict::not_met), count(recording, verdict::unknown));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites {0}>\n  <testsuite name=\"sluice check\" {0}>\n", counts);
  for (const condition& each : recording.conditions) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(recording.path), xml(each.name));
    if (each.status == verdict::met) {
      text += "/>\n";
      continue;
    }
    const char* const element = each.status == verdict::not_met ? "failure" : "error";
    text += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">", element, get_name(each.status),
                        xml(format_sentence(each)));
    for (const std::string& line : list_details(each)) text += xml(printable(line)) + "\n";
    text += fmt::format("</{}>\n    </testcase>\n", element);
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

// --- Markdown -------------------------------------------------------------------------------------------------------

/// Escapes text for a table cell, so that no part of it is interpreted as Markdown, HTML or a user name.
std::string markdown(std::string_view text) {
  std::string line;
  for (const char c : printable(text)) {
    if (c == '<' || c == '>' || c == '&' || c == '@' || c == '#') {
      line += fmt::format("&#{};", static_cast<int>(c));
    } else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos) line += '\\';
      line += c;
    }
  }
  return line;
}

std::string as_markdown(const checked_recording& recording) {
  std::string text = "### " + markdown(get_summary(recording)) + "\n\n";
  if (!recording.baseline.empty()) text += "Baseline: " + markdown(recording.baseline) + "\n\n";
  text += "| condition | verdict | measured | limit | metric | where |\n| --- | --- | ---: | ---: | --- | --- |\n";
  for (const condition& each : recording.conditions) {
    const std::string verdict_text =
        fmt::format(fmt::runtime(each.status == verdict::met ? "{}" : "**{}**"), get_name(each.status));
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown(each.name), verdict_text,
                        markdown(format_measured(each)), markdown(get_limit(each)), markdown(each.about),
                        markdown(format_remark(each)));
  }
  for (const condition& each : recording.conditions) {
    if (each.status != verdict::not_met || each.lines.size() + each.modules.size() == 0) continue;
    text += fmt::format("\nGrown since the baseline ({}):\n\n| place | before | after |\n| --- | ---: | ---: |\n",
                        markdown(each.name));
    const auto rows = [&](const std::vector<changed_part>& parts, const char* kind) {
      for (const changed_part& part : parts)
        text += fmt::format("| {} {} | {} | {} |\n", kind, markdown(part.name), format_bytes(part.before),
                            format_bytes(part.after));
    };
    rows(each.lines, "line");
    rows(each.modules, "module");
  }
  for (const std::string& warning : recording.warnings) text += "\nNote: " + markdown(warning) + "\n";
  return text;
}

// --- GitHub ---------------------------------------------------------------------------------------------------------

/// Escapes data of a workflow command. `property`: also escapes the separators of properties.
std::string escaped(std::string_view text, bool property) {
  std::string line;
  for (const char c : text) {
    const bool escape = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    if (escape) {
      line += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      line += c;
    }
  }
  return line;
}

/// The path relative to the repository, because GitHub shows paths in that form.
std::string relative_to_roots(const std::string& path, const std::vector<std::string>& roots) {
  for (const std::string& root : roots)
    if (root.size() > 1 && path.size() > root.size() + 1 && path.starts_with(root) && path[root.size()] == '/')
      return path.substr(root.size() + 1);
  return path;
}

std::string as_github(const checked_recording& recording) {
  std::string text;
  for (const condition& each : recording.conditions) {
    if (each.status == verdict::met) continue;
    std::string place;
    if (each.line && !each.line->file.empty()) {
      place = "file=" + escaped(printable(relative_to_roots(each.line->file, recording.roots)), true) + ",";
      if (each.line->line > 0) place += fmt::format("line={},", each.line->line);
    }
    std::string message = printable(format_sentence(each));
    for (const std::string& line : list_details(each)) message += "\n" + printable(line);
    text += fmt::format("::error {}title={}::{}\n", place, escaped("sluice check: " + each.name, true),
                        escaped(message, false));
  }
  // GitHub interprets each line that starts with "::" as a command. This line starts differently.
  return text + "sluice check: " + printable(get_summary(recording)) + "\n";
}

}  // namespace

std::optional<check_format> check_format_named(std::string_view name) {
  const auto at = std::find(format_names.begin(), format_names.end(), name);
  if (at == format_names.end()) return std::nullopt;
  return static_cast<check_format>(at - format_names.begin());
}

std::string check_text(const checked_recording& recording, check_format as) {
  switch (as) {
    case check_format::text:
      break;
    case check_format::json:
      return as_json(recording);
    case check_format::junit:
      return as_junit(recording);
    case check_format::markdown:
      return as_markdown(recording);
    case check_format::github:
      return as_github(recording);
  }
  return as_text(recording);
}

std::optional<std::uint64_t> size_named(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, digits));
  const std::string_view unit = text.substr(digits);
  const auto scale = parse_bytes("1" + std::string(unit), true);
  if (!number || !scale) return std::nullopt;
  const double bytes = *number * static_cast<double>(*scale);
  if (bytes >= 0x1p63) return std::nullopt;
  return static_cast<std::uint64_t>(std::llround(bytes));
}

std::optional<double> share_named(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  while (percent && text.ends_with(' ')) text.remove_suffix(1);
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  const double share = percent ? *number / 100 : *number;
  return share <= 1 ? std::optional(share) : std::nullopt;
}

}  // namespace sluice::cli
