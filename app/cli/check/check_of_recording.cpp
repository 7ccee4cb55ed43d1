#include "app/cli/check/check_of_recording.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "app/cli/metrics/metrics_of_recording.hpp"
#include "core/metrics/check/baseline.hpp"
#include "core/query/engine/engine.hpp"

namespace sluice::cli {
namespace {

constexpr double usual_tolerance = 0.03;

/// Sets `into` to `read(text)` unless `text` is empty.
template <class Value, class Read>
result<void> put_limit(std::optional<Value>& into, const std::string& text, Read read, const char* option,
                       const char* expected) {
  if (text.empty()) return {};
  into = read(text);
  if (into) return {};
  return fail(error_code::invalid_argument, "invalid value '" + text + "'; expected " + expected, option);
}

result<metrics::check_limits> get_limits(const check_wanted& wanted) {
  metrics::check_limits limits;
  constexpr auto size = "a size such as 20GiB";
  constexpr auto share = "a share such as 5% or 0.05";
  for (const auto& put : {put_limit(limits.peak, wanted.max_peak, size_named, "max-peak", size),
                          put_limit(limits.reserved, wanted.max_reserved, size_named, "max-reserved", size),
                          put_limit(limits.growth, wanted.max_growth, size_named, "max-growth", size),
                          put_limit(limits.pageable, wanted.max_pageable, share_named, "max-pageable", share),
                          put_limit(limits.idle, wanted.max_idle, share_named, "max-idle", share)})
    if (!put) return tl::unexpected(put.error());
  limits.no_leaks = wanted.no_leaks;
  std::string fail_on = wanted.fail_on;
  if (fail_on.empty() && !limits.any() && wanted.baseline.empty()) fail_on = "warning";
  if (fail_on == "note") limits.findings = trace::severity::info;
  if (fail_on == "warning") limits.findings = trace::severity::warning;
  if (fail_on == "error") limits.findings = trace::severity::error;
  if (!fail_on.empty() && !limits.findings)
    return fail(error_code::invalid_argument, "invalid value '" + fail_on + "'; expected warning, error or note",
                "fail-on");
  return limits;
}

/// The line of code to which the stack of an event is attributed.
std::optional<symbols::frame_line> line_of_event(query::engine& engine, trace::event_id event) {
  const auto details = engine.ask_now(query::details_query{event, {}});
  if (!details || (*details)->stack.empty()) return std::nullopt;
  std::vector<const symbols::frame_line*> lines;
  for (const symbols::frame_line& line : (*details)->stack) lines.push_back(&line);
  return (*details)->stack[symbols::line_to_name(lines)];
}

}  // namespace

result<checked_recording> check_recording(const check_wanted& wanted) {
  const auto limits = get_limits(wanted);
  if (!limits) return tl::unexpected(limits.error());
  std::optional<double> tolerance = usual_tolerance;
  if (auto put = put_limit(tolerance, wanted.tolerance, share_named, "tolerance", "a share such as 3%"); !put)
    return tl::unexpected(put.error());
  auto now = metrics_of_recording::open(wanted.file, &wanted.sources_from);
  if (!now) return tl::unexpected(now.error());
  const auto found = now->report();
  if (!found) return tl::unexpected(found.error());
  const metrics::report& report = *found;

  checked_recording recording;
  recording.path = wanted.file;
  recording.baseline = wanted.baseline;
  recording.warnings = report.warnings;
  std::optional<query::engine> engine;  // Created only if a finding refers to an event.
  const auto get_line = [&](trace::event_id event) {
    if (!engine) engine.emplace(now->file());
    return line_of_event(*engine, event);
  };
  recording.conditions = metrics::check({report, now->tables(), get_line}, *limits);
  if (wanted.baseline.empty()) return recording;

  auto old = metrics_of_recording::open(wanted.baseline, &wanted.sources_from);
  if (!old) return tl::unexpected(old.error());
  const auto old_report = old->report();
  if (!old_report) return tl::unexpected(old_report.error());
  const auto old_metrics = old->compared();
  if (!old_metrics) return tl::unexpected(old_metrics.error());
  const auto metrics = now->compared();
  if (!metrics) return tl::unexpected(metrics.error());
  auto compared = metrics::check_baseline({*old_report, *old_metrics, old->tables(), old->names()},
                                          {report, *metrics, now->tables(), now->names()}, *tolerance);
  recording.conditions.insert(recording.conditions.end(), std::make_move_iterator(compared.begin()),
                              std::make_move_iterator(compared.end()));
  return recording;
}

}  // namespace sluice::cli
