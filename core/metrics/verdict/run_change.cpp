#include "core/metrics/verdict/run_change.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "core/base/format.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/cause_times.hpp"

namespace sluice::metrics {
namespace {

/// Changes below this share are given in percent, larger ones as a factor.
constexpr double factor_from = 1.1;
/// A part of the time explains a change if its own change is at least this share of it.
constexpr double explains = 0.5;
/// What is left of a cause that went away, as a share of what it was.
constexpr double nearly_gone = 0.2;

bool is_about_same(double before, double after) {
  return std::abs(after - before) <= run_change::same * std::max(before, after);
}

change_trend judge(double before, double after) {
  if (is_about_same(before, after)) return change_trend::same;
  return after < before ? change_trend::better : change_trend::worse;
}

// --- findings -------------------------------------------------------------------------------------------------------

bool is_same_problem(const finding& a, const finding& b) {
  if (a.kind != b.kind || a.where.known != b.where.known || a.rank != b.rank) return false;
  // The detail of other kinds has numbers that differ from run to run.
  const bool waits = a.kind == finding_kind::idle_gaps || a.kind == finding_kind::frequent_waits ||
                     a.kind == finding_kind::hidden_waits;
  if (waits && a.detail != b.detail) return false;
  return !a.where.known || text_to_match(a.where.line) == text_to_match(b.where.line);
}

/// The modes in which the processes of a recording were recorded.
std::set<trace::recording_mode> list_modes(const report& subject) {
  std::set<trace::recording_mode> modes;
  for (const process_metric& each : subject.processes)
    if (each.mode != trace::recording_mode::unknown) modes.insert(each.mode);
  return modes;
}

/// The findings of one side that the other does not have, and the pairs of those that both have.
struct matched_findings {
  std::vector<std::size_t> missing;
  std::vector<std::pair<std::size_t, std::size_t>> kept;
};

/// Matches the findings of `here` with those of `there`. Each finding of `there` counts once. Only major ones are
/// missing.
matched_findings match(const std::vector<finding>& here, const std::vector<finding>& there) {
  std::vector<bool> used(there.size());
  matched_findings output;
  for (std::size_t i = 0; i < here.size(); ++i) {
    bool found = false;
    for (std::size_t j = 0; j < there.size() && !found; ++j) {
      if (used[j] || !is_same_problem(here[i], there[j])) continue;
      used[j] = true;
      found = there[j].major || there[j].saves.share * 2 >= here[i].saves.share;
      if (found && (here[i].major || there[j].major)) output.kept.emplace_back(i, j);
    }
    if (!found && here[i].major) output.missing.push_back(i);
  }
  return output;
}

// --- times ----------------------------------------------------------------------------------------------------------

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

/// What takes the time of a mean device after start-up, of a step or of the whole.
struct time_parts {
  double kernels = 0, copies = 0, collectives = 0;
  std::array<double, gap_cause_count> causes{};
};

time_parts find_parts(const report& subject, bool by_step) {
  time_parts output;
  const run_verdict& verdict = subject.verdict;
  const double divided = static_cast<double>(std::max<std::size_t>(verdict.devices.size(), 1)) *
                         (by_step ? static_cast<double>(std::max<std::uint64_t>(verdict.steps, 1)) : 1.0);
  for (const device_time& each : verdict.devices) {
    output.kernels += static_cast<double>(each.busy) / divided;
    output.copies += static_cast<double>(each.only_copies) / divided;
    output.collectives += static_cast<double>(each.only_collectives) / divided;
  }
  for (const device_idle& each : subject.waste.idle_times) {
    const auto times = sum_recurring(each, subject.waste);
    for (std::size_t i = 0; i < gap_cause_count; ++i) output.causes[i] += times[i] / divided;
  }
  return output;
}

/// What a GPU waits for, to follow "the GPU waits for".
std::string_view name_awaited(gap_cause cause) {
  switch (cause) {
    case gap_cause::host:
      return "host code";
    case gap_cause::wait:
      return "the host after synchronizing";
    case gap_cause::blocking_copy:
      return "blocking copies";
    case gap_cause::allocation:
      return "cudaMalloc";
    case gap_cause::release:
      return "cudaFree";
    case gap_cause::loading:
      return "module loading or compilation";
    case gap_cause::file:
      return "file I/O";
    case gap_cause::garbage:
      return "Python's garbage collection";
    case gap_cause::compilation:
      return "torch.compile";
    case gap_cause::data:
      return "the data loader";
    case gap_cause::lock:
      return "a lock or another thread";
    case gap_cause::gil:
      return "Python's GIL";
    case gap_cause::launch:
      return "kernel launches";
    case gap_cause::queued:
      return "work that is queued before";
  }
  return "the host";
}

std::string describe_wait(std::string_view what, double before, double after, bool one) {
  const std::string_view who = one ? "the GPU" : "the GPUs";
  const std::string_view waits = one ? "waits" : "wait";
  if (after < before)
    return after <= nearly_gone * before ? fmt::format("{} no longer {} for {}", who, one ? "waits" : "wait", what)
                                         : fmt::format("{} {} less for {}", who, waits, what);
  return before <= nearly_gone * after ? fmt::format("{} now {} for {}", who, waits, what)
                                       : fmt::format("{} {} longer for {}", who, waits, what);
}

/// Returns the part of the time that explains most of the change; empty if none explains enough.
std::string explain_change(const report& before, const report& after, const run_change& change) {
  if (!change.idle_known) return {};
  const time_parts first = find_parts(before, change.by_step), second = find_parts(after, change.by_step);
  const auto whole = static_cast<double>(change.time_after - change.time_before);
  double most = explains * std::abs(whole);
  std::string text;
  const auto offer = [&](double a, double b, auto&& describe) {
    const double part = whole < 0 ? a - b : b - a;
    if (part < most) return;
    most = part;
    text = describe();
  };
  const bool one = after.verdict.devices.size() <= 1;
  offer(first.kernels, second.kernels,
        [&] { return fmt::format("kernels take {} time", whole < 0 ? "less" : "more"); });
  offer(first.copies, second.copies, [&] { return describe_wait("copies", first.copies, second.copies, one); });
  offer(first.collectives, second.collectives,
        [&] { return fmt::format("the GPUs wait {} in collectives", whole < 0 ? "less" : "longer"); });
  for (std::size_t i = 0; i < gap_cause_count; ++i)
    offer(first.causes[i], second.causes[i], [&] {
      return describe_wait(name_awaited(static_cast<gap_cause>(i)), first.causes[i], second.causes[i], one);
    });
  return text;
}

// --- words ----------------------------------------------------------------------------------------------------------

std::string format_percent(double before, double after) {
  if (is_about_same(before, after) && std::abs(after - before) * 200 < before) return "same";
  if (before > 0 && after / before >= 10) return fmt::format("{:.0f}x", after / before);
  return fmt::format("{:+.0f} %", (after - before) / before * 100);
}

change_part describe_pair(std::string_view name, time_ns before, time_ns after) {
  if (format_time(before) == format_time(after)) return {fmt::format("{} ", name), format_time(after)};
  return {fmt::format("{} {} -> ", name, format_time(before)), format_time(after),
          judge(static_cast<double>(before), static_cast<double>(after))};
}

change_part describe_peak(std::uint64_t before, std::uint64_t after) {
  if (before == 0 || after == 0)
    return {{}, before == after ? "peak not recorded" : "peak recorded on one side only", change_trend::open};
  const auto from = static_cast<double>(before), to = static_cast<double>(after);
  if (is_about_same(from, to)) return {fmt::format("peak the same ({})", format_bytes(after)), {}};
  return {fmt::format("peak {} -> ", format_bytes(before)),
          fmt::format("{}{}", format_bytes(after), percent_of_change(from, to)), judge(from, to)};
}

void add_parts(const report& before, const report& after, run_change& to) {
  if (to.time_before > 0 && to.time_after > 0) {
    to.parts.push_back(describe_pair(to.by_step ? "a step" : "active time", to.time_before, to.time_after));
    if (to.idle_known)
      to.parts.push_back(describe_pair("idle", to.idle_before, to.idle_after));
    else
      to.parts.push_back({{}, "idle time not recorded", change_trend::open});
  } else {
    to.parts.push_back({{}, "times not recorded", change_trend::open});
  }
  to.parts.push_back(describe_peak(before.verdict.peak, after.verdict.peak));
  if (list_modes(before) != list_modes(after))
    return to.parts.push_back({{}, "findings not compared: recorded in different modes", change_trend::open});
  const change_trend findings = to.gone.size() > to.fresh.size()   ? change_trend::better
                                : to.gone.size() < to.fresh.size() ? change_trend::worse
                                : to.gone.empty()                  ? change_trend::same
                                                                   : change_trend::open;
  to.parts.push_back(
      {{},
       fmt::format("{} gone, {} new", format_some(to.gone.size(), "finding"), format_count(to.fresh.size())),
       findings});
}

/// The share of the time in which a mean device is busy; nothing if kernel times are unknown.
std::optional<double> find_busy(const run_verdict& subject) {
  if (subject.devices.empty() || subject.time <= 0) return std::nullopt;
  double sum = 0;
  for (const device_time& each : subject.devices) sum += subject.get_share(each.busy);
  return std::min(1.0, sum / static_cast<double>(subject.devices.size()));
}

/// The most pinned memory in use, in the lowest layer that has any.
std::uint64_t find_pinned(const report& subject) {
  for (const memory_statistics& each : subject.whole.memory)
    if (each.kind == trace::memory_kind::pinned && each.layer == trace::layer::driver) return each.maximum;
  return 0;
}

void add_numbers(const report& before, const report& after, run_change& to) {
  if (to.time_before > 0 && to.time_after > 0) {
    const auto a = static_cast<double>(to.time_before), b = static_cast<double>(to.time_after);
    to.numbers.push_back({format_percent(a, b), to.by_step ? "a step" : "active time", judge(a, b)});
  }
  const auto busy_before = find_busy(before.verdict), busy_after = find_busy(after.verdict);
  if (busy_before && busy_after) {
    const std::string a = format_share(*busy_before), b = format_share(*busy_after);
    // Slower kernels keep a GPU busy, too.
    const change_trend time = judge(static_cast<double>(to.time_before), static_cast<double>(to.time_after));
    const change_trend trend = a == b                                                       ? change_trend::same
                               : *busy_after > *busy_before && time == change_trend::better ? change_trend::better
                               : *busy_after < *busy_before && time == change_trend::worse  ? change_trend::worse
                                                                                            : change_trend::open;
    to.numbers.push_back({a == b ? a : fmt::format("{} -> {}", a, b), "GPU busy", trend});
  }
  if (before.verdict.peak > 0 && after.verdict.peak > 0) {
    const auto a = static_cast<double>(before.verdict.peak), b = static_cast<double>(after.verdict.peak);
    to.numbers.push_back({format_percent(a, b), "peak", judge(a, b)});
  }
  const std::uint64_t pinned_before = find_pinned(before), pinned_after = find_pinned(after);
  if (pinned_before == 0 && pinned_after == 0) return;
  const bool more = pinned_after > pinned_before;
  const std::uint64_t by = more ? pinned_after - pinned_before : pinned_before - pinned_after;
  to.numbers.push_back({by == 0 ? "same" : (more ? "+" : "-") + format_bytes(by), "pinned host memory",
                        judge(static_cast<double>(pinned_before), static_cast<double>(pinned_after))});
}

std::string describe_peak_in_words(double before, double after) {
  const double ratio = std::max(after / before, before / after);
  const std::string by = ratio < 2 ? format_share(std::abs(after - before) / before) : fmt::format("{:.1f}x", ratio);
  return fmt::format("{} {}", by, after < before ? "lower" : "higher");
}

std::string make_headline(const report& before, const report& after, const run_change& change) {
  if (!change.same_command)
    return fmt::format("Different commands: {} and {}", get_program(get_command(before)),
                       get_program(get_command(after)));
  const auto peak_before = static_cast<double>(before.verdict.peak);
  const auto peak_after = static_cast<double>(after.verdict.peak);
  const bool peaks = peak_before > 0 && peak_after > 0;
  const bool times = change.time_before > 0 && change.time_after > 0;
  if (!times && !peaks) return "Nothing to compare: neither times nor a peak were recorded on both sides";
  if (change.time_before == change.time_after && change.idle_before == change.idle_after && peak_before == peak_after &&
      change.gone.empty() && change.fresh.empty())
    return "No difference";
  const bool same_peak = !peaks || is_about_same(peak_before, peak_after);
  if (!times) return same_peak ? "The same peak" : "The peak is " + describe_peak_in_words(peak_before, peak_after);
  const auto a = static_cast<double>(change.time_before), b = static_cast<double>(change.time_after);
  std::string text = describe_speed(a, b);
  if (is_about_same(a, b))
    return same_peak ? text : text + ", and the peak is " + describe_peak_in_words(peak_before, peak_after);
  if (const std::string why = explain_change(before, after, change); !why.empty()) text += ": " + why;
  return text;
}

}  // namespace

std::string_view get_word(change_trend trend) {
  switch (trend) {
    case change_trend::same:
      return "same";
    case change_trend::better:
      return "better";
    case change_trend::worse:
      return "worse";
    case change_trend::open:
      break;
  }
  return "open";
}

std::string describe_parts(const run_change& change) {
  std::string text;
  for (const change_part& each : change.parts) text += (text.empty() ? "" : "; ") + each.lead + each.value;
  return text;
}

run_change compare_runs(const report& before, const report& after) {
  run_change output;
  const run_verdict& first = before.verdict;
  const run_verdict& second = after.verdict;
  const std::string_view command = get_command(before), other = get_command(after);
  output.same_command = command.empty() || other.empty() || get_program(command) == get_program(other);
  output.by_step = first.step > 0 && second.step > 0;
  output.time_before = output.by_step ? first.step : before.whole.active.length();
  output.time_after = output.by_step ? second.step : after.whole.active.length();
  output.idle_known = !first.devices.empty() && !second.devices.empty();
  if (output.idle_known) {
    output.idle_before = compute_idle(first, output.by_step);
    output.idle_after = compute_idle(second, output.by_step);
  }
  matched_findings matched = match(before.findings, after.findings);
  output.kept = std::move(matched.kept);
  // A recording in one mode cannot have all findings of one in another mode.
  if (list_modes(before) == list_modes(after)) {
    output.gone = std::move(matched.missing);
    output.fresh = match(after.findings, before.findings).missing;
  }
  add_parts(before, after, output);
  add_numbers(before, after, output);
  output.headline = make_headline(before, after, output);
  return output;
}

}  // namespace sluice::metrics
