#include "core/figures/stack_use.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/base/saturating.hpp"
#include "core/index/index.hpp"

namespace sluice::analysis {
namespace {

/// Sums figures by call stack.
class stack_use_builder {
 public:
  explicit stack_use_builder(const std::atomic<bool>& cancelled) : cancelled_(cancelled) {}

  /// Returns false once the query is cancelled. Checks only every 4096th time.
  bool goes_on() { return (++steps_ & 0xfffU) != 0 || !cancelled_; }
  void add(trace::stack_id stack, const stack_figures& figures) { by_stack_[raw(stack)].add(figures); }

  stack_use take(time_ns time) {
    stack_use made;
    made.time = time;
    made.cancelled = cancelled_;
    made.shares.reserve(by_stack_.size());
    for (const auto& [stack, figures] : by_stack_) made.shares.push_back({trace::stack_id{stack}, figures});
    std::sort(made.shares.begin(), made.shares.end(),
              [](const stack_share& a, const stack_share& b) { return a.stack < b.stack; });
    return made;
  }

 private:
  const std::atomic<bool>& cancelled_;
  std::size_t steps_ = 0;
  std::unordered_map<std::uint64_t, stack_figures> by_stack_;
};

/// Scales `bytes` by `inside` / `whole`, rounded down. Exact: the product needs 128 bits.
std::uint64_t part_of(std::uint64_t bytes, time_ns inside, time_ns whole) {
  if (whole <= 0 || inside >= whole) return bytes;
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(wide{bytes} * static_cast<std::uint64_t>(inside) /
                                    static_cast<std::uint64_t>(whole));
}

}  // namespace

void stack_figures::add(const stack_figures& more) {
  bytes = saturating_sum(bytes, more.bytes);
  count = saturating_sum(count, more.count);
  busy = saturating_sum(busy, more.busy);
  alone = saturating_sum(alone, more.alone);
}

std::uint64_t stack_use::bytes() const {
  stack_figures all;
  for (const stack_share& share : shares) all.add(share.figures);
  return all.bytes;
}

void stack_use::join(const stack_use& more) {
  std::vector<stack_share> both;
  both.reserve(shares.size() + more.shares.size());
  auto next = more.shares.begin();
  for (stack_share& share : shares) {
    for (; next != more.shares.end() && next->stack < share.stack; ++next) both.push_back(*next);
    if (next != more.shares.end() && next->stack == share.stack) share.figures.add((next++)->figures);
    both.push_back(share);
  }
  both.insert(both.end(), next, more.shares.end());
  shares = std::move(both);
  cancelled |= more.cancelled;
  kernels_known |= more.kernels_known;
}

void memory_lister::add_stacks(const memory_use& memory) {
  for (const block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported() || block.stack == trace::stack_id::none) continue;
    all_[{block.device, block.layer, block.kind}].has_stacks = true;
  }
  for (auto& [key, of] : all_) of.has_stacks = of.has_stacks || memory.has_stacks(key);
}

void memory_lister::add(const memory_use& memory, time_range part) {
  for (const auto& [key, tree] : memory.use()) {
    highest_use& of = all_[key];
    of.peak = std::max(of.peak, tree.over(part.begin, part.end).maximum);
  }
  add_stacks(memory);
}

std::vector<listed_memory> memory_lister::list() const {
  std::vector<listed_memory> all;
  for (const auto& [key, of] : all_)
    if (of.peak > 0) all.push_back({key, static_cast<std::uint64_t>(of.peak), of.has_stacks});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.peak > b.peak; });
  return all;
}

std::vector<listed_memory> list_memories(const memory_use& memory, time_range range) {
  memory_lister all;
  for (const auto& [key, tree] : memory.use()) all.all_[key].peak = tree.highest(range.begin, range.end);
  all.add_stacks(memory);
  return all.list();
}

stack_use live_stacks(const memory_use& memory, const block_filter& filter, time_ns time,
                      const std::atomic<bool>& cancelled) {
  stack_use_builder all(cancelled);
  for (const block_record& block : memory.blocks()) {
    if (!all.goes_on()) break;
    if (filter.takes(block) && block.live_at(time)) all.add(block.stack, {block.bytes, 1, 0, 0});
  }
  return all.take(time);
}

held_bytes most_held(const memory_use& memory, const block_filter& filter, time_range range,
                     const std::atomic<bool>& cancelled) {
  __extension__ using wide = __int128;
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  std::vector<change> steps;
  wide held = 0;
  std::size_t seen = 0;
  for (const block_record& block : memory.blocks()) {
    if ((++seen & 0xfffU) == 0 && cancelled) return {range.begin, 0};
    if (!filter.takes(block) || !block.live_in(range)) continue;
    const auto bytes = static_cast<std::int64_t>(block.bytes);
    if (block.born <= range.begin) {
      held += bytes;
    } else {
      steps.push_back({block.born, bytes});
    }
    if (block.freed() && block.died < range.end) steps.push_back({block.died, -bytes});
  }
  std::sort(steps.begin(), steps.end(), [](const change& a, const change& b) { return a.time < b.time; });
  wide highest = held;
  time_ns when = range.begin;
  for (std::size_t i = 0; i < steps.size();) {
    const time_ns time = steps[i].time;
    for (; i < steps.size() && steps[i].time == time; ++i) held += steps[i].bytes;
    if (held <= highest) continue;
    highest = held;
    when = time;
  }
  return {when, static_cast<std::uint64_t>(std::clamp<wide>(highest, 0, std::numeric_limits<std::uint64_t>::max()))};
}

time_ns peak_time(const memory_use& memory, const block_filter& filter, time_range range,
                  const std::atomic<bool>& cancelled) {
  return most_held(memory, filter, range, cancelled).time;
}

stack_use allocating_stacks(const memory_use& memory, const block_filter& filter, time_range range,
                            const std::atomic<bool>& cancelled) {
  stack_use_builder all(cancelled);
  for (const block_record& block : memory.blocks()) {
    if (!all.goes_on()) break;
    if (!filter.takes(block) || block.born_before() || block.born < range.begin || block.born >= range.end) continue;
    all.add(block.stack, {block.bytes, 1, 0, 0});
  }
  return all.take(range.begin);
}

stack_use copying_stacks(const index& from, const copy_filter& filter, time_range range,
                         const std::atomic<bool>& cancelled, std::optional<time_range> part) {
  stack_use_builder all(cancelled);
  bool kernels_known = false;
  const time_range here = part.value_or(range);
  const auto& devices = from.devices().devices();
  for (const copy_record& copy : from.copies().copies()) {
    if (!all.goes_on()) break;
    if (filter.device && copy.device != *filter.device) continue;
    if (filter.direction && copy.direction != *filter.direction) continue;
    const bool instant = copy.begin == copy.end && copy.begin >= here.begin;
    if (copy.begin >= here.end || (copy.end <= here.begin && !instant)) continue;
    const auto length_in = [&](time_range span) {
      const time_ns begin = std::max(copy.begin, span.begin);
      return std::max(begin, std::min(copy.end, span.end)) - begin;
    };
    stack_figures figures{0, 0, length_in(here), 0};
    if (here.begin == range.begin || copy.begin >= here.begin) {
      figures.count = 1;
      figures.bytes =
          copy.end == latest_time ? copy.bytes : part_of(copy.bytes, length_in(range), copy.end - copy.begin);
    }
    const auto device = devices.find(copy.device);
    if (device != devices.end() && from.devices().ran_kernels(copy.device) && copy.direction != trace::direction::h2h) {
      kernels_known = true;
      const time_ns begin = std::max(copy.begin, here.begin);
      if (figures.busy > 0) figures.alone = figures.busy - device->second.kernels.busy(begin, begin + figures.busy);
    }
    all.add(from.copies().stack_of(copy.call), figures);
  }
  stack_use made = all.take(range.begin);
  made.kernels_known = kernels_known;
  return made;
}

}  // namespace sluice::analysis
