#include "core/metrics/base/stack_use.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "core/base/cancel.hpp"
#include "core/base/recent_entry.hpp"
#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// Sums metrics by call stack.
class stack_use_builder {
 public:
  explicit stack_use_builder(const std::atomic<bool>& cancelled) : cancelled_(cancelled) {}

  /// Returns false once the query is cancelled. Checks this only on every 4096th call.
  bool goes_on() { return (++steps_ & 0xfffU) != 0 || !cancelled_; }
  void add(trace::stack_id stack, const stack_metrics& metrics) { by_stack_[raw(stack)].add(metrics); }
  void add_birth(const index::block_record& block, time_range range) {
    if (!block.born_before() && range.holds(block.born)) add(block.stack, {block.bytes, 1, 0, 0});
  }

  stack_use take(time_ns time) {
    stack_use use;
    use.time = time;
    use.cancelled = cancelled_;
    use.shares.reserve(by_stack_.size());
    for (const auto& [stack, metrics] : by_stack_) use.shares.push_back({trace::stack_id{stack}, metrics});
    std::sort(use.shares.begin(), use.shares.end(),
              [](const stack_share& a, const stack_share& b) { return a.stack < b.stack; });
    return use;
  }

 private:
  const std::atomic<bool>& cancelled_;
  std::size_t steps_ = 0;
  std::unordered_map<std::uint64_t, stack_metrics> by_stack_;
};

/// The bytes that blocks hold over a range.
class held_over_time {
 public:
  explicit held_over_time(time_range range) : range_(range) {}

  void add(const index::block_record& block) {
    if (!block.live_in(range_)) return;
    const auto bytes = static_cast<std::int64_t>(block.bytes);
    if (block.born <= range_.begin) {
      at_begin_ += bytes;
    } else {
      changes_.push_back({block.born, bytes});
    }
    if (block.freed() && block.died < range_.end) changes_.push_back({block.died, -bytes});
  }

  /// Returns the maximum and its time. Must be called once, after all blocks have been added.
  held_bytes most() {
    std::sort(changes_.begin(), changes_.end(), [](const change& a, const change& b) { return a.time < b.time; });
    wide held = at_begin_, highest = held;
    time_ns when = range_.begin;
    for (std::size_t i = 0; i < changes_.size();) {
      const time_ns time = changes_[i].time;
      for (; i < changes_.size() && changes_[i].time == time; ++i) held += changes_[i].bytes;
      if (held <= highest) continue;
      highest = held;
      when = time;
    }
    return {when, static_cast<std::uint64_t>(std::clamp<wide>(highest, 0, std::numeric_limits<std::uint64_t>::max()))};
  }

 private:
  __extension__ using wide = __int128;
  struct change {
    time_ns time = 0;
    std::int64_t bytes = 0;
  };
  time_range range_;
  wide at_begin_ = 0;
  std::vector<change> changes_;
};

/// Scales `bytes` by `inside` / `whole`, rounded down. The result is exact, because the product is computed with 128
/// bits.
std::uint64_t get_part(std::uint64_t bytes, time_ns inside, time_ns whole) {
  if (whole <= 0 || inside >= whole) return bytes;
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(wide{bytes} * static_cast<std::uint64_t>(inside) /
                                    static_cast<std::uint64_t>(whole));
}

}  // namespace

void stack_metrics::add(const stack_metrics& more) {
  bytes = saturating_sum(bytes, more.bytes);
  count = saturating_sum(count, more.count);
  busy = saturating_sum(busy, more.busy);
  alone = saturating_sum(alone, more.alone);
}

std::uint64_t stack_use::bytes() const {
  stack_metrics whole;
  for (const stack_share& share : shares) whole.add(share.metrics);
  return whole.bytes;
}

void stack_use::join(const stack_use& more) {
  std::vector<stack_share> both;
  both.reserve(shares.size() + more.shares.size());
  auto next = more.shares.begin();
  for (stack_share& share : shares) {
    for (; next != more.shares.end() && next->stack < share.stack; ++next) both.push_back(*next);
    if (next != more.shares.end() && next->stack == share.stack) share.metrics.add((next++)->metrics);
    both.push_back(share);
  }
  both.insert(both.end(), next, more.shares.end());
  shares = std::move(both);
  cancelled |= more.cancelled;
  kernels_known |= more.kernels_known;
}

void memory_lister::add_stacks(const index::memory_use& memory) {
  for (const index::block_record& block : memory.blocks()) {
    if (!block.allocated || block.imported() || block.stack == trace::stack_id::none) continue;
    all_[{block.device, block.layer, block.kind}].has_stacks = true;
  }
  for (auto& [key, subject] : all_) subject.has_stacks = subject.has_stacks || memory.has_stacks(key);
}

void memory_lister::add(const index::memory_use& memory, time_range part) {
  for (const auto& [key, tree] : memory.use()) {
    highest_use& use = all_[key];
    use.peak = std::max(use.peak, tree.over(part.begin, part.end).maximum);
  }
  add_stacks(memory);
}

std::vector<listed_memory> memory_lister::list() const {
  std::vector<listed_memory> memories;
  for (const auto& [key, subject] : all_)
    if (subject.peak > 0) memories.push_back({key, static_cast<std::uint64_t>(subject.peak), subject.has_stacks});
  std::stable_sort(memories.begin(), memories.end(), [](const auto& a, const auto& b) { return a.peak > b.peak; });
  return memories;
}

std::vector<listed_memory> list_memories(const index::memory_use& memory, time_range range) {
  memory_lister lister;
  for (const auto& [key, tree] : memory.use()) lister.all_[key].peak = tree.highest(range.begin, range.end);
  lister.add_stacks(memory);
  return lister.list();
}

stack_use live_stacks(const index::memory_use& memory, const block_filter& filter, time_ns time,
                      const std::atomic<bool>& cancelled) {
  stack_use_builder builder(cancelled);
  for (const index::block_record& block : memory.blocks()) {
    if (!builder.goes_on()) break;
    if (filter.takes(block) && block.live_at(time)) builder.add(block.stack, {block.bytes, 1, 0, 0});
  }
  return builder.take(time);
}

blocks_by_memory group_by_memory(const index::memory_use& memory) {
  blocks_by_memory by_memory;
  recent_entry<blocks_by_memory> last;
  for (const index::block_record& block : memory.blocks())
    if (block.allocated && !block.imported()) last.in(by_memory, index::get_key(block)).push_back(&block);
  return by_memory;
}

held_bytes max_held(const index::memory_use& memory, const block_filter& filter, time_range range,
                    const std::atomic<bool>& cancelled) {
  held_over_time over_time(range);
  std::size_t seen = 0;
  for (const index::block_record& block : memory.blocks()) {
    if ((++seen & 0xfffU) == 0 && cancelled) return {range.begin, 0};
    if (filter.takes(block)) over_time.add(block);
  }
  return over_time.most();
}

held_bytes max_held(std::span<const index::block_record* const> blocks, time_range range) {
  held_over_time over_time(range);
  for (const index::block_record* const block : blocks) over_time.add(*block);
  return over_time.most();
}

time_ns peak_time(const index::memory_use& memory, const block_filter& filter, time_range range,
                  const std::atomic<bool>& cancelled) {
  return max_held(memory, filter, range, cancelled).time;
}

stack_use allocating_stacks(const index::memory_use& memory, const block_filter& filter, time_range range,
                            const std::atomic<bool>& cancelled) {
  stack_use_builder builder(cancelled);
  for (const index::block_record& block : memory.blocks()) {
    if (!builder.goes_on()) break;
    if (filter.takes(block)) builder.add_birth(block, range);
  }
  return builder.take(range.begin);
}

stack_use allocating_stacks(std::span<const index::block_record* const> blocks, time_range range) {
  stack_use_builder builder(never_cancelled);
  for (const index::block_record* const block : blocks) builder.add_birth(*block, range);
  return builder.take(range.begin);
}

stack_use copying_stacks(const index::event_store& store, const copy_filter& filter, time_range range,
                         const std::atomic<bool>& cancelled, std::optional<time_range> part) {
  stack_use_builder builder(cancelled);
  bool kernels_known = false;
  const time_range here = part.value_or(range);
  const auto& devices = store.devices().devices();
  for (const index::copy_record& copy : store.copies().copies()) {
    if (!builder.goes_on()) break;
    if (filter.device && copy.device != *filter.device) continue;
    if (filter.direction && copy.direction != *filter.direction) continue;
    const bool instant = copy.begin == copy.end && copy.begin >= here.begin;
    if (copy.begin >= here.end || (copy.end <= here.begin && !instant)) continue;
    const auto length_in = [&](time_range span) {
      const time_ns begin = std::max(copy.begin, span.begin);
      return std::max(begin, std::min(copy.end, span.end)) - begin;
    };
    stack_metrics metrics{0, 0, length_in(here), 0};
    if (here.begin == range.begin || copy.begin >= here.begin) {
      metrics.count = 1;
      metrics.bytes =
          copy.end == latest_time ? copy.bytes : get_part(copy.bytes, length_in(range), copy.end - copy.begin);
    }
    const auto device = devices.find(copy.device);
    if (device != devices.end() && store.devices().ran_kernels(copy.device) &&
        copy.direction != trace::direction::h2h) {
      kernels_known = true;
      const time_ns begin = std::max(copy.begin, here.begin);
      if (metrics.busy > 0) metrics.alone = metrics.busy - device->second.kernels.busy(begin, begin + metrics.busy);
    }
    builder.add(store.copies().find_stack(copy.call), metrics);
  }
  stack_use use = builder.take(range.begin);
  use.kernels_known = kernels_known;
  return use;
}

}  // namespace sluice::metrics
