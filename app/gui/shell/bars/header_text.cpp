#include "app/gui/shell/bars/header_text.hpp"

#include <algorithm>

#include "app/gui/window/format.hpp"
#include "core/base/format.hpp"
#include "core/index/labels.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/verdict/finding_title.hpp"

namespace sluice::gui {
namespace {

using tone = header_phrase::tone;

/// Memory is no problem if no more than this share of a GPU's memory was ever in use.
constexpr double roomy = 0.5;

bool has_room(const metrics::run_verdict& verdict) {
  return verdict.used_of > 0 && static_cast<double>(verdict.used) <= roomy * static_cast<double>(verdict.used_of);
}

bool is_about_copies(metrics::finding_kind kind) {
  return kind >= metrics::finding_kind::pageable_copies && kind <= metrics::finding_kind::copies_not_overlapped;
}

/// The share of the time after start-up in which only copies ran, on the device on which it is largest.
double find_copy_share(const metrics::run_verdict& verdict) {
  double share = 0;
  for (const metrics::device_time& each : verdict.devices) share = std::max(share, verdict.get_share(each.only_copies));
  return share;
}

void add_opportunity(const metrics::report& of, header_text& into) {
  const metrics::run_verdict& verdict = of.verdict;
  if (!verdict.largest) return;
  std::size_t chosen = *verdict.largest;
  if (of.findings[chosen].saves.time == 0 && verdict.other && has_room(verdict)) chosen = *verdict.other;
  const metrics::finding& finding = of.findings[chosen];
  const std::string title = metrics::get_title(finding);
  const std::string saves = metrics::describe_saving(finding.saves);
  const std::string_view which = chosen == *verdict.largest ? "Largest opportunity: " : "Largest opportunity in time: ";
  into.below.push_back({std::string(which) + title + (saves.empty() ? "" : ", saves " + saves), tone::saving});
}

/// Adds what is not a problem, so that nobody needs to look there.
void add_no_problems(const metrics::report& of, header_text& into) {
  const metrics::run_verdict& verdict = of.verdict;
  if (has_room(verdict))
    into.below.push_back(
        {"memory is not a problem: " + format_bytes(verdict.used) + " of " + format_bytes(verdict.used_of)});
  const bool copies_cost = std::any_of(of.findings.begin(), of.findings.end(), [](const metrics::finding& each) {
    return is_about_copies(each.kind) && (each.major || each.saves.share >= metrics::run_verdict::worth_naming);
  });
  const double share = find_copy_share(verdict);
  if (!of.whole.transfers.empty() && !verdict.devices.empty() && !copies_cost &&
      share < metrics::run_verdict::worth_naming && verdict.bound != metrics::run_bound::copies)
    into.below.push_back({"copies are not a problem: " + format_share(share) + " of the time"});
}

/// Adds the processes that failed.
void add_exits(const metrics::report& of, header_text& into) {
  for (const metrics::process_metric& each : of.processes)
    if (each.exit_status > 0)
      into.below.push_back(
          {"process " + std::to_string(each.pid) + " ended with exit status " + std::to_string(each.exit_status)});
}

/// The most memory that the driver handed out on the device of the peak; 0 if unknown.
std::uint64_t find_reserved(const metrics::report& of) {
  std::uint64_t most = 0;
  for (const metrics::memory_statistics& each : of.whole.memory)
    if (each.layer == trace::layer::driver && each.device == of.verdict.peak_device &&
        index::is_device_resident(each.kind))
      most = std::max(most, each.maximum);
  return most;
}

void add_figures(const metrics::report& of, header_text& into) {
  for (const metrics::verdict_number& each : of.verdict.numbers)
    if (into.figures.size() < header_text::max_figures) into.figures.push_back({each.value, each.label});
  const std::uint64_t reserved = find_reserved(of);
  if (reserved > of.verdict.peak && of.verdict.peak > 0 && into.figures.size() < header_text::max_figures)
    into.figures.push_back({format_bytes(reserved), "reserved"});
}

std::string describe_request(const metrics::out_of_memory_report& report) {
  const metrics::out_of_memory& memory = report.metrics;
  const std::string place = metrics::to_text(report.where);
  std::string text = (place.empty() ? "The failed call" : place) + " asked for " + format_bytes(memory.asked);
  if (memory.device_free_known && memory.device_bytes > 0)
    text += memory.device_free == 0
                ? ", none of " + format_bytes(memory.device_bytes) + " was free"
                : ", " + format_bytes(memory.device_free) + " of " + format_bytes(memory.device_bytes) + " were free";
  return text;
}

/// Makes the header of a recording that ran out of memory.
void describe_failure(const metrics::out_of_memory_report& report, header_text& into) {
  const metrics::out_of_memory& memory = report.metrics;
  into.failed = true;
  if (!report.short_by.empty()) into.headline = "Out of memory: short by " + report.short_by;
  into.below.push_back({describe_request(report)});
  if (!report.changes.empty() && !memory.only_together) {
    std::string change = report.changes.front().text;
    if (change.ends_with('.')) change.pop_back();
    into.below.push_back({"it would have fit: " + change, tone::good});
  } else if (!report.verdict.empty()) {
    into.below.push_back({report.verdict});
  }
  const auto add = [&](std::uint64_t bytes, const char* label, bool alarming = false) {
    if (bytes > 0) into.figures.push_back({format_bytes(bytes), label, alarming});
  };
  if (!report.short_by.empty()) into.figures.push_back({report.short_by, "short by", true});
  add(memory.used, "in use");
  add(memory.reserved > memory.used ? memory.reserved - memory.used : 0, "free in pieces");
  add(memory.others, "contexts and others");
}

}  // namespace

std::string header_text::get_line() const {
  std::string line;
  for (const header_phrase& each : below) line += (line.empty() ? "" : "  \xC2\xB7  ") + each.text;
  return line;
}

header_text make_header(const metrics::report& of) {
  header_text header;
  header.headline = of.verdict.headline;
  if (!of.out_of_memory.empty()) {
    describe_failure(of.out_of_memory.front(), header);
    add_exits(of, header);
    return header;
  }
  add_opportunity(of, header);
  add_no_problems(of, header);
  add_exits(of, header);
  for (const std::string& each : of.verdict.missing) header.below.push_back({format::in_window(each)});
  add_figures(of, header);
  return header;
}

std::size_t count_figures(std::span<const float> widths, float headline, float room, float gap) {
  const float left = std::max(room - headline, room / 3);
  float used = 0;
  std::size_t count = 0;
  while (count < widths.size() && used + gap + widths[count] <= left) used += gap + widths[count++];
  return count;
}

}  // namespace sluice::gui
