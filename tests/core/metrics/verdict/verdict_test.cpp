#include "core/metrics/verdict/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <set>
#include <string>

#include "core/base/format.hpp"
#include "core/metrics/findings/shared/finder.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/verdict/finding_title.hpp"
#include "tests/core/metrics/reports.hpp"
#include "tests/core/recordings/each_seed.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice::metrics::verdicts {
namespace {

using testing::gib;
using ::testing::HasSubstr;
using testing::mib;
using testing::ms;
using ::testing::Not;
using testing::recording;
using ::testing::StartsWith;
using trace::severity;

constexpr trace::device_id gpu{1};

/// The tables of a recording on an H200 with 140 GiB.
class h200 {
 public:
  h200() {
    recorded_.standard_tables();
    recorded_.close();
    snapshot_ = recorded_.open()->latest();
  }
  [[nodiscard]] const trace::tables& tables() const { return snapshot_->tables(); }

 private:
  recording recorded_;
  std::shared_ptr<const trace::snapshot> snapshot_;
};

/// How a GPU spent 100 ms, in ms.
struct spent {
  time_ns busy = 100;  ///< With any work.
  time_ns only_copies = 0;
  time_ns only_collectives = 0;
  std::vector<std::pair<gap_cause, time_ns>> idle{};
};

report make_report(const spent& subject) {
  report output;
  output.complete = true;
  process_metric process;
  process.mode = trace::recording_mode::timeline;
  output.processes.push_back(process);
  output.span = output.whole.range = output.whole.active = {0, 100 * ms};
  device_activity activity;
  activity.device = gpu;
  activity.kernels = 10;
  activity.busy = subject.busy * ms;
  activity.copy_only = subject.only_copies * ms;
  activity.last = 100 * ms;
  output.whole.devices.push_back(activity);
  device_idle idle;
  idle.device = gpu;
  idle.span = {0, 100 * ms};
  idle.busy = activity.busy;
  idle.collectives_alone = subject.only_collectives * ms;
  for (const auto& [cause, length] : subject.idle) idle.causes.push_back({cause, 10, length * ms, ms});
  output.waste.idle_times.push_back(std::move(idle));
  memory_statistics memory;
  memory.device = gpu;
  memory.kind = trace::memory_kind::device;
  memory.maximum = 312 * mib;
  output.whole.memory.push_back(memory);
  memory_peak peak;
  peak.device = gpu;
  peak.kind = memory.kind;
  peak.bytes = memory.maximum;
  output.peaks.push_back(peak);
  return output;
}

finding& add(report& to, finding_kind kind, saving saves, severity how_bad = severity::info) {
  finding& output = to.findings.emplace_back();
  output.kind = kind;
  output.saves = saves;
  output.severity = how_bad;
  return output;
}
saving of_time(double share, time_ns time = 45 * ms) {
  return {.time = time, .basis = saving_basis::measured, .share = share};
}
saving of_peak(double share, std::uint64_t bytes = 80 * mib) {
  return {.peak_bytes = bytes, .basis = saving_basis::swept, .share = share};
}

run_verdict judge(report subject) {
  rank(subject.findings);
  return make_verdict(subject, h200().tables());
}

TEST(verdict, begins_with_how_busy_the_gpu_was_a_step_and_the_peak) {
  report subject = make_report({.busy = 45, .idle = {{gap_cause::launch, 55}}});
  step_summary steps;
  steps.count = 119;
  steps.median_duration = 6'350'000;
  steps.source = index::step_source::marks;
  subject.steps.push_back(steps);
  add(subject, finding_kind::idle_gaps, of_time(0.45)).detail = "kernel launches too slow";
  const run_verdict found = judge(subject);
  EXPECT_EQ(found.text,
            "GPU 45 % busy, 6.35 ms a step, peak 312 MiB of 140 GiB. The GPU waits for the host: kernel launches too "
            "slow (55 % of the time). Largest opportunity: GPU waits for the host: kernel launches too slow, saves up "
            "to 45.0 ms (45 % of the time after start-up, measured).");
  EXPECT_EQ(found.headline, "The GPU waits for the host: kernel launches too slow (55 % of the time)");
  EXPECT_EQ(found.bound, run_bound::launches);
  EXPECT_EQ(found.numbers.size(), 3U);
}

TEST(verdict, says_what_bounds_the_run) {
  EXPECT_EQ(judge(make_report({.busy = 95, .idle = {{gap_cause::queued, 5}}})).bound, run_bound::kernels);
  EXPECT_EQ(judge(make_report({.busy = 90, .only_copies = 60})).bound, run_bound::copies);
  EXPECT_EQ(judge(make_report({.busy = 20, .idle = {{gap_cause::data, 80}}})).bound, run_bound::idle);
  EXPECT_THAT(judge(make_report({.busy = 20, .idle = {{gap_cause::data, 60}, {gap_cause::wait, 20}}})).headline,
              HasSubstr("The GPU waits for the host: waiting for the next batch of the DataLoader (60 % of the time)"));
}

TEST(verdict, does_not_call_a_gpu_busy_that_only_communicates) {
  const run_verdict found = judge(make_report({.busy = 98, .only_collectives = 80}));
  EXPECT_THAT(found.text, StartsWith("GPU 18 % busy, 80 % only in collectives"));
  EXPECT_EQ(found.bound, run_bound::waiting);
  EXPECT_FALSE(found.no_problem);
}

TEST(verdict, finds_no_problem_only_on_a_busy_gpu_with_memory_left_and_no_finding) {
  const report fine = make_report({.busy = 97, .idle = {{gap_cause::queued, 3}}});
  EXPECT_THAT(judge(fine).text, HasSubstr("No problem found."));
  EXPECT_THAT(judge(fine).headline, StartsWith("No problem found: "));
  const report idle = make_report({.busy = 60, .idle = {{gap_cause::host, 40}}});
  EXPECT_FALSE(judge(idle).no_problem) << "the GPU is idle";
  report full = fine;
  full.whole.memory.front().maximum = 138 * gib;
  EXPECT_FALSE(judge(full).no_problem) << "the memory is nearly full";
  EXPECT_THAT(judge(full).text, HasSubstr("GPU memory nearly full (138 GiB of 140 GiB)"));
  report wasteful = fine;
  add(wasteful, finding_kind::held_late, of_peak(0.03));
  EXPECT_FALSE(judge(wasteful).no_problem);
  EXPECT_THAT(judge(wasteful).text, HasSubstr("Largest opportunity: Kept after last use"));
  report lossy = fine;
  add(lossy, finding_kind::lost_events, {}, severity::warning);
  EXPECT_FALSE(judge(lossy).no_problem) << "what was lost is unknown";
  EXPECT_THAT(judge(lossy).text, HasSubstr("Lost events."));
}

TEST(verdict, names_the_largest_saving_of_time_and_of_memory) {
  report subject = make_report({.busy = 97});
  add(subject, finding_kind::pageable_copies, of_time(0.12));
  add(subject, finding_kind::idle_block, of_peak(0.26));
  add(subject, finding_kind::held_late, of_peak(0.04));
  const run_verdict found = judge(subject);
  EXPECT_THAT(found.opportunity, StartsWith("Largest opportunity: Memory idle between two uses, saves up to 80.0 MiB "
                                            "of the peak (26 %, replayed). In time: Slow copies: pageable memory"));
  EXPECT_THAT(found.opportunity, Not(HasSubstr("Kept after")));
}

TEST(verdict, begins_with_an_error) {
  report subject = make_report({.busy = 97});
  add(subject, finding_kind::gpu_fault, {}, severity::error);
  EXPECT_THAT(judge(subject).text, StartsWith("GPU fault. GPU 97 % busy"));
  EXPECT_EQ(judge(subject).headline, "GPU fault");
}

TEST(verdict, says_by_how_much_memory_was_short) {
  report subject = make_report({.busy = 97});
  out_of_memory_report failure;
  failure.short_by = "14.2 GiB";
  failure.shortage = "Short by 14.2 GiB: 46.7 GiB asked; 28.9 GiB free on the GPU";
  subject.out_of_memory.push_back(failure);
  add(subject, finding_kind::failed_allocations, {}, severity::error).detail = "short by 14.2 GiB";
  EXPECT_THAT(judge(subject).text,
              StartsWith("Out of memory: short by 14.2 GiB: 46.7 GiB asked; 28.9 GiB free on the GPU. GPU 97 %"));
  EXPECT_EQ(judge(subject).headline, "Out of memory: short by 14.2 GiB");
}

TEST(verdict, names_a_leak_whatever_else_saves_more) {
  report subject = make_report({.busy = 50, .idle = {{gap_cause::host, 50}}});
  add(subject, finding_kind::idle_gaps, of_time(0.5)).detail = "host code";
  add(subject, finding_kind::memory_grows, of_peak(0.05), severity::warning).detail = "304 MiB in 19 blocks";
  EXPECT_THAT(judge(subject).text, HasSubstr("Memory leak: 304 MiB in 19 blocks"));
  EXPECT_THAT(judge(subject).opportunity, StartsWith("Largest opportunity: GPU waits for the host: host code"));
}

TEST(verdict, says_what_was_not_recorded) {
  report subject = make_report({});
  subject.whole.devices.clear();
  subject.waste.idle_times.clear();
  subject.processes.front().mode = trace::recording_mode::memory;
  EXPECT_EQ(judge(subject).text,
            "Peak 312 MiB of 140 GiB. No finding saves more than 3 %. Kernel times not recorded: use --mode timeline.");
  EXPECT_EQ(judge(subject).bound, run_bound::unknown);
  subject.processes.front().mode = trace::recording_mode::timeline;
  EXPECT_THAT(judge(subject).text, HasSubstr("No kernel ran."));
  subject.processes.front().mode = trace::recording_mode::unknown;
  EXPECT_THAT(judge(subject).text, HasSubstr("Kernel times not recorded.")) << "nobody can record them again with us";
  subject.peaks.clear();
  EXPECT_THAT(judge(subject).text, HasSubstr("GPU memory not recorded"));
}

TEST(verdict, names_the_rank_that_the_others_wait_for) {
  report subject = make_report({.busy = 98, .only_collectives = 60});
  finding& slow = add(subject, finding_kind::rank_imbalance, of_time(0.4));
  slow.rank = 3;
  EXPECT_THAT(judge(subject).headline, HasSubstr("The GPUs wait for rank 3 in collectives"));
  EXPECT_EQ(judge(subject).slow_rank, 3);
  subject.findings.front().saves = of_peak(0.4);
  EXPECT_EQ(judge(subject).slow_rank, -1) << "it needs more memory, and is not slower";
}

TEST(verdict, leaves_start_up_out) {
  report subject = make_report({.busy = 20, .idle = {{gap_cause::host, 80}}});
  gap_group start;
  start.device = gpu;
  start.cause = gap_cause::host;
  start.total = 70 * ms;
  start.recurring = 10 * ms;
  subject.waste.gaps.push_back(start);
  const run_verdict found = judge(subject);
  EXPECT_EQ(found.time, 40 * ms) << "60 ms happen only once";
  EXPECT_THAT(found.text, StartsWith("GPU 50 % busy after start-up"));
  EXPECT_EQ(found.idle_cause_time, 20 * ms);
}

TEST(verdict, speaks_of_the_time_between_the_first_and_the_last_work_and_says_what_it_leaves_out) {
  report subject = make_report({.busy = 20, .idle = {{gap_cause::launch, 20}}});
  subject.waste.idle_times.front().span = {60 * ms, 100 * ms};
  EXPECT_THAT(judge(subject).text, StartsWith("GPU 20 % busy, ")) << "the program already allocates";
  EXPECT_EQ(judge(subject).headline,
            "Between its first and last work (40.0 ms of 100 ms), the GPU is 50 % busy; idle time: mostly kernel "
            "launches too slow; before and after, it has no work (60 % of the time)");
}

/// Blocks that are added until the end, and never freed. With `works`, kernels run in between.
report leak(bool works) {
  recording recorded;
  recorded.standard_tables();
  for (int i = 0; i < 40; ++i) {
    const time_ns now = 10 * ms * (i + 1);
    recorded.add_alloc(now, static_cast<std::uint64_t>(i) + 1, 4 * mib);
    if (works) recorded.add_kernel(now + 1 * ms, now + 2 * ms);
  }
  return testing::build_report(recorded);
}

TEST(verdict, calls_a_leak_a_leak_with_and_without_kernel_times) {
  for (const bool works : {false, true})
    EXPECT_THAT(leak(works).verdict.text, HasSubstr("Memory leak: 156 MiB in 39 blocks"))
        << works << "; the newest may still be in use";
}

// --- over random reports -----------------------------------------------------------------------------------------------

class random_report {
 public:
  explicit random_report(std::uint64_t seed) : random_(seed) {}

  report make() {
    report output = make_report({.busy = 0});
    output.processes.front().mode = static_cast<trace::recording_mode>(number(0, 3));
    output.whole.devices.clear();
    output.waste.idle_times.clear();
    if (number(0, 4) > 0) add_device(output, gpu);
    if (number(0, 2) == 0) add_device(output, trace::device_id{2});
    if (number(0, 1) == 0) add_steps(output);
    if (number(0, 4) == 0) output.peaks.clear();
    output.peaks.resize(std::min<std::size_t>(output.peaks.size(), 1));
    for (memory_peak& each : output.peaks) each.bytes = output.whole.memory.front().maximum = number(1, 140) * gib;
    const std::uint64_t findings = number(0, 2) == 0 ? 0 : number(1, 6);
    for (std::uint64_t i = 0; i < findings; ++i) add_finding(output);
    rank(output.findings);
    return output;
  }

 private:
  std::uint64_t number(std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random_);
  }
  time_ns part_of(time_ns whole) {
    return number(0, 3) == 0 ? 0 : static_cast<time_ns>(number(0, static_cast<std::uint64_t>(whole)));
  }

  void add_device(report& to, trace::device_id device) {
    const time_ns active = to.whole.active.length();
    device_activity activity;
    activity.device = device;
    activity.kernels = 1;
    activity.busy = number(0, 2) == 0 ? active : part_of(active);
    activity.copy_only = part_of(activity.busy);
    activity.last = active;
    device_idle idle;
    idle.device = device;
    idle.span = to.whole.active;
    idle.busy = activity.busy;
    idle.collectives_alone = part_of(activity.busy - activity.copy_only);
    time_ns rest = active - activity.busy;
    for (const gap_cause cause : {gap_cause::host, gap_cause::launch, gap_cause::data}) {
      const time_ns total = cause == gap_cause::data ? rest : part_of(rest);
      rest -= total;
      if (total == 0) continue;
      idle.causes.push_back({cause, 1, total, total});
      gap_group group;
      group.device = device;
      group.cause = cause;
      group.total = total;
      group.recurring = total - part_of(total);
      to.waste.gaps.push_back(group);
    }
    to.whole.devices.push_back(activity);
    to.waste.idle_times.push_back(std::move(idle));
  }

  void add_steps(report& to) {
    step_summary steps;
    steps.count = number(1, 100);
    steps.median_duration = static_cast<time_ns>(number(1, 9'000'000));
    to.steps.push_back(steps);
  }

  void add_finding(report& to) {
    const double share = static_cast<double>(number(0, 1000)) / (number(0, 1) == 0 ? 1000 : 20'000);
    const auto kind = static_cast<finding_kind>(number(0, finding_kind_count - 1));
    const auto how_bad = number(0, 9) == 0 ? severity::error : number(0, 4) == 0 ? severity::warning : severity::info;
    saving saves = number(0, 1) == 0 ? of_time(share, static_cast<time_ns>(number(1, 90'000'000)))
                                     : of_peak(share, number(1, gib));
    saves.basis = static_cast<saving_basis>(number(0, 3));
    finding& one = add(to, kind, saves, how_bad);
    if (kind == finding_kind::rank_imbalance) one.rank = static_cast<std::int64_t>(number(0, 7));
  }

  std::mt19937_64 random_;
};

/// The numbers with a unit in a text: "45 %", "6.35 ms", "312 MiB".
std::set<std::string> numbers_in(const std::string& text) {
  static const std::regex number("[<>]?[0-9][0-9.,]* (%|ns|µs|ms|s|B|KiB|MiB|GiB)(?![A-Za-z])");
  return {std::sregex_token_iterator(text.begin(), text.end(), number), std::sregex_token_iterator()};
}

/// All numbers that a verdict may state, from the members of the report alone.
std::set<std::string> numbers_of(const report& subject) {
  std::set<std::string> known{"3 %"};
  const double working = working_time(subject);
  const double devices = static_cast<double>(subject.whole.devices.size());
  const auto share = [&](double part, double of) { known.insert(format_share(std::min(1.0, part / of))); };
  double busy = 0, copies = 0, collectives = 0, idle = 0;
  std::map<gap_cause, double> causes;
  for (std::size_t i = 0; i < subject.whole.devices.size(); ++i) {
    const auto copying = static_cast<double>(subject.whole.devices[i].copy_only);
    const auto talking = static_cast<double>(subject.waste.idle_times[i].collectives_alone);
    const double kernels = static_cast<double>(subject.whole.devices[i].busy) - copying - talking;
    for (const double each : {kernels, copying, talking}) share(each, working);
    busy += kernels, copies += copying, collectives += talking;
    idle += working - kernels - copying - talking;
    for (const cause_time& each : subject.waste.idle_times[i].causes)
      causes[each.cause] += static_cast<double>(each.total);
  }
  for (const gap_group& each : subject.waste.gaps)
    causes[each.cause] -= static_cast<double>(each.total - each.recurring);
  for (const double each : {busy, copies, collectives, idle}) share(each, working * devices);
  for (const auto& [cause, length] : causes) share(length, working * devices);
  for (const step_summary& each : subject.steps) known.insert(format_time(each.median_duration));
  for (const memory_peak& each : subject.peaks) known.insert(format_bytes(each.bytes));
  known.insert(format_bytes(subject.whole.memory.front().maximum));
  known.insert(format_bytes(140 * gib));
  for (const finding& each : subject.findings) known.merge(numbers_in(describe_saving(each.saves)));
  return known;
}

TEST(verdict, never_contradicts_its_findings_and_states_only_the_numbers_of_the_report) {
  const h200 here;
  std::size_t without_problem = 0;
  testing::for_each_seed(0, 3000, [&](std::uint64_t seed) {
    const report subject = random_report(seed).make();
    const run_verdict found = make_verdict(subject, here.tables());
    SCOPED_TRACE(found.text);
    const finding* largest = nullptr;
    for (const finding& each : subject.findings)
      if (each.severity != severity::error && each.saves.basis != saving_basis::none && each.saves.share >= 0.03 &&
          (largest == nullptr || each.saves.share > largest->saves.share))
        largest = &each;
    if (largest != nullptr) {
      EXPECT_FALSE(found.no_problem);
      EXPECT_THAT(found.text, HasSubstr("Largest opportunity: " + get_title(*largest) + ", saves " +
                                        describe_saving(largest->saves)));
    } else {
      EXPECT_THAT(found.text, Not(HasSubstr("Largest opportunity")));
    }
    for (const finding& each : subject.findings)
      if (each.severity == severity::error) {
        EXPECT_THAT(found.text, StartsWith(get_title(each)));
        break;
      }
    EXPECT_EQ(found.no_problem, found.text.find("No problem found") != std::string::npos);
    if (found.no_problem) {
      ++without_problem;
      for (const device_time& each : found.devices) EXPECT_GE(found.get_share(each.busy), 0.9);
      EXPECT_FALSE(found.near_limit);
      EXPECT_FALSE(found.devices.empty());
    }
    const std::set<std::string> known = numbers_of(subject);
    for (const std::string& each : numbers_in(found.text)) EXPECT_EQ(known.count(each), 1U) << each;
  });
  EXPECT_GT(without_problem, 10U) << "otherwise, the test says nothing about it";
}

}  // namespace
}  // namespace sluice::metrics::verdicts
