#include "app/cli/check/check_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/cli/number_option.hpp"
#include "app/cli/page/web_text.hpp"
#include "app/cli/text_table.hpp"
#include "core/base/format.hpp"
#include "core/base/printable.hpp"
#include "core/base/saturating.hpp"

namespace sluice::cli {
namespace {

using metrics::changed_part;
using metrics::condition;
using metrics::format_quantity;
using metrics::quantity;
using metrics::verdict;

constexpr auto format_names = std::to_array<std::string_view>({"text", "json", "junit", "markdown", "github"});

std::string limit_of(const condition& of) {
  // If the baseline has no value, there is no limit.
  if (of.name.starts_with("baseline-") && !of.baseline) return "-";
  return format_quantity(of.limit, of.what);
}

std::string measured_of(const condition& of) { return of.measured ? format_quantity(*of.measured, of.what) : "-"; }

/// A remark on the verdict: why it is unknown; otherwise where to look.
std::string remark_of(const condition& of) { return of.reason.empty() ? of.where : of.reason; }

std::string grown_words(const changed_part& of) {
  return fmt::format("{}: {} -> {}", of.of, format_bytes(of.before), format_bytes(of.after));
}

/// Describes a condition in one line: "max-peak not met: 1.20 GiB, limit 1.00 GiB (framework layer, device memory of
/// GPU 0)".
std::string sentence_of(const condition& of) {
  std::string text = fmt::format("{} {}: {}, limit {}", of.name, name_of(of.is), measured_of(of), limit_of(of));
  if (of.baseline) text += fmt::format(", baseline {}", format_quantity(*of.baseline, of.what));
  if (!of.about.empty()) text += fmt::format(" ({})", of.about);
  return text;
}

/// Details of a condition that its sentence does not contain, one per line.
std::vector<std::string> details_of(const condition& of) {
  std::vector<std::string> all;
  if (const std::string remark = remark_of(of); !remark.empty()) all.push_back(remark);
  if (of.parts.size() > 1)
    for (const metrics::measured_part& part : of.parts)
      all.push_back(fmt::format("{}: {}", part.of, format_quantity(part.value, of.what)));
  if (of.is == verdict::not_met) {
    for (const changed_part& line : of.lines) all.push_back("line " + grown_words(line));
    for (const changed_part& module : of.modules) all.push_back("module " + grown_words(module));
  }
  return all;
}

std::string summary_of(const checked_recording& of) {
  const auto count = [&](verdict is) {
    return std::count_if(of.conditions.begin(), of.conditions.end(), [&](const condition& c) { return c.is == is; });
  };
  return fmt::format("{}: {} met, {} not met, {} unknown", of.path, count(verdict::met), count(verdict::not_met),
                     count(verdict::unknown));
}

std::string as_text(const checked_recording& of) {
  std::string text = summary_of(of) + "\n";
  if (!of.baseline.empty()) text += "baseline: " + of.baseline + "\n";
  text += "\n";
  text_table table("lrrll");
  table.row({"condition", "measured", "limit", "verdict", "metric"});
  for (const condition& each : of.conditions)
    table.row({each.name, measured_of(each), limit_of(each), std::string(name_of(each.is)), each.about});
  text += table.text(2);
  for (const condition& each : of.conditions) {
    const auto details = each.is == verdict::met ? std::vector<std::string>{} : details_of(each);
    if (details.empty()) continue;
    text += "\n  " + each.name + "\n";
    for (const std::string& line : details) text += "    " + printable(line) + "\n";
  }
  for (const std::string& warning : of.warnings) text += "\n  note: " + printable(warning) + "\n";
  return text;
}

// --- JSON -----------------------------------------------------------------------------------------------------------

using json = nlohmann::ordered_json;

std::string_view unit_of(quantity what) {
  constexpr auto names = std::to_array<std::string_view>({"bytes", "bytes_per_step", "share", "ns", "count"});
  return names[static_cast<std::size_t>(what) % names.size()];
}

std::string_view word_of_verdict(verdict is) {
  constexpr auto names = std::to_array<std::string_view>({"met", "not_met", "unknown"});
  return names[static_cast<std::size_t>(is) % names.size()];
}

/// Formats a share as a fraction, and any other value as a whole number.
json quantity_json(double value, quantity what) {
  return what == quantity::share ? json(value) : json(saturating_cast<std::int64_t>(value));
}
json quantity_or_null(const std::optional<double>& value, quantity what) {
  return value ? quantity_json(*value, what) : json(nullptr);
}
json text_or_nothing(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json grown_json(const std::vector<changed_part>& of) {
  json all = json::array();
  for (const changed_part& each : of)
    all.push_back({{"name", each.of},
                   {"before_bytes", quantity_json(each.before, quantity::bytes)},
                   {"after_bytes", quantity_json(each.after, quantity::bytes)}});
  return all;
}

std::string as_json(const checked_recording& of) {
  json made;
  made["schema"] = "sluice.check";
  made["version"] = 1;
  made["file"] = of.path;
  made["baseline"] = text_or_nothing(of.baseline);
  made["verdict"] = word_of_verdict(metrics::verdict_of(of.conditions));
  made["warnings"] = of.warnings;
  made["conditions"] = json::array();
  for (const condition& each : of.conditions) {
    const bool has_limit = each.baseline || !each.name.starts_with("baseline-");
    json parts = json::array();
    for (const metrics::measured_part& part : each.parts)
      parts.push_back({{"name", part.of}, {"value", quantity_json(part.value, each.what)}});
    json line = nullptr;
    if (each.line)
      line = {{"file", text_or_nothing(each.line->file)},
              {"line", each.line->line == 0 ? json(nullptr) : json(each.line->line)},
              {"function", text_or_nothing(each.line->function)}};
    made["conditions"].push_back({{"name", each.name},
                                  {"verdict", word_of_verdict(each.is)},
                                  {"unit", unit_of(each.what)},
                                  {"limit", has_limit ? quantity_json(each.limit, each.what) : json(nullptr)},
                                  {"measured", quantity_or_null(each.measured, each.what)},
                                  {"baseline", quantity_or_null(each.baseline, each.what)},
                                  {"about", text_or_nothing(each.about)},
                                  {"where", text_or_nothing(each.where)},
                                  {"reason", text_or_nothing(each.reason)},
                                  {"line", std::move(line)},
                                  {"parts", std::move(parts)},
                                  {"grown_lines", grown_json(each.lines)},
                                  {"grown_modules", grown_json(each.modules)}});
  }
  return made.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

// --- JUnit ----------------------------------------------------------------------------------------------------------

/// Escapes text for XML, including attributes in quotes. `printable` removes all characters that XML forbids.
std::string xml(std::string_view text) { return as_html(printable(text, line_ends::keep)); }

std::string as_junit(const checked_recording& of) {
  const auto count = [&](verdict is) {
    return std::count_if(of.conditions.begin(), of.conditions.end(), [&](const condition& c) { return c.is == is; });
  };
  const std::string counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"0\"",
                                         of.conditions.size(), count(verdict::not_met), count(verdict::unknown));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  text += fmt::format("<testsuites {0}>\n  <testsuite name=\"sluice check\" {0}>\n", counts);
  for (const condition& each : of.conditions) {
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", xml(of.path), xml(each.name));
    if (each.is == verdict::met) {
      text += "/>\n";
      continue;
    }
    const char* const element = each.is == verdict::not_met ? "failure" : "error";
    text += fmt::format(">\n      <{} type=\"{}\" message=\"{}\">", element, name_of(each.is), xml(sentence_of(each)));
    for (const std::string& line : details_of(each)) text += xml(printable(line)) + "\n";
    text += fmt::format("</{}>\n    </testcase>\n", element);
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

// --- Markdown -------------------------------------------------------------------------------------------------------

/// Escapes text for a table cell, so that no part of it is interpreted as Markdown, HTML or a user name.
std::string markdown(std::string_view text) {
  std::string made;
  for (const char c : printable(text)) {
    if (c == '<' || c == '>' || c == '&' || c == '@' || c == '#') {
      made += fmt::format("&#{};", static_cast<int>(c));
    } else {
      if (std::string_view("\\`*_[]|~").find(c) != std::string_view::npos) made += '\\';
      made += c;
    }
  }
  return made;
}

std::string as_markdown(const checked_recording& of) {
  std::string text = "### " + markdown(summary_of(of)) + "\n\n";
  if (!of.baseline.empty()) text += "Baseline: " + markdown(of.baseline) + "\n\n";
  text += "| condition | verdict | measured | limit | metric | where |\n| --- | --- | ---: | ---: | --- | --- |\n";
  for (const condition& each : of.conditions) {
    const std::string verdict_text =
        fmt::format(fmt::runtime(each.is == verdict::met ? "{}" : "**{}**"), name_of(each.is));
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", markdown(each.name), verdict_text, markdown(measured_of(each)),
                    markdown(limit_of(each)), markdown(each.about), markdown(remark_of(each)));
  }
  for (const condition& each : of.conditions) {
    if (each.is != verdict::not_met || each.lines.size() + each.modules.size() == 0) continue;
    text += fmt::format("\nGrown since the baseline ({}):\n\n| place | before | after |\n| --- | ---: | ---: |\n",
                        markdown(each.name));
    const auto rows = [&](const std::vector<changed_part>& parts, const char* kind) {
      for (const changed_part& part : parts)
        text += fmt::format("| {} {} | {} | {} |\n", kind, markdown(part.of), format_bytes(part.before),
                            format_bytes(part.after));
    };
    rows(each.lines, "line");
    rows(each.modules, "module");
  }
  for (const std::string& warning : of.warnings) text += "\nNote: " + markdown(warning) + "\n";
  return text;
}

// --- GitHub ---------------------------------------------------------------------------------------------------------

/// Escapes data of a workflow command. `property`: also escapes the separators of properties.
std::string escaped(std::string_view text, bool property) {
  std::string made;
  for (const char c : text) {
    const bool escape = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    if (escape) {
      made += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      made += c;
    }
  }
  return made;
}

/// The path relative to the repository, because GitHub shows paths in that form.
std::string relative_to_roots(const std::string& path, const std::vector<std::string>& roots) {
  for (const std::string& root : roots)
    if (root.size() > 1 && path.size() > root.size() + 1 && path.starts_with(root) && path[root.size()] == '/')
      return path.substr(root.size() + 1);
  return path;
}

std::string as_github(const checked_recording& of) {
  std::string text;
  for (const condition& each : of.conditions) {
    if (each.is == verdict::met) continue;
    std::string place;
    if (each.line && !each.line->file.empty()) {
      place = "file=" + escaped(printable(relative_to_roots(each.line->file, of.roots)), true) + ",";
      if (each.line->line > 0) place += fmt::format("line={},", each.line->line);
    }
    std::string message = printable(sentence_of(each));
    for (const std::string& line : details_of(each)) message += "\n" + printable(line);
    text += fmt::format("::error {}title={}::{}\n", place, escaped("sluice check: " + each.name, true),
                        escaped(message, false));
  }
  // GitHub interprets each line that starts with "::" as a command. This line starts differently.
  return text + "sluice check: " + printable(summary_of(of)) + "\n";
}

}  // namespace

std::optional<check_format> check_format_named(std::string_view name) {
  const auto at = std::find(format_names.begin(), format_names.end(), name);
  if (at == format_names.end()) return std::nullopt;
  return static_cast<check_format>(at - format_names.begin());
}

std::string check_text(const checked_recording& of, check_format as) {
  switch (as) {
    case check_format::text:
      break;
    case check_format::json:
      return as_json(of);
    case check_format::junit:
      return as_junit(of);
    case check_format::markdown:
      return as_markdown(of);
    case check_format::github:
      return as_github(of);
  }
  return as_text(of);
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
