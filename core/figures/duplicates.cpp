#include "core/figures/duplicates.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/figures/line_use.hpp"
#include "core/index/index.hpp"

namespace sluice::analysis {
namespace {

copy_figures figures_of(const content_copy& copy) {
  return {1, copy.bytes, copy.end == latest_time ? 0 : copy.end - copy.begin};
}

template <class Group>
void add_to(Group& group, copy_figures& figures, const content_copy& copy) {
  figures.add(figures_of(copy));
  if (copy.check == trace::content_check::exact) ++group.exact;
  const bool first_of_equals = copy.bytes == group.largest_bytes && copy.event < group.largest;
  if (group.largest != trace::event_id::none && copy.bytes <= group.largest_bytes && !first_of_equals) return;
  group.largest = copy.event;
  group.largest_bytes = copy.bytes;
}

/// The values of `groups`, most bytes first; equal ones in the order of their keys.
template <class Map, class Figures>
auto most_first(const Map& groups, Figures&& figures) {
  std::vector<typename Map::mapped_type> all;
  for (const auto& [key, group] : groups) all.push_back(group);
  std::stable_sort(all.begin(), all.end(),
                   [&](const auto& a, const auto& b) { return figures(a).bytes > figures(b).bytes; });
  return all;
}

}  // namespace

void copy_figures::add(const copy_figures& more) {
  saturating_add(copies, more.copies);
  saturating_add(bytes, more.bytes);
  saturating_add(busy, more.busy);
}

void repeat_figures::add(const repeat_figures& more) {
  all.add(more.all);
  same_source.add(more.same_source);
  same_destination.add(more.same_destination);
  exact.add(more.exact);
}

copy_figures duplicate_copies::hashed() const {
  copy_figures both = exact;
  both.add(sampled);
  return both;
}

duplicates_builder::duplicates_builder(const copy_contents& contents, time_range range)
    : contents_(contents), range_(range) {
  const std::span<const content_copy> copies = contents.copies();
  for (std::size_t first = 0; first < copies.size();) {
    const std::size_t count = contents.same_from(first);
    add_content(copies.subspan(first, count));
    first += count;
  }
  std::sort(repeats_.begin(), repeats_.end(),
            [](const repeat& a, const repeat& b) { return a.copy->begin < b.copy->begin; });
  for (auto* const placed : {&downs_, &ups_, &zeros_}) {
    std::sort(placed->begin(), placed->end(), [](const placed_copy& a, const placed_copy& b) {
      return std::pair(a.copy->begin, a.copy->event) < std::pair(b.copy->begin, b.copy->event);
    });
  }
  found_.largest = whole_.largest;
}

void duplicates_builder::add_content(std::span<const content_copy> copies) {
  std::set<std::uint64_t> sources;
  std::set<std::pair<trace::block_id, std::uint64_t>> destinations;
  bool moved = false;
  // Zeros that come back are zeros: whatever they were before, a memset makes them.
  const bool zeros = seems_zero(copies.front()) && std::any_of(copies.begin(), copies.end(), read_enough_for_zero);
  const content_copy* down = nullptr;  // Since the last copy to the device.
  for (const content_copy& copy : copies) {
    if (copy.to_host) {
      if (range_.holds(copy.begin)) (copy.hashed() ? found_.results : found_.unseen_results).add(figures_of(copy));
      if (copy.hashed()) down = &copy;
      continue;
    }
    const bool overtaken = copy.hashed() && contents_.overtaken(copy);
    if (range_.holds(copy.begin)) count(copy, overtaken);
    if (!copy.hashed() || overtaken) continue;
    const bool same_source = !sources.insert(copy.source).second;
    const bool same_destination = !destinations.insert({copy.block, copy.destination}).second;
    const content_copy* const came_from = std::exchange(down, nullptr);
    const bool again = std::exchange(moved, true);
    if (!range_.holds(copy.begin)) continue;
    if (zeros) {
      zeros_.push_back({.copy = &copy});
    } else if (came_from != nullptr && copy.bytes >= round_trip_stacks::least_bytes) {
      ups_.push_back({.copy = &copy, .down = came_from});
      downs_.push_back({.copy = came_from});
    } else if (again) {
      add_repeat(copy, same_source, same_destination);
    }
  }
}

void duplicates_builder::count(const content_copy& copy, bool overtaken) {
  using enum trace::content_check;
  copy_figures& kind = overtaken                   ? found_.overtaken
                       : copy.check == exact       ? found_.exact
                       : copy.check == sampled     ? found_.sampled
                       : copy.check == over_budget ? found_.over_budget
                                                   : found_.unreadable;
  kind.add(figures_of(copy));
}

void duplicates_builder::add_repeat(const content_copy& copy, bool same_source, bool same_destination) {
  repeat_figures one;
  one.all = figures_of(copy);
  if (same_source) one.same_source = one.all;
  if (same_destination) one.same_destination = one.all;
  if (copy.check == trace::content_check::exact) one.exact = one.all;
  found_.repeated.add(one);
  add(whole_, repeats_.emplace_back(repeat{&copy, one}));
}

void duplicates_builder::add(repeating_stack& to, const repeat& one) {
  to.figures.add(one.figures);
  const content_copy& copy = *one.copy;
  // If two are equally large, take the lower id, so that the order of arrival does not matter.
  const bool first_of_equals = copy.bytes == to.largest_bytes && copy.event < to.largest;
  if (to.largest != trace::event_id::none && copy.bytes <= to.largest_bytes && !first_of_equals) return;
  to.largest = copy.event;
  to.largest_bytes = copy.bytes;
}

void duplicates_builder::add(const index& from, time_range run) {
  found_.graph_launches += from.touches().launches_that_copy(common_of(range_, run));
  for (auto* const placed : {&downs_, &ups_, &zeros_}) place(*placed, from, run);
  auto next = std::partition_point(repeats_.begin(), repeats_.end(),
                                   [&](const repeat& each) { return each.copy->begin < run.begin; });
  for (; next != repeats_.end() && next->copy->begin < run.end; ++next) {
    const trace::stack_id stack = from.copies().stack_of(next->copy->call);
    repeating_stack& of = stacks_[stack];
    of.stack = stack;
    add(of, *next);
  }
}

void duplicates_builder::place(std::vector<placed_copy>& copies, const index& from, time_range run) {
  auto next = std::partition_point(copies.begin(), copies.end(),
                                   [&](const placed_copy& each) { return each.copy->begin < run.begin; });
  for (; next != copies.end() && next->copy->begin < run.end; ++next)
    next->stack = from.copies().stack_of(next->copy->call);
}

void duplicates_builder::for_each(const std::function<void(const content_copy&, needless_copy)>& visit) const {
  for (const repeat& each : repeats_) visit(*each.copy, needless_copy::repeated);
  for (const placed_copy& each : ups_) {
    visit(*each.down, needless_copy::returned);
    visit(*each.copy, needless_copy::returning);
  }
}

std::vector<round_trip_stacks> duplicates_builder::round_trips() const {
  std::unordered_map<const content_copy*, trace::stack_id> stack_of;
  for (const placed_copy& down : downs_) stack_of.emplace(down.copy, down.stack);
  std::map<std::pair<trace::stack_id, trace::stack_id>, round_trip_stacks> groups;
  for (const placed_copy& up : ups_) {
    const trace::stack_id down = stack_of.at(up.down);
    round_trip_stacks& of = groups[{down, up.stack}];
    of.down = down;
    of.up = up.stack;
    of.to_host.add(figures_of(*up.down));
    add_to(of, of.to_device, *up.copy);
  }
  return most_first(groups, [](const round_trip_stacks& each) { return each.to_device; });
}

std::vector<zero_stack> duplicates_builder::zeros() const {
  std::map<trace::stack_id, zero_stack> groups;
  for (const placed_copy& zero : zeros_) {
    zero_stack& of = groups[zero.stack];
    of.stack = zero.stack;
    add_to(of, of.all, *zero.copy);
  }
  return most_first(groups, [](const zero_stack& each) { return each.all; });
}

round_trip_figures sum_of(const std::vector<round_trip_stacks>& all) {
  round_trip_figures sum;
  for (const round_trip_stacks& each : all) {
    sum.to_host.add(each.to_host);
    sum.to_device.add(each.to_device);
    saturating_add(sum.exact, each.exact);
  }
  return sum;
}

zero_figures sum_of(const std::vector<zero_stack>& all) {
  zero_figures sum;
  for (const zero_stack& each : all) {
    sum.all.add(each.all);
    saturating_add(sum.exact, each.exact);
  }
  return sum;
}

duplicate_figures duplicates_builder::figures() const {
  duplicate_figures made{found_, {}};
  made.all.round_trips = round_trips();
  made.all.zeros = zeros();
  for (const auto& [id, stack] : stacks_) made.stacks.push_back(stack);
  return made;
}

duplicate_copies name_duplicates(const duplicate_figures& figures, const trace::tables& tables, const naming& names) {
  struct line_group {
    repeat_figures figures;
    const repeating_stack* most = nullptr;
    const repeating_stack* largest = nullptr;
  };
  duplicate_copies made = figures.all;
  line_namer lines(tables, names);
  std::map<symbols::line_id, line_group> groups;
  for (const repeating_stack& stack : figures.stacks) {
    if (!lines.knows(stack.stack)) {
      made.without_stack.add(stack.figures);
      continue;
    }
    line_group& of = groups[lines.line_of(stack.stack)];
    of.figures.add(stack.figures);
    if (of.most == nullptr || stack.figures.all.bytes > of.most->figures.all.bytes) of.most = &stack;
    if (of.largest == nullptr || stack.largest_bytes > of.largest->largest_bytes) of.largest = &stack;
  }
  std::vector<std::pair<symbols::line_id, line_group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const copy_figures& x = a.second.figures.all;
    const copy_figures& y = b.second.figures.all;
    return std::pair(x.bytes, x.copies) > std::pair(y.bytes, y.copies);
  });
  for (const auto& [line, of] : sorted) {
    if (made.lines.size() == duplicate_copies::line_limit) {
      made.other_lines.add(of.figures);
      continue;
    }
    made.lines.push_back({lines.describe(line), of.figures, lines.stack(of.most->stack), of.largest->largest});
  }
  return made;
}

}  // namespace sluice::analysis
