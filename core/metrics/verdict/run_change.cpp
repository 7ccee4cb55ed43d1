#include "core/metrics/verdict/run_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/base/format.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/report/report.hpp"

namespace sluice::metrics {
namespace {

/// Changes below this share are given in percent, larger ones as a factor.
constexpr double factor_from = 1.1;

bool is_about_same(double before, double after) {
  return std::abs(after - before) <= run_change::same * std::max(before, after);
}

bool is_same_problem(const finding& a, const finding& b) {
  if (a.kind != b.kind || a.where.known != b.where.known || a.rank != b.rank) return false;
  // The detail of other kinds has numbers that differ from run to run.
  const bool waits = a.kind == finding_kind::idle_gaps || a.kind == finding_kind::frequent_waits ||
                     a.kind == finding_kind::hidden_waits;
  if (waits && a.detail != b.detail) return false;
  return !a.where.known || text_to_match(a.where.line) == text_to_match(b.where.line);
}

/// Returns the major findings of `here` that `there` does not have. Each finding of `there` counts once.
std::vector<std::size_t> list_missing(const std::vector<finding>& here, const std::vector<finding>& there) {
  std::vector<bool> used(there.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < here.size(); ++i) {
    bool found = false;
    for (std::size_t j = 0; j < there.size() && !found; ++j) {
      if (used[j] || !is_same_problem(here[i], there[j])) continue;
      used[j] = true;
      found = there[j].major || there[j].saves.share * 2 >= here[i].saves.share;
    }
    if (!found && here[i].major) missing.push_back(i);
  }
  return missing;
}

time_ns compute_idle(const run_verdict& subject, bool by_step) {
  // Times of a damaged recording can be so long that the sum does not fit into 64 bits.
  double sum = 0;
  for (const device_time& each : subject.devices) sum += static_cast<double>(subject.get_idle(each));
  const double parts = static_cast<double>(subject.devices.size()) *
                       (by_step ? static_cast<double>(std::max<std::uint64_t>(subject.steps, 1)) : 1.0);
  return static_cast<time_ns>(std::min(sum / parts, 9.2e18));
}

std::string describe_speed(double before, double after) {
  if (is_about_same(before, after)) return "As fast";
  const bool faster = after < before;
  const double ratio = faster ? before / after : after / before;
  const std::string_view word = faster ? "faster" : "slower";
  // A percentage refers to the time before.
  if (ratio < factor_from) return fmt::format("{} {}", format_share(std::abs(after - before) / before), word);
  return ratio < 9.95 ? fmt::format("{:.1f}x {}", ratio, word) : fmt::format("{:.0f}x {}", ratio, word);
}

std::string describe_pair(std::string_view name, time_ns before, time_ns after) {
  return format_time(before) == format_time(after)
             ? fmt::format("{} {}", name, format_time(after))
             : fmt::format("{} {} -> {}", name, format_time(before), format_time(after));
}

std::string describe_peak(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || after == 0) return before == after ? "peak not recorded" : "peak recorded on one side only";
  const auto from = static_cast<double>(before), to = static_cast<double>(after);
  if (is_about_same(from, to)) return fmt::format("peak the same ({})", format_bytes(after));
  return fmt::format("peak {} -> {}{}", format_bytes(before), format_bytes(after), percent_of_change(from, to));
}

}  // namespace

run_change compare_runs(const report& before, const report& after) {
  run_change output;
  const run_verdict& first = before.verdict;
  const run_verdict& second = after.verdict;
  output.by_step = first.step > 0 && second.step > 0;
  output.time_before = output.by_step ? first.step : before.whole.active.length();
  output.time_after = output.by_step ? second.step : after.whole.active.length();
  output.idle_known = !first.devices.empty() && !second.devices.empty();
  if (output.idle_known) {
    output.idle_before = compute_idle(first, output.by_step);
    output.idle_after = compute_idle(second, output.by_step);
  }
  output.gone = list_missing(before.findings, after.findings);
  output.fresh = list_missing(after.findings, before.findings);
  std::vector<std::string> parts;
  if (output.time_before > 0 && output.time_after > 0) {
    std::string text = fmt::format(
        "{}: {}", describe_speed(static_cast<double>(output.time_before), static_cast<double>(output.time_after)),
        describe_pair(output.by_step ? "a step" : "active time", output.time_before, output.time_after));
    text += output.idle_known ? ", " + describe_pair("idle", output.idle_before, output.idle_after)
                              : std::string(", idle time not recorded");
    parts.push_back(std::move(text));
  } else {
    parts.emplace_back("Times not recorded");
  }
  parts.push_back(describe_peak(first.peak, second.peak));
  parts.push_back(
      fmt::format("{} gone, {} new", format_some(output.gone.size(), "finding"), format_count(output.fresh.size())));
  output.text = fmt::format("{}.", fmt::join(parts, "; "));
  return output;
}

}  // namespace sluice::metrics
