#include "core/index/tensors/training_steps.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/index/tensors/categories.hpp"

namespace sluice::index {
namespace {

constexpr std::size_t min_steps = 3;

template <class T>
T compute_median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns steps that start at each of `begins`. The last step has the length of a typical step, but ends no later than
/// `end`.
step_list steps_from(const std::vector<time_ns>& begins, time_ns end) {
  step_list list{step_source::pattern, {}};
  if (begins.size() < min_steps) return list;
  std::vector<time_ns> lengths;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) lengths.push_back(begins[i + 1] - begins[i]);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const bool last = i + 1 == begins.size();
    const time_ns until = last ? std::min(end, begins[i] + compute_median(lengths)) : begins[i + 1];
    list.steps.push_back({{begins[i], std::max(until, begins[i])}, static_cast<std::int64_t>(i), {}});
  }
  return list;
}

// --- training -------------------------------------------------------------------------------------------------------

class training_finder {
 public:
  training_finder(std::span<const phased_block> blocks, time_ns end) : all_(blocks), end_(end) {}

  step_list find() {
    find_passes();
    if (passes_.size() < min_steps) return {step_source::pattern, {}};
    find_ends();
    choose_common_begin();
    std::vector<time_ns> begins;
    std::size_t next = 0;  // Number of the first pass of the next step.
    for (std::size_t pass = 0; pass < passes_.size(); ++pass) {
      if (pass == next) begins.push_back(born(begin_before(pass)));
      if (ends_[pass]) next = pass + 1;
    }
    return steps_from(begins, end_);
  }

 private:
  /// A backward pass, given by the positions of its first and its last block.
  struct pass {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  [[nodiscard]] time_ns born(std::size_t at) const { return all_[at].block->born; }
  [[nodiscard]] bool is_backward(std::size_t at) const { return all_[at].phase == step_phase::backward; }

  /// Returns the thread that calls the backward passes and allocates nothing while they run. This is the thread with
  /// the most blocks, except for the backward thread.
  [[nodiscard]] trace::thread_id main_thread() const {
    std::map<trace::thread_id, std::size_t> counts;
    for (const phased_block& each : all_)
      if (each.phase != step_phase::backward) ++counts[each.block->thread];
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == counts.end() ? trace::thread_id{} : most->first;
  }

  void find_passes() {
    const trace::thread_id main = main_thread();
    bool inside = false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (is_backward(i)) {
        if (!inside) passes_.push_back({i, i});
        passes_.back().last = i;
        inside = true;
      } else if (all_[i].block->thread == main) {
        inside = false;
      }
    }
  }

  /// Returns the positions [first, second) of the blocks between pass `which` and the next pass.
  [[nodiscard]] std::pair<std::size_t, std::size_t> gap_after(std::size_t which) const {
    const std::size_t behind = which + 1 < passes_.size() ? passes_[which + 1].first : all_.size();
    return {passes_[which].last + 1, behind};
  }
  [[nodiscard]] time_ns begin_of_gap(std::size_t which) const {
    const auto [first, behind] = gap_after(which);
    return first < all_.size() ? born(first) : end_;
  }
  [[nodiscard]] time_ns end_of_gap(std::size_t which) const {
    const std::size_t behind = gap_after(which).second;
    return behind < all_.size() ? born(behind) : end_;
  }

  [[nodiscard]] bool has_optimizer(std::size_t which) const {
    const auto [first, behind] = gap_after(which);
    for (std::size_t i = first; i < behind; ++i)
      if (all_[i].phase == step_phase::optimizer) return true;
    return false;
  }

  /// Considers the blocks of the pass that are freed between its end and the end of the gap after the next pass.
  /// Returns true if at least half of their bytes are freed in the gap directly after the pass.
  [[nodiscard]] bool frees_gradients(std::size_t which) const {
    const time_ns begin = begin_of_gap(which), end = end_of_gap(which);
    const time_ns later = which + 1 < passes_.size() ? end_of_gap(which + 1) : end_;
    std::uint64_t freed = 0, kept = 0;
    for (std::size_t i = passes_[which].first; i <= passes_[which].last; ++i) {
      const block_record& block = *all_[i].block;
      if (!is_backward(i) || !block.freed() || block.died < begin || block.died > later) continue;
      (block.died <= end ? freed : kept) += block.bytes;
    }
    return freed > 0 && freed >= kept;
  }

  void find_ends() {
    ends_.assign(passes_.size(), false);
    std::size_t last = 0, count = 0;
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      ends_[i] = has_optimizer(i) || frees_gradients(i);
      if (!ends_[i]) continue;
      last = i;
      ++count;
    }
    // An optimizer may allocate only in its first step. Then, the later passes show no end of a step, although there
    // are many passes.
    const bool goes_on = count > 0 && passes_.size() - 1 - last <= 2 * ((last + 1) / count) && count >= min_steps;
    if (!goes_on) ends_.assign(passes_.size(), true);
  }

  /// Returns the first block after the optimizer's last block in the gap before a pass. If the optimizer has no block
  /// there, returns the first block of the pass.
  [[nodiscard]] std::size_t first_after_optimizer(std::size_t which) const {
    const std::size_t behind = passes_[which].first;
    const std::size_t first = which == 0 ? 0 : passes_[which - 1].last + 1;
    for (std::size_t i = behind; i > first; --i)
      if (all_[i - 1].phase == step_phase::optimizer) return i;
    return first;
  }

  /// Determines how a step usually starts: the stack with which its first block is allocated, and the number of blocks
  /// between that block and the backward pass.
  void choose_common_begin() {
    std::map<trace::stack_id, std::size_t> stacks;
    for (std::size_t pass = 1; pass < passes_.size(); ++pass)
      if (ends_[pass - 1]) ++stacks[all_[first_after_optimizer(pass)].block->stack];
    const auto most = std::max_element(stacks.begin(), stacks.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    common_ = most == stacks.end() ? trace::stack_id{} : most->first;
    std::vector<std::size_t> distances;
    for (std::size_t pass = 1; pass < passes_.size(); ++pass)
      if (ends_[pass - 1]) distances.push_back(passes_[pass].first - first_after_optimizer(pass));
    distance_ = compute_median(distances);
  }

  /// Returns the first block of the step that contains this pass. Earlier blocks in the gap may not belong to the step,
  /// because they may come from the creation of the model or from an evaluation.
  [[nodiscard]] std::size_t begin_before(std::size_t which) const {
    const std::size_t first = first_after_optimizer(which), behind = passes_[which].first;
    const std::size_t expected = behind - std::min(behind, distance_);
    if (all_[first].block->stack == common_ && which > 0 && first + 2 * distance_ >= behind) return first;
    std::size_t best = std::max(first, expected);
    std::size_t nearest = std::numeric_limits<std::size_t>::max();
    for (std::size_t i = first; i < behind; ++i) {
      const std::size_t away = i > expected ? i - expected : expected - i;
      if (all_[i].block->stack != common_ || away >= nearest) continue;
      nearest = away;
      best = i;
    }
    return best;
  }

  std::span<const phased_block> all_;
  time_ns end_;
  std::vector<pass> passes_;
  std::vector<bool> ends_;  ///< For each pass, whether a step ends between it and the next pass.
  trace::stack_id common_{};
  std::size_t distance_ = 0;
};

// --- loops ----------------------------------------------------------------------------------------------------------

/// The iterations of a loop in one function, as seen in the lines at which blocks were allocated.
class loop_lines {
 public:
  void add(std::int64_t line, time_ns time) {
    if (line < last_) jumps_.push_back({last_, line, time});
    last_ = line;
    lines_.emplace_back(line, time);
  }

  /// Returns the times at which iterations start. An inner loop jumps back from lines before the last line of the outer
  /// loop.
  [[nodiscard]] std::vector<time_ns> begins() const {
    if (jumps_.size() + 1 < min_steps) return {};
    std::map<std::int64_t, std::size_t> sources;
    for (const jump& each : jumps_) ++sources[each.from];
    // The outermost loop ends after all other loops, at the highest line from which execution jumps back repeatedly.
    std::int64_t begin = 0;
    for (const auto& [line, count] : sources)
      if (count + 1 >= min_steps) begin = line;
    if (begin == 0) return {};
    std::vector<time_ns> times;
    std::int64_t to = std::numeric_limits<std::int64_t>::max();
    for (const jump& each : jumps_)
      if (each.from >= begin) to = std::min(to, each.to);
    // The first iteration starts at the first block that is allocated at or after the line to which execution jumps
    // back.
    for (const auto& [line, time] : lines_) {
      if (line < to) continue;
      times.push_back(time);
      break;
    }
    for (const jump& each : jumps_)
      if (each.from >= begin && each.time > times.front()) times.push_back(each.time);
    return times;
  }

 private:
  struct jump {
    std::int64_t from = 0;
    std::int64_t to = 0;
    time_ns time = 0;
  };
  std::int64_t last_ = std::numeric_limits<std::int64_t>::min();
  std::vector<jump> jumps_;
  std::vector<std::pair<std::int64_t, time_ns>> lines_;
};

}  // namespace

step_list find_training_steps(std::span<const phased_block> blocks, time_ns end) {
  return training_finder(blocks, end).find();
}

step_list find_loop(std::span<const block_record* const> blocks, const lines_of_block& get_lines, time_ns end) {
  constexpr std::size_t deepest = 64;
  for (std::size_t depth = 0; depth < deepest; ++depth) {
    // The functions at this depth, each identified together with all its callers.
    std::map<std::uint64_t, std::pair<loop_lines, std::size_t>> functions;
    std::size_t reach = 0;
    for (const block_record* block : blocks) {
      const std::span<const code_line> lines = get_lines(*block);
      if (lines.size() <= depth) continue;
      ++reach;
      auto& [loop, count] = functions[lines[depth].function];
      loop.add(lines[depth].line, block->born);
      ++count;
    }
    if (reach * 2 < blocks.size()) break;
    for (const auto& [function, found] : functions) {
      if (found.second * 2 < blocks.size()) continue;
      if (const auto begins = found.first.begins(); begins.size() >= min_steps) return steps_from(begins, end);
    }
  }
  return {step_source::pattern, {}};
}

namespace {

/// Caches the code lines of stacks, so that each stack is looked up once.
class stack_lines {
 public:
  explicit stack_lines(const trace::tables& tables) : tables_(tables) {}

  std::span<const code_line> of(trace::stack_id stack) {
    const auto [place, fresh] = known_.try_emplace(raw(stack));
    if (fresh) place->second = walk(stack);
    return place->second;
  }

 private:
  std::vector<code_line> walk(trace::stack_id stack) const {
    constexpr std::size_t deepest = 2048;  // In a corrupt file, the parents of a stack may form a cycle.
    std::vector<const trace::frame_row*> frames;
    for (std::size_t i = 0; i < deepest && stack != trace::stack_id::none; ++i) {
      const trace::stack_row* row = tables_.stacks.find(stack);
      if (row == nullptr) break;
      if (const trace::frame_row* frame = tables_.frames.find(row->frame);
          frame != nullptr && frame->kind == trace::frame_kind::python)
        frames.push_back(frame);
      stack = row->parent;
    }
    std::vector<code_line> lines;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      const std::string_view file = tables_.text((*frame)->file), function = tables_.text((*frame)->function);
      if (stack_clues::of_frame(file, function) == clue::forward) break;
      const std::uint64_t named = (raw((*frame)->file) * 0x9E3779B97F4A7C15ULL) ^ raw((*frame)->function);
      lines.push_back({named, static_cast<std::int64_t>(std::min<std::uint64_t>((*frame)->line, INT64_MAX))});
    }
    return lines;
  }

  const trace::tables& tables_;
  std::unordered_map<std::uint64_t, std::vector<code_line>> known_;
};

std::vector<phased_block> list_phases(const step_evidence& by) {
  stack_clues clues(by.tables);
  std::map<process_clues::requester, bool> backward;
  std::vector<phased_block> blocks;
  blocks.reserve(by.blocks.size());
  for (const block_record* block : by.blocks) {
    const process_clues::requester requester = process_clues::find_requester(find_birth(*block), clues);
    const auto [place, fresh] = backward.try_emplace(requester, false);
    if (fresh) place->second = by.clues.on_backward_thread(by.process, requester);
    const clue says = clues.of(block->stack);
    const step_phase phase = place->second || says == clue::backward       ? step_phase::backward
                             : says == clue::optimizer                     ? step_phase::optimizer
                             : says == clue::forward || says == clue::hook ? step_phase::model
                                                                           : step_phase::other;
    blocks.push_back({block, phase});
  }
  return blocks;
}

/// True if all allocations of the first full step are in a module's forward pass. Then, layers repeat, not steps.
bool are_layers(const step_list& steps, std::span<const phased_block> blocks) {
  if (steps.steps.size() < min_steps) return false;
  const time_range inside = steps.steps[1].span;
  return std::all_of(blocks.begin(), blocks.end(), [&](const phased_block& each) {
    return !inside.holds(each.block->born) || each.phase == step_phase::model;
  });
}

std::vector<const block_record*> of_busiest_thread(std::span<const block_record* const> blocks) {
  std::map<trace::thread_id, std::size_t> counts;
  for (const block_record* block : blocks) ++counts[block->thread];
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<const block_record*> records;
  for (const block_record* block : blocks)
    if (block->thread == most->first) records.push_back(block);
  return records;
}

/// True if at least half of the process's kernels start within the steps. Libraries that try out kernels, or compile,
/// also repeat their work, but do little of the program's work. The last step may have been extended to the end.
bool hold_the_work(const step_list& steps, std::span<const time_ns> kernels) {
  if (kernels.empty()) return true;
  const time_ns begin = steps.steps.front().span.begin;
  const step& last = steps.steps.back();
  const time_ns usual = steps.steps.size() < 2
                            ? last.span.length()
                            : (last.span.begin - begin) / static_cast<time_ns>(steps.steps.size() - 1);
  const time_ns end = std::min(last.span.end, last.span.begin + 2 * usual);
  const auto inside =
      std::lower_bound(kernels.begin(), kernels.end(), end) - std::lower_bound(kernels.begin(), kernels.end(), begin);
  return 2 * static_cast<std::size_t>(inside) >= kernels.size();
}

time_ns time_in(const graph_launch& each) { return each.time; }
time_ns time_in(const kernel_start& each) { return each.time; }
time_ns time_in(time_ns each) { return each; }

/// Returns the part of `items`, which is sorted by time, that is in [from, until).
template <class T>
std::span<const T> within(std::span<const T> items, time_ns begin, time_ns until) {
  const auto first_at = [&](time_ns time) {
    return std::partition_point(items.begin(), items.end(), [=](const T& each) { return time_in(each) < time; });
  };
  const auto first = first_at(begin), behind = first_at(std::max(begin, until));
  return items.subspan(static_cast<std::size_t>(first - items.begin()), static_cast<std::size_t>(behind - first));
}

step_list infer_from(const step_evidence& evidence) {
  const std::vector<phased_block> phased = list_phases(evidence);
  const step_list training = find_training_steps(phased, evidence.end);
  if (!training.steps.empty()) {
    const auto backward = std::find_if(phased.rbegin(), phased.rend(),
                                       [](const phased_block& each) { return each.phase == step_phase::backward; });
    const auto later = within(evidence.launches, backward->block->born + 1, latest_time + 1);
    const step_list graphs = find_graph_steps(later, evidence.end);
    return graphs.steps.size() > training.steps.size() ? graphs : training;
  }
  if (!evidence.blocks.empty()) {
    stack_lines lines(evidence.tables);
    const auto busiest = of_busiest_thread(evidence.blocks);
    step_list loop = find_loop(
        busiest, [&](const block_record& block) { return lines.of(block.stack); }, evidence.end);
    if (!loop.steps.empty() && hold_the_work(loop, evidence.kernel_times)) return loop;
    step_list pattern = find_pattern(evidence.blocks, evidence.end);
    if (!pattern.steps.empty() && !are_layers(pattern, phased) && hold_the_work(pattern, evidence.kernel_times))
      return pattern;
  }
  step_list graphs = find_graph_steps(evidence.launches, evidence.end);
  if (!graphs.steps.empty()) return graphs;
  step_list kernels = find_kernel_pattern(evidence.kernels, evidence.end);
  return !kernels.steps.empty() && hold_the_work(kernels, evidence.kernel_times) ? kernels : step_list{};
}

/// Appends the steps in `steps`, with the next numbers. If steps overlap, the steps already in `to` are shortened.
void append(std::span<const step> steps, std::vector<step>& to) {
  for (step each : steps) {
    if (!to.empty() && each.span.begin <= to.back().span.begin) continue;
    if (!to.empty()) to.back().span.end = std::min(to.back().span.end, each.span.begin);
    each.number = static_cast<std::int64_t>(to.size());
    to.push_back(each);
  }
}

}  // namespace

std::size_t steps_in_windows::take(const step_evidence& by, const step_window& size) {
  const time_ns until = by.blocks[size.blocks]->born;
  step_evidence here = by;
  here.blocks = by.blocks.first(size.blocks);
  here.launches = within(by.launches, from_, until);
  here.kernels = {};
  here.kernel_times = within(by.kernel_times, from_, until);
  here.end = until;
  const step_list of_window = infer_from(here);
  const auto born_before = [&](time_ns time) {
    const auto first = std::partition_point(here.blocks.begin(), here.blocks.end(),
                                            [=](const block_record* each) { return each->born < time; });
    return static_cast<std::size_t>(first - here.blocks.begin());
  };
  if (of_window.steps.size() >= min_steps) {
    constexpr std::size_t looked_at_again = min_steps - 1;
    const time_ns again = of_window.steps[of_window.steps.size() - looked_at_again].span.begin;
    const std::size_t done = born_before(again);
    found_.resize(found_.size() - std::exchange(held_, 0));
    append(of_window.steps, found_);
    if (done >= size.min_done()) {
      held_ = looked_at_again;
      from_ = again;
      return done;
    }
  }
  // The steps found so far are final.
  held_ = 0;
  const std::size_t done = std::max<std::size_t>(1, size.blocks / 2);
  from_ = by.blocks[done]->born;
  return done;
}

step_list steps_in_windows::with_rest(const step_evidence& by) const {
  step_evidence rest = by;
  rest.launches = within(by.launches, from_, latest_time + 1);
  rest.kernels = within(by.kernels, from_, latest_time + 1);
  rest.kernel_times = within(by.kernel_times, from_, latest_time + 1);
  const step_list last = infer_from(rest);
  if (found_.empty()) return last;
  step_list list{step_source::pattern, found_};
  if (last.steps.empty()) return list;
  list.steps.resize(found_.size() - held_);
  append(last.steps, list.steps);
  return list;
}

void steps_in_windows::finish(const step_evidence& by) {
  found_ = with_rest(by).steps;
  held_ = 0;
  from_ = latest_time;
}

step_list infer_steps(const step_evidence& by, const step_window& size) {
  steps_in_windows windows;
  step_evidence left = by;
  while (left.blocks.size() >= size.due()) left.blocks = left.blocks.subspan(windows.take(left, size));
  return windows.with_rest(left);
}

step_list find_graph_steps(std::span<const graph_launch> launches, time_ns end) {
  if (launches.size() < min_steps) return {step_source::pattern, {}};
  // Graphs that are launched only a few times are part of the warm-up. The first graph that is launched often enough
  // starts the sequence.
  std::map<trace::graph_id, std::size_t> counts;
  for (const graph_launch& each : launches) ++counts[each.graph];
  for (const graph_launch& first : launches) {
    if (counts[first.graph] < min_steps) continue;
    std::vector<time_ns> begins;
    for (const graph_launch& each : launches)
      if (each.graph == first.graph) begins.push_back(each.time);
    return steps_from(begins, end);
  }
  return {step_source::pattern, {}};
}

}  // namespace sluice::index
