#include "core/query/types/step_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "core/index/labels.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using metrics::range_statistics;

constexpr std::size_t min_for_outliers = 5;
// The numbers that `find_outliers` uses. Its comment in the header gives their source.
constexpr double usual_deviations = 3.5;
// The standard deviation of normal values is this many median deviations.
constexpr double by_median_deviation = 1.4826;
constexpr double by_mean_deviation = 1.2533;  // The standard deviation of normal values is this many mean deviations.
constexpr double min_share = 0.05;            // An outlier differs by more than this share of the median.
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double find_middle(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Collects the statistics of consecutive steps. Each metric becomes a column with one value per step.
class metric_columns {
 public:
  /// Continues after the existing metrics.
  explicit metric_columns(step_statistics& into) : into_(into) {
    for (std::size_t i = 0; i < into.metrics.size(); ++i) places_.emplace(into.metrics[i].label, i);
  }

  void begin_step(std::size_t number) { step_ = number; }
  /// `absent`: the value for steps without the metric.
  void put(std::string label, metric_unit unit, double value, double absent = 0) {
    const auto [at, fresh] = places_.try_emplace(std::move(label), into_.metrics.size());
    if (fresh && into_.metrics.size() >= step_statistics::metric_limit) {
      places_.erase(at);
      return;
    }
    if (fresh) into_.metrics.push_back({at->first, unit, std::vector<double>(step_, absent), 0, {}, absent});
    std::vector<double>& values = into_.metrics[at->second].values;
    if (values.size() == step_) {
      values.push_back(value);
    } else {
      values.back() += value;  // Metrics with the same label are added.
    }
  }
  void end_step() {
    for (step_metric& each : into_.metrics)
      if (each.values.size() == step_) each.values.push_back(each.absent);
  }

 private:
  step_statistics& into_;
  std::size_t step_ = 0;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Puts every metric of the statistics panel into the columns.
class metrics_of_step {
 public:
  metrics_of_step(metric_columns& to, const trace::tables& tables) : to_(to), tables_(tables) {}

  void put(const range_statistics& statistics, time_ns duration) {
    time("duration", duration);
    for (const auto& each : statistics.memory) put(each);
    for (const auto& each : statistics.devices) put(each);
    for (const auto& each : statistics.transfers) put(each);
    for (const auto& each : statistics.pools) {
      const std::string pool = index::pool_label(each.pool, tables_);
      bytes("reserved, " + pool, each.reserved_maximum);
      bytes("used, " + pool, each.used_maximum);
    }
    for (const auto& each : statistics.untracked) {
      const std::string device = index::short_label(each.device, tables_);
      bytes("untracked peak, " + device, each.maximum);
    }
    for (const auto& each : statistics.threads) {
      const std::string thread = index::thread_label(each.thread, tables_);
      time("in calls, " + thread, each.call_busy);
      time("waiting, " + thread, each.wait_busy);
      count("calls, " + thread, each.calls);
      if (each.file_operations > 0) time("file I/O, " + thread, each.file_busy);
    }
    names("kernel ", statistics.kernels, statistics.kernel_names > statistics.kernels.size());
    names("call ", statistics.calls, statistics.calls.size() >= range_statistics::named_limit);
    names("range ", statistics.ranges, statistics.ranges.size() >= range_statistics::named_limit);
  }

 private:
  void bytes(std::string label, std::uint64_t value) {
    to_.put(std::move(label), metric_unit::bytes, static_cast<double>(value));
  }
  void count(std::string label, std::uint64_t value) {
    to_.put(std::move(label), metric_unit::count, static_cast<double>(value));
  }
  void time(std::string label, time_ns value, double absent = 0) {
    to_.put(std::move(label), metric_unit::time, static_cast<double>(value), absent);
  }

  void put(const metrics::memory_statistics& statistics) {
    const std::string subject = fmt::format("{}, {}", index::short_label(statistics.device, tables_),
                                            describe_memory(statistics.layer, statistics.kind));
    bytes("peak, " + subject, statistics.maximum);
    to_.put("mean, " + subject, metric_unit::bytes, statistics.mean);
    bytes("at the end, " + subject, statistics.at_end);
    bytes("allocated, " + subject, statistics.allocated_bytes);
    count("allocations, " + subject, statistics.allocations);
    bytes("freed, " + subject, statistics.freed_bytes);
    count("frees, " + subject, statistics.frees);
  }

  void put(const metrics::device_activity& activity) {
    const std::string device = index::short_label(activity.device, tables_);
    time("busy, " + device, activity.busy);
    time("kernels, " + device, activity.kernel_busy);
    count("number of kernels, " + device, activity.kernels);
    time("copies, " + device, activity.copy_busy);
    time("copies with kernels, " + device, activity.overlap);
    time("copies alone, " + device, activity.copy_only);
    time("memsets, " + device, activity.memset_busy);
  }

  void put(const metrics::transfer_statistics& statistics) {
    const std::string subject =
        fmt::format("{}, {}", index::short_label(statistics.device, tables_), get_name(statistics.direction));
    to_.put("copied, " + subject, metric_unit::bytes, statistics.bytes);
    count("copies, " + subject, statistics.count);
    to_.put("mean bandwidth, " + subject, metric_unit::rate, statistics.mean_bandwidth, unknown);
    time("copying, " + subject, statistics.busy);
  }

  /// `cut`: the step has more names than `times` lists.
  void names(const char* subject, const std::vector<metrics::named_time>& times, bool cut) {
    for (const auto& each : times) time(subject + std::string(tables_.text(each.name)), each.total, cut ? unknown : 0);
  }

  metric_columns& to_;
  const trace::tables& tables_;
};

std::string label_of_process(trace::process_id id, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(id);
  const std::string rank = row != nullptr && row->rank >= 0 ? fmt::format("Rank {}, ", row->rank) : std::string();
  return rank + index::process_label(id, tables);
}

/// Returns the steps of a query, without metrics.
step_statistics steps_asked_for(const step_statistics_query& query, const sources& source) {
  step_statistics statistics;
  const auto facts = get_facts(source);
  for (const auto& [process, list] : facts->steps->lists())
    if (!list.steps.empty())
      statistics.processes.push_back({process, label_of_process(process, source.trace.tables()), list.steps.size()});
  std::stable_sort(statistics.processes.begin(), statistics.processes.end(),
                   [](const auto& a, const auto& b) { return a.steps > b.steps; });
  if (statistics.processes.empty()) return statistics;
  statistics.process = query.process == trace::process_id::none ? statistics.processes.front().process : query.process;
  const auto list = facts->steps->lists().find(statistics.process);
  if (list == facts->steps->lists().end()) return statistics;
  statistics.source = list->second.source;
  statistics.step_count = list->second.steps.size();
  const auto kept = std::min<std::size_t>(list->second.steps.size(), step_statistics::step_limit);
  statistics.steps.assign(list->second.steps.begin(), list->second.steps.begin() + static_cast<std::ptrdiff_t>(kept));
  return statistics;
}

/// Returns the requested steps, with the values of steps that were settled in the result `before`, which may be null.
step_statistics steps_after(const step_statistics* before, const step_statistics_query& query, const sources& source) {
  step_statistics statistics = steps_asked_for(query, source);
  if (before == nullptr || before->process != statistics.process) return statistics;
  const std::size_t known = std::min<std::size_t>(before->settled, statistics.steps.size());
  const auto same = [](const index::step& a, const index::step& b) { return a.span == b.span && a.number == b.number; };
  // Inferred steps may have changed since.
  if (!std::equal(statistics.steps.begin(), statistics.steps.begin() + static_cast<std::ptrdiff_t>(known),
                  before->steps.begin(), same))
    return statistics;
  statistics.metrics = before->metrics;
  for (step_metric& each : statistics.metrics) each.values.resize(known);
  statistics.measured = known;
  return statistics;
}

/// Measures one step after another. Each step is a range of its own.
class step_measurer final : public query_operator<step_statistics> {
 public:
  step_measurer(const step_statistics_query& query, std::shared_ptr<const step_statistics> before)
      : query_(query), before_(std::move(before)) {}

  result<reading_plan> plan(const sources& source) override {
    grows_ = source.stored == nullptr;
    made_ = steps_after(before_.get(), query_, source);
    columns_.emplace(made_);
    reading_plan plan;
    for (std::size_t i = made_.measured; i < made_.steps.size(); ++i)
      plan.ranges.push_back(bounded(made_.steps[i].span));
    return plan;
  }

  result<void> add(const sources& source, time_range part) override {
    const time_range span = made_.steps[made_.measured].span;
    if (!measurer_) measurer_.emplace(span);
    measurer_->add(source.index, part);
    if (part.end < bounded(span).end) return {};
    columns_->begin_step(made_.measured);
    metrics_of_step(*columns_, source.trace.tables()).put(measurer_->metrics(source.trace.tables()), span.length());
    columns_->end_step();
    ++made_.measured;
    measurer_.reset();
    return {};
  }

  result<step_statistics> finish(const sources& source) override {
    step_statistics statistics = made_;
    statistics.settled = std::min<std::uint64_t>(statistics.measured, grows_ ? settled_steps(source) : 0);
    for (step_metric& each : statistics.metrics) each.outliers = find_outliers(each.values, each.median);
    // Metrics without any positive value are not informative.
    std::erase_if(statistics.metrics, [](const step_metric& each) {
      return std::none_of(each.values.begin(), each.values.end(), [](double value) { return value > 0; });
    });
    return statistics;
  }

 private:
  /// Returns the number of steps that have ended and of which all recorded rows have arrived.
  [[nodiscard]] std::uint64_t settled_steps(const sources& source) const {
    constexpr time_ns latest_row = 1'000'000'000;  // Rows arrive at most this late, except for device work.
    time_ns until = index::recorded_range(source.trace).end - latest_row;
    // Device work may arrive later. The watermark is the time up to which it is complete.
    const auto mark = source.index.watermarks().find(made_.process);
    if (mark != source.index.watermarks().end()) until = std::min(until, mark->second);
    return static_cast<std::uint64_t>(
        std::partition_point(made_.steps.begin(), made_.steps.end(),
                             [until](const index::step& each) { return each.span.end <= until; }) -
        made_.steps.begin());
  }

  const step_statistics_query query_;
  const std::shared_ptr<const step_statistics> before_;
  bool grows_ = false;
  step_statistics made_;
  std::optional<metric_columns> columns_;            ///< Refers to `made_`.
  std::optional<metrics::range_measurer> measurer_;  ///< Measures the current step.
};

}  // namespace

std::vector<std::uint32_t> find_outliers(const std::vector<double>& values, double& median) {
  std::vector<double> known;
  for (const double value : values)
    if (!std::isnan(value)) known.push_back(value);
  median = known.empty() ? 0 : find_middle(known);
  if (known.size() < min_for_outliers) return {};
  double sum = 0;
  for (double& value : known) sum += value = std::fabs(value - median);
  const double middle = find_middle(known);
  const double usual =
      middle > 0 ? middle * by_median_deviation : sum / static_cast<double>(known.size()) * by_mean_deviation;
  const double most = std::max(usual * usual_deviations, std::fabs(median) * min_share);
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::fabs(values[i] - median) > most) found.push_back(static_cast<std::uint32_t>(i));
  return found;
}

operator_of<step_statistics_query> make_operator(const step_statistics_query& query,
                                                 std::shared_ptr<const step_statistics> before) {
  return std::make_unique<step_measurer>(query, std::move(before));
}

}  // namespace sluice::query
