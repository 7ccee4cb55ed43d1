#include "core/query/answers/panels/step_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/index/labels.hpp"
#include "core/query/answers/panels/long_panels.hpp"
#include "core/query/engine/find_answer.hpp"
#include "core/query/engine/row_source.hpp"
#include "core/trace/model/names.hpp"

namespace sluice::query {
namespace {

using analysis::range_statistics;

constexpr std::size_t least_for_outliers = 5;
// See outliers_of.
constexpr double usual_deviations = 3.5;
constexpr double by_median_deviation = 1.4826;  // the standard deviation of normal values, in median deviations
constexpr double by_mean_deviation = 1.2533;    // the same, in mean deviations
constexpr double least_share = 0.05;            // of the median
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double middle_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Puts the statistics of one step after the other into figures.
class figure_columns {
 public:
  /// Goes on behind the figures that are there.
  explicit figure_columns(step_statistics& into) : into_(into) {
    for (std::size_t i = 0; i < into.figures.size(); ++i) places_.emplace(into.figures[i].label, i);
  }

  void begin_step(std::size_t number) { step_ = number; }
  /// `absent`: the value of steps that do not have the figure.
  void put(std::string label, figure_unit unit, double value, double absent = 0) {
    const auto [at, fresh] = places_.try_emplace(std::move(label), into_.figures.size());
    if (fresh && into_.figures.size() >= step_statistics::figure_limit) {
      places_.erase(at);
      return;
    }
    if (fresh) into_.figures.push_back({at->first, unit, std::vector<double>(step_, absent), 0, {}, absent});
    std::vector<double>& values = into_.figures[at->second].values;
    if (values.size() == step_) {
      values.push_back(value);
    } else {
      values.back() += value;  // Several have that label.
    }
  }
  void end_step() {
    for (step_figure& each : into_.figures)
      if (each.values.size() == step_) each.values.push_back(each.absent);
  }

 private:
  step_statistics& into_;
  std::size_t step_ = 0;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Every figure of the panel of statistics.
class figures_of_step {
 public:
  figures_of_step(figure_columns& to, const trace::tables& tables) : to_(to), tables_(tables) {}

  void put(const range_statistics& all, time_ns duration) {
    time("duration", duration);
    for (const auto& each : all.memory) put(each);
    for (const auto& each : all.devices) put(each);
    for (const auto& each : all.transfers) put(each);
    for (const auto& each : all.pools) {
      const std::string pool = analysis::pool_label(each.pool, tables_);
      bytes("reserved, " + pool, each.reserved_maximum);
      bytes("used, " + pool, each.used_maximum);
    }
    for (const auto& each : all.untracked) {
      const std::string device = analysis::short_label(each.device, tables_);
      bytes("untracked peak, " + device, each.maximum);
    }
    for (const auto& each : all.threads) {
      const std::string thread = analysis::thread_label(each.thread, tables_);
      time("in calls, " + thread, each.call_busy);
      time("waiting, " + thread, each.wait_busy);
      count("calls, " + thread, each.calls);
      if (each.file_operations > 0) time("file I/O, " + thread, each.file_busy);
    }
    names("kernel ", all.kernels, all.kernel_names > all.kernels.size());
    names("call ", all.calls, all.calls.size() >= range_statistics::named_limit);
    names("range ", all.ranges, all.ranges.size() >= range_statistics::named_limit);
  }

 private:
  void bytes(std::string label, std::uint64_t value) {
    to_.put(std::move(label), figure_unit::bytes, static_cast<double>(value));
  }
  void count(std::string label, std::uint64_t value) {
    to_.put(std::move(label), figure_unit::count, static_cast<double>(value));
  }
  void time(std::string label, time_ns value, double absent = 0) {
    to_.put(std::move(label), figure_unit::time, static_cast<double>(value), absent);
  }

  void put(const analysis::memory_statistics& of) {
    const std::string what =
        fmt::format("{}, {}: {}", analysis::short_label(of.device, tables_), name_of(of.layer), name_of(of.kind));
    bytes("peak, " + what, of.maximum);
    to_.put("mean, " + what, figure_unit::bytes, of.mean);
    bytes("at the end, " + what, of.at_end);
    bytes("allocated, " + what, of.allocated_bytes);
    count("allocations, " + what, of.allocations);
    bytes("freed, " + what, of.freed_bytes);
    count("frees, " + what, of.frees);
  }

  void put(const analysis::device_activity& of) {
    const std::string device = analysis::short_label(of.device, tables_);
    time("busy, " + device, of.busy);
    time("kernels, " + device, of.kernel_busy);
    count("number of kernels, " + device, of.kernels);
    time("copies, " + device, of.copy_busy);
    time("copies with kernels, " + device, of.overlap);
    time("copies alone, " + device, of.copy_only);
    time("memsets, " + device, of.memset_busy);
  }

  void put(const analysis::transfer_statistics& of) {
    const std::string what = fmt::format("{}, {}", analysis::short_label(of.device, tables_), name_of(of.direction));
    to_.put("copied, " + what, figure_unit::bytes, of.bytes);
    count("copies, " + what, of.count);
    to_.put("mean bandwidth, " + what, figure_unit::rate, of.mean_bandwidth, unknown);
    time("copying, " + what, of.busy);
  }

  /// `cut`: there are more names in this step.
  void names(const char* what, const std::vector<analysis::named_time>& all, bool cut) {
    for (const auto& each : all) time(what + std::string(tables_.text(each.name)), each.total, cut ? unknown : 0);
  }

  figure_columns& to_;
  const trace::tables& tables_;
};

std::string label_of_process(trace::process_id id, const trace::tables& tables) {
  const trace::process_row* row = tables.processes.find(id);
  const std::string rank = row != nullptr && row->rank >= 0 ? fmt::format("Rank {}, ", row->rank) : std::string();
  return rank + analysis::process_label(id, tables);
}

/// The steps that a question is about, without figures.
step_statistics steps_asked_for(const step_statistics_question& question, const sources& from) {
  step_statistics made;
  const auto facts = facts_of(from);
  for (const auto& [process, list] : facts->steps->lists())
    if (!list.steps.empty())
      made.processes.push_back({process, label_of_process(process, from.trace.tables()), list.steps.size()});
  std::stable_sort(made.processes.begin(), made.processes.end(),
                   [](const auto& a, const auto& b) { return a.steps > b.steps; });
  if (made.processes.empty()) return made;
  made.process = question.process == trace::process_id::none ? made.processes.front().process : question.process;
  const auto list = facts->steps->lists().find(made.process);
  if (list == facts->steps->lists().end()) return made;
  made.source = list->second.source;
  made.step_count = list->second.steps.size();
  const auto kept = std::min<std::size_t>(list->second.steps.size(), step_statistics::step_limit);
  made.steps.assign(list->second.steps.begin(), list->second.steps.begin() + static_cast<std::ptrdiff_t>(kept));
  return made;
}

/// The steps as asked for, with the values of steps that were settled in the answer `before`. Null: none are known.
step_statistics steps_after(const step_statistics* before, const step_statistics_question& question,
                            const sources& from) {
  step_statistics made = steps_asked_for(question, from);
  if (before == nullptr || before->process != made.process) return made;
  const std::size_t known = std::min<std::size_t>(before->settled, made.steps.size());
  const auto same = [](const analysis::step& a, const analysis::step& b) {
    return a.span == b.span && a.number == b.number;
  };
  // Steps that are inferred may turn out to be others.
  if (!std::equal(made.steps.begin(), made.steps.begin() + static_cast<std::ptrdiff_t>(known), before->steps.begin(),
                  same))
    return made;
  made.figures = before->figures;
  for (step_figure& each : made.figures) each.values.resize(known);
  made.measured = known;
  return made;
}

/// Measures one step after another.
class step_measurer final : public long_answer<step_statistics> {
 public:
  step_measurer(const step_statistics_question& question, const sources& from, const step_statistics* before = nullptr)
      : from_(from), made_(steps_after(before, question, from)), columns_(made_) {}

  result<bool> work(std::chrono::steady_clock::time_point deadline, const std::atomic<bool>& cancelled) override {
    while (made_.measured < made_.steps.size()) {
      if (cancelled) return fail(error_code::cancelled, "the question was withdrawn");
      const time_range span = made_.steps[made_.measured].span;
      const auto measured = measure({span}, cancelled);
      if (!measured) return tl::unexpected(measured.error());
      columns_.begin_step(made_.measured);
      figures_of_step(columns_, from_.trace.tables()).put(*measured, span.length());
      columns_.end_step();
      ++made_.measured;
      if (std::chrono::steady_clock::now() >= deadline) break;
    }
    return made_.measured >= made_.steps.size();
  }

  [[nodiscard]] float progress() const override {
    return made_.steps.empty() ? 1 : static_cast<float>(made_.measured) / static_cast<float>(made_.steps.size());
  }

  result<step_statistics> so_far(bool& /*provisional*/) override {
    step_statistics made = made_;
    made.settled = std::min<std::uint64_t>(made.measured, settled_steps());
    for (step_figure& each : made.figures) each.outliers = outliers_of(each.values, each.median);
    // What never is anything tells nothing.
    std::erase_if(made.figures, [](const step_figure& each) {
      return std::none_of(each.values.begin(), each.values.end(), [](double value) { return value > 0; });
    });
    return made;
  }

 private:
  /// How many steps are over, and all that was recorded in them is known.
  [[nodiscard]] std::uint64_t settled_steps() const {
    if (from_.stored != nullptr) return 0;
    constexpr time_ns latest_row = 1'000'000'000;  // Rows come at most so long after what they are about,
    time_ns until = analysis::time_range_of(from_.trace).end - latest_row;
    // except for work of devices.
    const auto mark = from_.index.watermarks().find(made_.process);
    if (mark != from_.index.watermarks().end()) until = std::min(until, mark->second);
    return static_cast<std::uint64_t>(
        std::partition_point(made_.steps.begin(), made_.steps.end(),
                             [until](const analysis::step& each) { return each.span.end <= until; }) -
        made_.steps.begin());
  }

  [[nodiscard]] result<range_statistics> measure(const statistics_question& question,
                                                 const std::atomic<bool>& cancelled) {
    if (from_.stored == nullptr) return answer_to(question, from_);
    if (auto found = find_answer(question, from_)) return std::move(*found);
    const auto many = start_long_answer(question, from_);
    if (!many) return fail(error_code::unavailable, "the recording does not tell of its sections", from_.trace.path());
    bool provisional = false;
    const auto done = many->work(std::chrono::steady_clock::time_point::max(), cancelled);
    return done ? many->so_far(provisional) : tl::unexpected(done.error());
  }

  const sources from_;
  step_statistics made_;
  figure_columns columns_;
};

}  // namespace

std::vector<std::uint32_t> outliers_of(const std::vector<double>& values, double& median) {
  std::vector<double> known;
  for (const double value : values)
    if (!std::isnan(value)) known.push_back(value);
  median = known.empty() ? 0 : middle_of(known);
  if (known.size() < least_for_outliers) return {};
  double sum = 0;
  for (double& value : known) sum += value = std::fabs(value - median);
  const double middle = middle_of(known);
  const double usual =
      middle > 0 ? middle * by_median_deviation : sum / static_cast<double>(known.size()) * by_mean_deviation;
  const double most = std::max(usual * usual_deviations, std::fabs(median) * least_share);
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::fabs(values[i] - median) > most) found.push_back(static_cast<std::uint32_t>(i));
  return found;
}

std::unique_ptr<long_answer<step_statistics>> start_long_panel(const step_statistics_question& question,
                                                               const sources& from) {
  if (from.stored == nullptr || !from.stored->sections) return nullptr;
  return std::make_unique<step_measurer>(question, from);
}

result<step_statistics> answer_to(const step_statistics_question& question, const sources& from) {
  return answer_after(nullptr, question, from);
}

result<step_statistics> answer_after(const step_statistics* before, const step_statistics_question& question,
                                     const sources& from) {
  step_measurer all(question, from, before);
  if (const auto done = all.work(std::chrono::steady_clock::time_point::max(), from.cancelled); !done)
    return tl::unexpected(done.error());
  return all.so_far(from.provisional);
}

}  // namespace sluice::query
