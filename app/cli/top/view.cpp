#include "app/cli/top/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/base/printable.hpp"
#include "core/base/signed_text.hpp"
#include "core/base/utf8.hpp"
#include "core/metrics/base/link_share.hpp"

namespace sluice::cli::top {
namespace {

constexpr const char* nothing = "-";

std::string bytes_or_dash(std::optional<std::uint64_t> bytes) { return bytes ? format_bytes(*bytes) : nothing; }

std::string change_in_words(std::int64_t change) {
  const auto by = static_cast<double>(change);
  return with_sign(by, format_bytes(std::fabs(by)));
}

/// The first `columns` characters of printable text.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size() && count < columns; ++count)
    at += std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(at)));
  return text.substr(0, at);
}

/// A heading with rows, of which the first `shown` are shown.
struct section {
  std::string heading;
  std::vector<std::string> rows;
  std::size_t shown = 0;
  /// Number of lines. Includes a blank line above, and a last line that states how many rows are omitted.
  [[nodiscard]] std::size_t lines() const { return 2 + shown + (shown < rows.size() ? 1 : 0); }
};

/// Makes a section. The first row of `table` becomes the heading.
section find_section(const text_table& table) {
  section output;
  std::istringstream lines(table.text(0));
  std::getline(lines, output.heading);
  for (std::string line; std::getline(lines, line);) output.rows.push_back(std::move(line));
  return output;
}

section gpu_section(const top_metrics& subject) {
  text_table table("lrrrrrrl");
  table.row({"GPU", "used", "in 1 min", "reserved", "untracked", "whole GPU", "in use", "name"});
  for (const gpu_row& gpu : subject.gpus) {
    table.row({gpu.label, bytes_or_dash(gpu.used), gpu.used ? change_in_words(gpu.change) : nothing,
               gpu.reserved > 0 ? format_bytes(gpu.reserved) : nothing, bytes_or_dash(gpu.untracked),
               bytes_or_dash(gpu.whole), gpu.whole ? format_part(*gpu.whole, gpu.memory_bytes) : nothing, gpu.name});
  }
  return find_section(table);
}

section copy_section(const top_metrics& subject) {
  text_table table("llrrrr");
  table.row({"GPU", "copies", "last second", "while copying", "of link", "copying"});
  for (const gpu_row& gpu : subject.gpus) {
    for (const auto& [name, rate] :
         {std::pair("host to device", gpu.to_device), std::pair("device to host", gpu.to_host)}) {
      if (!rate.known) continue;
      const auto share = metrics::link_share(rate.while_copying, rate.peak);
      table.row({gpu.label, name, format_rate(rate.now), rate.busy > 0 ? format_rate(rate.while_copying) : nothing,
                 share ? format_share(*share) : nothing, format_share(rate.busy)});
    }
  }
  return find_section(table);
}

section process_section(const top_metrics& subject) {
  const bool ranks = std::any_of(subject.processes.begin(), subject.processes.end(),
                                 [](const process_row& each) { return each.rank >= 0; });
  text_table table(ranks ? "rrlrrl" : "rlrrl");
  const auto put = [&](std::vector<std::string> cells, const std::string& rank) {
    if (ranks) cells.insert(cells.begin() + 1, rank);
    table.row(std::move(cells));
  };
  put({"PID", "GPU", "used", "reserved", "command"}, "rank");
  for (const process_row& each : subject.processes)
    put({std::to_string(each.pid), each.gpu.empty() ? nothing : each.gpu,
         each.gpu.empty() ? nothing : format_bytes(each.used),
         each.reserved > 0 ? format_bytes(each.reserved) : nothing, each.command},
        each.rank >= 0 ? std::to_string(each.rank) : nothing);
  return find_section(table);
}

section held_section(const top_metrics& subject) {
  text_table table("rrrl");
  for (const held_row& each : subject.held)
    table.row({format_bytes(each.bytes), format_share(each.share), format_some(each.blocks, "block"), each.text});
  section output = find_section(table);
  // This table has no heading row.
  if (!subject.held.empty()) output.rows.insert(output.rows.begin(), std::move(output.heading));
  output.heading = "Live memory: " + printable(subject.held_title);
  if (subject.held.empty()) output.rows.emplace_back("none");
  return output;
}

section error_section(const top_metrics& subject) {
  section output;
  output.heading = "Errors";
  for (const std::string& each : subject.errors) output.rows.push_back(printable(each));
  return output;
}

std::string get_state(const top_metrics& subject) {
  std::string text = format_time(subject.span.length());
  if (subject.simulated) text += " on the simulated device";
  if (subject.complete) return text + ", finished";
  if (!subject.growing) return text + ", cut short: the recorder ended early";
  text += ", being written";
  constexpr double worth_saying = 3;
  if (subject.seconds_behind >= worth_saying) {
    text += fmt::format(", metrics {:.0f} s old", subject.seconds_behind);
  } else if (subject.seconds_since && *subject.seconds_since >= worth_saying) {
    text += fmt::format(", no new events for {:.0f} s", *subject.seconds_since);
  }
  return text;
}

std::string format_counts(const top_metrics& subject, std::optional<double> events_per_second) {
  const double seconds = static_cast<double>(subject.span.length()) / 1e9;
  const bool mean = !events_per_second;
  const double rate = events_per_second.value_or(seconds > 0 ? static_cast<double>(subject.events) / seconds : 0);
  std::string text = fmt::format("{}, {} per second{}, {} lost, {}", format_some(subject.events, "event"),
                                 format_count(static_cast<std::uint64_t>(rate)), mean ? " (mean)" : "",
                                 format_count(subject.lost), format_some(subject.failed, "failed allocation"));
  return text;
}

/// Explains the memory columns.
std::string find_meaning(const top_metrics& subject) {
  if (subject.memory.empty()) return "no device memory was used";
  return "used: " + subject.memory + "; reserved: from the driver";
}

/// Gives each section one more row in turn, until no more rows fit. Omits sections for which not even one row fits.
void fit(std::vector<section>& sections, std::size_t rows) {
  std::size_t taken = 0;
  std::size_t kept = 0;
  for (; kept < sections.size(); ++kept) {
    sections[kept].shown = 1;
    if (taken + sections[kept].lines() > rows) break;
    taken += sections[kept].lines();
  }
  sections.resize(kept);
  for (bool grown = true; grown;) {
    grown = false;
    for (section& each : sections) {
      if (each.shown == each.rows.size()) continue;
      const std::size_t before = each.lines();
      ++each.shown;
      if (taken - before + each.lines() <= rows) {
        taken = taken - before + each.lines();
        grown = true;
      } else {
        --each.shown;
      }
    }
  }
}

}  // namespace

std::vector<view_line> make_view(const top_metrics& subject, const view_options& with) {
  std::vector<view_line> lines;
  lines.push_back({printable(with.title) + ": " + get_state(subject)});
  lines.push_back({format_counts(subject, with.events_per_second)});
  lines.push_back({find_meaning(subject)});
  std::vector<section> sections;
  if (!subject.errors.empty()) sections.push_back(error_section(subject));
  for (section output : {gpu_section(subject), copy_section(subject), process_section(subject)})
    if (!output.rows.empty()) sections.push_back(std::move(output));
  if (subject.stacks) sections.push_back(held_section(subject));
  fit(sections, with.rows > lines.size() ? with.rows - lines.size() : 0);
  for (const section& each : sections) {
    lines.emplace_back();
    lines.push_back({each.heading, true});
    for (std::size_t i = 0; i < each.shown; ++i) lines.push_back({each.rows[i]});
    if (each.shown < each.rows.size()) lines.push_back({fmt::format("... {} more", each.rows.size() - each.shown)});
  }
  for (view_line& each : lines) each.text = cut(each.text, with.columns);
  if (lines.size() > with.rows) lines.resize(with.rows);
  return lines;
}

}  // namespace sluice::cli::top
