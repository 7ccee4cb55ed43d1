#include "core/metrics/statistics/duplicates.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/base/line_namer.hpp"

namespace sluice::metrics {
namespace {

copy_metrics compute_metrics(const index::content_copy& copy) {
  return {1, copy.bytes, copy.end == latest_time ? 0 : copy.end - copy.begin};
}

/// If several copies are equally large, takes the one with the lowest id, so that the order of arrival does not matter.
template <class Group>
void keep_largest(Group& group, const index::content_copy& copy) {
  const bool first_of_equals = copy.bytes == group.largest_bytes && copy.event < group.largest;
  if (group.largest != trace::event_id::none && copy.bytes <= group.largest_bytes && !first_of_equals) return;
  group.largest = copy.event;
  group.largest_bytes = copy.bytes;
}

template <class Group>
void add_to(Group& group, copy_metrics& metrics, const index::content_copy& copy) {
  metrics.add(compute_metrics(copy));
  if (copy.check == trace::content_check::exact) ++group.exact;
  keep_largest(group, copy);
}

/// Returns the values of `groups`, most bytes first; values with equal bytes are in the order of their keys.
template <class Map, class Metrics>
auto max_first(const Map& groups, Metrics&& metrics) {
  std::vector<typename Map::mapped_type> types;
  for (const auto& [key, group] : groups) types.push_back(group);
  std::stable_sort(types.begin(), types.end(),
                   [&](const auto& a, const auto& b) { return metrics(a).bytes > metrics(b).bytes; });
  return types;
}

}  // namespace

void copy_metrics::add(const copy_metrics& more) {
  saturating_add(copies, more.copies);
  saturating_add(bytes, more.bytes);
  saturating_add(busy, more.busy);
}

void repeat_metrics::add(const repeat_metrics& more) {
  all.add(more.all);
  same_source.add(more.same_source);
  same_destination.add(more.same_destination);
  exact.add(more.exact);
}

copy_metrics duplicate_copies::hashed() const {
  copy_metrics both = exact;
  both.add(sampled);
  return both;
}

needless_copies::needless_copies(const index::copy_contents& contents, time_range range)
    : contents_(contents), range_(range) {
  const std::span<const index::content_copy> copies = contents.copies();
  for (std::size_t first = 0; first < copies.size();) {
    const std::size_t count = contents.same_from(first);
    add_content(copies.subspan(first, count));
    first += count;
  }
  const auto in_order = [](const index::content_copy* a, const index::content_copy* b) {
    return std::pair(a->begin, a->event) < std::pair(b->begin, b->event);
  };
  std::sort(repeats_.begin(), repeats_.end(),
            [](const repeat& a, const repeat& b) { return a.copy->begin < b.copy->begin; });
  std::sort(round_trips_.begin(), round_trips_.end(),
            [&](const round_trip& a, const round_trip& b) { return in_order(a.up, b.up); });
  std::sort(zeros_.begin(), zeros_.end(), in_order);
}

void needless_copies::add_content(std::span<const index::content_copy> copies) {
  std::set<std::uint64_t> sources;
  std::set<std::pair<trace::block_id, std::uint64_t>> destinations;
  bool moved = false;
  // Zeros that come back count as copies of zeros, because a memset can produce them, whatever the data was before.
  const bool zeros =
      index::seems_zero(copies.front()) && std::any_of(copies.begin(), copies.end(), index::read_enough_for_zero);
  const index::content_copy* down = nullptr;  // The copy to the host since the last copy to the device.
  for (const index::content_copy& copy : copies) {
    if (copy.to_host) {
      if (range_.holds(copy.begin)) (copy.hashed() ? found_.results : found_.unseen_results).add(compute_metrics(copy));
      if (copy.hashed()) down = &copy;
      continue;
    }
    const bool overtaken = copy.hashed() && contents_.overtaken(copy);
    if (range_.holds(copy.begin)) count(copy, overtaken);
    if (!copy.hashed() || overtaken) continue;
    const bool same_source = !sources.insert(copy.source).second;
    const bool same_destination = !destinations.insert({copy.block, copy.destination}).second;
    const index::content_copy* const came_from = std::exchange(down, nullptr);
    const bool again = std::exchange(moved, true);
    if (!range_.holds(copy.begin)) continue;
    if (zeros) {
      zeros_.push_back(&copy);
    } else if (came_from != nullptr && copy.bytes >= round_trip_stacks::min_bytes) {
      round_trips_.push_back({&copy, came_from});
    } else if (again) {
      add_repeat(copy, same_source, same_destination);
    }
  }
}

void needless_copies::count(const index::content_copy& copy, bool overtaken) {
  using enum trace::content_check;
  copy_metrics& kind = overtaken                   ? found_.overtaken
                       : copy.check == exact       ? found_.exact
                       : copy.check == sampled     ? found_.sampled
                       : copy.check == over_budget ? found_.over_budget
                                                   : found_.unreadable;
  kind.add(compute_metrics(copy));
}

void needless_copies::add_repeat(const index::content_copy& copy, bool same_source, bool same_destination) {
  repeat_metrics one;
  one.all = compute_metrics(copy);
  if (same_source) one.same_source = one.all;
  if (same_destination) one.same_destination = one.all;
  if (copy.check == trace::content_check::exact) one.exact = one.all;
  found_.repeated.add(one);
  repeats_.push_back({&copy, one});
}

void needless_copies::for_each(const std::function<void(const index::content_copy&, needless_copy)>& visit) const {
  for (const repeat& each : repeats_) visit(*each.copy, needless_copy::repeated);
  for (const round_trip& each : round_trips_) {
    visit(*each.down, needless_copy::returned);
    visit(*each.up, needless_copy::returning);
  }
}

/// Finds the call stack of a copy.
class duplicates_builder::stacks_of_calls {
 public:
  explicit stacks_of_calls(std::vector<std::pair<trace::event_id, trace::stack_id>> pairs) : all_(std::move(pairs)) {
    std::sort(all_.begin(), all_.end());
  }
  [[nodiscard]] trace::stack_id of(const index::content_copy& copy) const {
    const auto found = std::lower_bound(all_.begin(), all_.end(), std::pair(copy.call, trace::stack_id{}));
    return found != all_.end() && found->first == copy.call ? found->second : trace::stack_id::none;
  }

 private:
  std::vector<std::pair<trace::event_id, trace::stack_id>> all_;
};

void duplicates_builder::add(const index::copy_contents& contents, const index::event_store& store, time_range run) {
  graph_launches_ += store.touches().launches_that_copy(intersect(scope_.range, run));
  if (contents.copies().empty()) return;
  for (const index::copy_record& copy : store.copies().copies()) {
    const bool between = copy.direction == trace::direction::h2d || copy.direction == trace::direction::d2h;
    if (!between || !run.holds(copy.begin)) continue;
    const trace::stack_id stack = store.copies().find_stack(copy.call);
    if (stack != trace::stack_id::none) stacks_.emplace_back(copy.call, stack);
  }
}

duplicate_metrics duplicates_builder::metrics(const index::copy_contents& contents) const {
  const needless_copies found(contents, scope_.range);
  const stacks_of_calls stacks(stacks_);
  duplicate_metrics output{found.found_, {}};
  output.all.graph_launches = graph_launches_;
  repeating_stack whole;
  std::map<trace::stack_id, repeating_stack> repeating;
  for (const needless_copies::repeat& each : found.repeats_) {
    const trace::stack_id stack = stacks.of(*each.copy);
    repeating_stack& subject = repeating[stack];
    subject.stack = stack;
    subject.metrics.add(each.metrics);
    keep_largest(subject, *each.copy);
    keep_largest(whole, *each.copy);
  }
  output.all.largest = whole.largest;
  for (const auto& [id, stack] : repeating) output.stacks.push_back(stack);
  std::map<std::pair<trace::stack_id, trace::stack_id>, round_trip_stacks> round_trips;
  for (const needless_copies::round_trip& each : found.round_trips_) {
    const trace::stack_id down = stacks.of(*each.down), up = stacks.of(*each.up);
    round_trip_stacks& trip_stacks = round_trips[{down, up}];
    std::tie(trip_stacks.down, trip_stacks.up) = std::tie(down, up);
    trip_stacks.to_host.add(compute_metrics(*each.down));
    add_to(trip_stacks, trip_stacks.to_device, *each.up);
  }
  output.all.round_trips = max_first(round_trips, [](const round_trip_stacks& each) { return each.to_device; });
  std::map<trace::stack_id, zero_stack> zeros;
  for (const index::content_copy* const each : found.zeros_) {
    const trace::stack_id stack = stacks.of(*each);
    zero_stack& target = zeros[stack];
    target.stack = stack;
    add_to(target, target.all, *each);
  }
  output.all.zeros = max_first(zeros, [](const zero_stack& each) { return each.all; });
  return output;
}

round_trip_metrics get_sum(const std::vector<round_trip_stacks>& items) {
  round_trip_metrics sum;
  for (const round_trip_stacks& each : items) {
    sum.to_host.add(each.to_host);
    sum.to_device.add(each.to_device);
    saturating_add(sum.exact, each.exact);
  }
  return sum;
}

zero_metrics get_sum(const std::vector<zero_stack>& stacks) {
  zero_metrics sum;
  for (const zero_stack& each : stacks) {
    sum.all.add(each.all);
    saturating_add(sum.exact, each.exact);
  }
  return sum;
}

duplicate_copies name_duplicates(const duplicate_metrics& metrics, const trace::tables& tables, const naming& names) {
  struct line_group {
    repeat_metrics metrics;
    const repeating_stack* most = nullptr;
    const repeating_stack* largest = nullptr;
  };
  duplicate_copies copies = metrics.all;
  line_namer lines(tables, names);
  std::map<symbols::line_id, line_group> groups;
  for (const repeating_stack& stack : metrics.stacks) {
    if (!lines.knows(stack.stack)) {
      copies.without_stack.add(stack.metrics);
      continue;
    }
    line_group& group = groups[lines.get_line(stack.stack)];
    group.metrics.add(stack.metrics);
    if (group.most == nullptr || stack.metrics.all.bytes > group.most->metrics.all.bytes) group.most = &stack;
    if (group.largest == nullptr || stack.largest_bytes > group.largest->largest_bytes) group.largest = &stack;
  }
  std::vector<std::pair<symbols::line_id, line_group>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    const copy_metrics& x = a.second.metrics.all;
    const copy_metrics& y = b.second.metrics.all;
    return std::pair(x.bytes, x.copies) > std::pair(y.bytes, y.copies);
  });
  for (const auto& [line, subject] : sorted) {
    if (copies.lines.size() == duplicate_copies::line_limit) {
      copies.other_lines.add(subject.metrics);
      continue;
    }
    copies.lines.push_back(
        {lines.describe(line), subject.metrics, lines.stack(subject.most->stack), subject.largest->largest});
  }
  return copies;
}

}  // namespace sluice::metrics
