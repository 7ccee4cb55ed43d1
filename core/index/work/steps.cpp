#include "core/index/work/steps.hpp"
#include "core/base/lower_case.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <tuple>
#include <unordered_map>

namespace sluice::index {

// --- steps that the program marks -----------------------------------------------------------------------------------

std::size_t step_list::begun_between(time_ns begin, time_ns to) const {
  const auto before = [](time_ns time, const step& s) { return time < s.span.begin; };
  const auto first = std::upper_bound(steps.begin(), steps.end(), begin, before);
  const auto last = std::upper_bound(steps.begin(), steps.end(), std::max(begin, to), before);
  return static_cast<std::size_t>(last - first);
}

const step* step_list::at(time_ns time) const {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time, [](time_ns t, const step& s) { return t < s.span.begin; });
  if (after == steps.begin()) return nullptr;
  const step& candidate = *(after - 1);
  return time < candidate.span.end ? &candidate : nullptr;
}

step_marks::meaning step_marks::find_meaning(std::string_view name) {
  const auto number_in = [](std::string_view digits) -> std::optional<std::int64_t> {
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (failure != std::errc{} || end != digits.data() + digits.size() || number < 0) return std::nullopt;
    return number;
  };
  constexpr std::string_view profiler = "ProfilerStep#";
  if (name.starts_with(profiler)) {
    const auto number = number_in(name.substr(profiler.size()));
    return number ? meaning{step_source::profiler_ranges, number} : meaning{};
  }
  const std::string lower = lower_case(name.substr(0, 40));
  std::string_view rest = lower;
  for (const std::string_view prefix : {"training", "train"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    if (!rest.empty() && (rest[0] == '_' || rest[0] == ' ' || rest[0] == '-')) rest.remove_prefix(1);
    break;
  }
  for (const std::string_view word : {"iteration", "iter", "step"}) {
    if (!rest.starts_with(word)) continue;
    rest.remove_prefix(word.size());
    while (!rest.empty() && std::string_view(" _-#:=").find(rest[0]) != std::string_view::npos) rest.remove_prefix(1);
    if (rest.empty()) return {step_source::named_ranges, std::nullopt};
    const auto number = number_in(rest);
    return number ? meaning{step_source::named_ranges, number} : meaning{};
  }
  return {};
}

void step_marks::add(const trace::marker_event& row) {
  if (row.step < 0) return;
  const time_ns time = bounded(row.time);
  by_process_[row.process].marks.push_back({{time, time}, row.step, row.id});
}

void step_marks::add(const trace::host_range_event& row, const trace::tables& tables) {
  const auto [place, fresh] = names_.try_emplace(row.name);
  if (fresh) place->second = find_meaning(tables.text(row.name));
  if (place->second.source == step_source::none || row.end == trace::unknown_time || row.end <= row.time) return;
  process_marks& marks = by_process_[row.process];
  const auto [domain, unseen] = device_domains_.try_emplace(row.domain);
  if (unseen) domain->second = tables.text(row.domain) == "gpu_user_annotation";
  const bool profiler = place->second.source == step_source::profiler_ranges;
  auto& into = domain->second ? (profiler ? marks.profiler_on_device : marks.named_on_device)
                              : (profiler ? marks.profiler : marks.named);
  into.push_back({bounded(time_range{row.time, row.end}), place->second.number, row.id});
}

std::vector<trace::process_id> step_marks::processes() const {
  std::vector<trace::process_id> ids;
  for (const auto& [process, marks] : by_process_) ids.push_back(process);
  return ids;
}

bool step_marks::tells_steps_of(trace::process_id process) const {
  const auto known = by_process_.find(process);
  if (known == by_process_.end()) return false;
  const process_marks& marks = known->second;
  return !marks.marks.empty() || std::max({marks.profiler.size(), marks.named.size(), marks.profiler_on_device.size(),
                                           marks.named_on_device.size()}) >= 2;
}

void step_marks::add(const trace::kernel_event& row) {
  latest_kernels& subject = kernels_[row.process];
  subject.all.push_back({bounded(row.time), row.id, row.name});
  subject.sample(bounded(row.time));
  ++kernels_kept_;
  if (subject.all.size() >= 2 * max_kernels_) subject.keep_latest(max_kernels_, kernels_kept_);
  // With very many processes, fewer kernels of each process are kept.
  while (kernels_kept_ > max_kernels_of_all && max_kernels_ > 64) {
    max_kernels_ /= 2;
    for (auto& [process, kernels] : kernels_) kernels.keep_latest(max_kernels_, kernels_kept_);
  }
}

void step_marks::latest_kernels::sample(time_ns time) {
  if (seen++ % stride != 0) return;
  times.push_back(time);
  if (times.size() < max_sampled_kernels) return;
  for (std::size_t i = 0; 2 * i < times.size(); ++i) times[i] = times[2 * i];
  times.resize(times.size() / 2);
  stride *= 2;
}

void step_marks::latest_kernels::keep_latest(std::size_t most, std::size_t& kept) {
  if (all.size() <= most) return;
  const auto cut = all.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(all.begin(), cut, all.end(), [](const kernel_start& a, const kernel_start& b) { return b < a; });
  kept -= all.size() - most;
  all.erase(cut, all.end());
}

std::vector<kernel_start> step_marks::list_kernels(trace::process_id process) const {
  const auto found = kernels_.find(process);
  if (found == kernels_.end()) return {};
  std::vector<kernel_start> starts = found->second.all;
  std::sort(starts.begin(), starts.end());
  if (starts.size() > max_kernels_)
    starts.erase(starts.begin(), starts.end() - static_cast<std::ptrdiff_t>(max_kernels_));
  return starts;
}

std::vector<time_ns> step_marks::find_kernel_times(trace::process_id process) const {
  const auto found = kernels_.find(process);
  if (found == kernels_.end()) return {};
  std::vector<time_ns> times = found->second.times;
  std::sort(times.begin(), times.end());
  return times;
}

std::vector<graph_launch> step_marks::find_launches(trace::process_id process, time_ns begin) const {
  const auto found = launches_.find(process);
  if (found == launches_.end()) return {};
  std::vector<graph_launch> launches;
  std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(launches),
               [=](const graph_launch& each) { return each.time >= begin; });
  std::sort(launches.begin(), launches.end(), [](const graph_launch& a, const graph_launch& b) {
    return std::tuple(a.time, a.graph) < std::tuple(b.time, b.graph);
  });
  return launches;
}

step_list step_marks::nested_away(std::vector<step_range> ranges, step_source source) {
  std::sort(ranges.begin(), ranges.end(), [](const step_range& a, const step_range& b) {
    return std::tuple(a.span.begin, -a.span.end, a.event) < std::tuple(b.span.begin, -b.span.end, b.event);
  });
  step_list list{source, {}};
  for (const step_range& range : ranges) {
    if (range.span.length() <= 0 || (!list.steps.empty() && range.span.begin < list.steps.back().span.end)) continue;
    const auto counted = static_cast<std::int64_t>(list.steps.size());
    list.steps.push_back({range.span, range.number.value_or(counted), range.event});
  }
  return list;
}

step_list step_marks::of(trace::process_id process, time_ns end) const {
  const auto found = by_process_.find(process);
  if (found == by_process_.end()) return {};
  const process_marks& known = found->second;
  if (!known.marks.empty()) {
    std::vector<step_range> marks = known.marks;
    std::sort(marks.begin(), marks.end(), [](const step_range& a, const step_range& b) {
      return std::tuple(a.span.begin, a.event) < std::tuple(b.span.begin, b.event);
    });
    for (std::size_t i = 0; i < marks.size(); ++i)
      marks[i].span.end = i + 1 < marks.size() ? marks[i + 1].span.begin : std::max(end, marks[i].span.begin);
    return nested_away(std::move(marks), step_source::marks);
  }
  const auto are_some = [](const step_list& list) { return list.steps.size() >= 2; };
  const auto is_the_only = [&](const step_list& whole) {
    return whole.steps.size() == 1 && holds_work(whole.steps[0], process);
  };
  for (const auto* const profiler : {&known.profiler, &known.profiler_on_device}) {
    const bool device = profiler == &known.profiler_on_device;
    if (step_list full = nested_away(*profiler, step_source::profiler_ranges); are_some(full) || is_the_only(full))
      return full;
    if (step_list items = nested_away(device ? known.named_on_device : known.named,
                                      device ? step_source::profiler_ranges : step_source::named_ranges);
        are_some(items))
      return items;
  }
  return {};
}

bool step_marks::holds_work(const step& only, trace::process_id process) const {
  const std::vector<time_ns> kernels = find_kernel_times(process);
  const time_range with_late_ones{only.span.begin, only.span.end + only.span.length()};
  const auto inside =
      std::count_if(kernels.begin(), kernels.end(), [&](time_ns time) { return with_late_ones.holds(time); });
  return 2 * static_cast<std::size_t>(inside) >= kernels.size();
}

// --- the pattern of allocations -------------------------------------------------------------------------------------

namespace {

constexpr std::size_t min_period = 4;  ///< Minimum number of allocations in a step. A shorter pattern is a loop, not a
                                       ///< step.
constexpr std::size_t min_repeats = 3;
constexpr double min_match = 0.9;
/// A longer period must match better than a shorter period by this margin. A network's layers repeat within a step, but
/// not across the boundary between two steps.
constexpr double match_margin = 0.005;
constexpr std::size_t rare_symbols = 64;

using sequence = std::vector<std::uint64_t>;

sequence get_symbols(std::span<const block_record* const> blocks) {
  sequence whole;
  whole.reserve(blocks.size());
  for (const block_record* block : blocks)
    whole.push_back((block->bytes * 0x9E3779B97F4A7C15ULL) ^ (raw(block->stack) * 0xC2B2AE3D27D4EB4FULL));
  return whole;
}

/// Returns the share of elements, in the last two thirds of the sequence, that equal the element one period earlier.
double match_score(const sequence& whole, std::size_t period) {
  const std::size_t first = std::max(period, whole.size() / 3);
  if (first >= whole.size()) return 0;
  std::size_t same = 0;
  for (std::size_t i = first; i < whole.size(); ++i) same += whole[i] == whole[i - period] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(whole.size() - first);
}

/// Returns candidates for the period: for each of the rarest recurring symbols, the most frequent distance between its
/// occurrences. For a symbol that occurs once per step, this distance is the period.
std::vector<std::size_t> candidates(const sequence& whole) {
  struct seen {
    std::size_t last = 0;
    std::size_t count = 0;
    std::map<std::size_t, std::size_t> distances;
  };
  std::unordered_map<std::uint64_t, seen> symbols;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    seen& subject = symbols[whole[i]];
    if (subject.count > 0 && subject.distances.size() < 16) ++subject.distances[i - subject.last];
    subject.last = i;
    ++subject.count;
  }
  std::vector<const seen*> recurring;
  for (const auto& [symbol, target] : symbols)
    if (target.count >= min_repeats) recurring.push_back(&target);
  std::sort(recurring.begin(), recurring.end(),
            [](const seen* a, const seen* b) { return std::tuple(a->count, a->last) < std::tuple(b->count, b->last); });
  if (recurring.size() > rare_symbols) recurring.resize(rare_symbols);
  std::vector<std::size_t> periods;
  for (const seen* owner : recurring) {
    const auto most = std::max_element(owner->distances.begin(), owner->distances.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    periods.push_back(most->first);
  }
  std::sort(periods.begin(), periods.end());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  return periods;
}

std::size_t best_period(const sequence& whole) {
  std::vector<std::pair<std::size_t, double>> fitting;
  double best = 0;
  for (const std::size_t period : candidates(whole)) {
    if (period < min_period || period * min_repeats > whole.size()) continue;
    fitting.emplace_back(period, match_score(whole, period));
    best = std::max(best, fitting.back().second);
  }
  if (best < min_match) return 0;
  for (const auto& [period, match] : fitting)
    if (match >= best - match_margin) return period;
  return 0;
}

/// Returns the position in the last full period at which the least memory is in use.
std::size_t lowest_in_period(std::span<const block_record* const> blocks, std::size_t period) {
  std::vector<std::pair<time_ns, double>> edges;
  for (const block_record* block : blocks) {
    edges.emplace_back(block->born, static_cast<double>(block->bytes));
    if (block->freed()) edges.emplace_back(block->died, -static_cast<double>(block->bytes));
  }
  std::sort(edges.begin(), edges.end());
  const std::size_t first = blocks.size() - period;
  std::size_t edge = 0;
  double live = 0;
  double lowest = 0;
  std::size_t found = first;
  for (std::size_t i = first; i < blocks.size(); ++i) {
    for (; edge < edges.size() && edges[edge].first < blocks[i]->born; ++edge) live += edges[edge].second;
    if (i > first && live >= lowest) continue;
    lowest = live;
    found = i;
  }
  return found;
}

/// Returns where the step before `seam` starts. In its first step, a program may also allocate memory that libraries
/// keep, so that step contains the symbols of the pattern in their order, with other symbols in between.
std::optional<std::size_t> first_step_before(const sequence& whole, std::size_t seam, std::size_t period) {
  const std::size_t longest = std::min(seam, 2 * period);
  for (std::size_t length = period * 9 / 10; length <= longest; ++length) {
    const std::size_t begin = seam - length;
    if (whole[begin] != whole[seam]) continue;
    std::size_t same = 0;
    // The step at the seam may be cut off by the end.
    for (std::size_t i = begin; i < seam && same < period && seam + same < whole.size(); ++i)
      same += whole[i] == whole[seam + same] ? 1 : 0;
    if (static_cast<double>(same) >= min_match * static_cast<double>(period)) return begin;
  }
  return std::nullopt;
}

/// Returns the steps of a sequence with this period. `seam`: a position in the last full period at which a step starts.
/// `get_time(i)`: the time of element i of the sequence.
template <class TimeOf>
step_list get_steps(const sequence& whole, std::size_t period, std::size_t seam, time_ns end, TimeOf&& get_time) {
  // Go back from the last boundary as long as each period equals the period after it.
  std::vector<std::size_t> seams{seam};
  while (seams.back() >= period) {
    const std::size_t begin = seams.back() - period;
    std::size_t same = 0;
    for (std::size_t i = begin; i < begin + period; ++i)
      same += i + period < whole.size() && whole[i] == whole[i + period];
    const std::size_t compared = std::min(period, whole.size() - begin - period);
    if (static_cast<double>(same) < min_match * static_cast<double>(compared)) break;
    seams.push_back(begin);
  }
  std::reverse(seams.begin(), seams.end());
  if (const auto first = first_step_before(whole, seams.front(), period)) seams.insert(seams.begin(), *first);
  step_list found{step_source::pattern, {}};
  for (std::size_t i = 0; i < seams.size(); ++i) {
    const bool last = i + 1 == seams.size();
    // The part after the last boundary counts as a step only if it is almost a full period long.
    if (last && whole.size() - seams[i] < period * 9 / 10) break;
    const time_ns until = last ? end : get_time(seams[i + 1]);
    found.steps.push_back({{get_time(seams[i]), until}, static_cast<std::int64_t>(i), {}});
  }
  if (found.steps.size() < min_repeats) return {};
  return found;
}

/// Returns the last position at which a period starts, if the first period starts where the sequence begins to repeat.
std::optional<std::size_t> seam_by_begin(const sequence& whole, std::size_t period) {
  std::size_t begin = whole.size() - period;
  while (begin > 0 && whole[begin - 1] == whole[begin - 1 + period]) --begin;
  const std::size_t periods = (whole.size() - begin) / period;
  if (periods < min_repeats) return std::nullopt;
  return begin + (periods - 1) * period;
}

/// Returns the position, in the last full period, of the kernel for which the device waited longest.
std::size_t after_longest_gap(std::span<const kernel_start> kernels, std::size_t period) {
  std::size_t found = kernels.size() - period;
  time_ns longest = -1;
  for (std::size_t i = kernels.size() - period; i < kernels.size(); ++i) {
    const time_ns gap = i == 0 ? 0 : kernels[i].time - kernels[i - 1].time;
    if (gap <= longest) continue;
    longest = gap;
    found = i;
  }
  return found;
}

}  // namespace

step_list find_pattern(std::span<const block_record* const> blocks, time_ns end) {
  const sequence whole = get_symbols(blocks);
  const std::size_t period = best_period(whole);
  if (period == 0) return {};
  return get_steps(whole, period, lowest_in_period(blocks, period), end,
                   [&](std::size_t i) { return blocks[i]->born; });
}

step_list find_kernel_pattern(std::span<const kernel_start> kernels, time_ns end) {
  sequence whole;
  whole.reserve(kernels.size());
  for (const kernel_start& each : kernels) whole.push_back(raw(each.name));
  const std::size_t period = best_period(whole);
  if (period == 0) return {};
  const std::size_t seam = seam_by_begin(whole, period).value_or(after_longest_gap(kernels, period));
  return get_steps(whole, period, seam, end, [&](std::size_t i) { return kernels[i].time; });
}

step get_step(const trace::step_row& row) {
  const time_ns begin = bounded(row.time);
  return {{begin, std::max(begin, bounded(row.end))}, row.number, row.event};
}

}  // namespace sluice::index
