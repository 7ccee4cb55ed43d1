#include "core/metrics/findings/idle_memory/idle_memory.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/index/tensor_facts.hpp"
#include "core/metrics/base/link_share.hpp"
#include "core/metrics/base/memory_peak.hpp"
#include "core/metrics/base/octile_coverage.hpp"

namespace sluice::metrics {
namespace {

/// True if a higher layer has memory on the same device. The blocks of that layer describe the use more precisely.
bool lies_below_another(const memory_peak& peak, const std::vector<memory_peak>& peaks) {
  return std::any_of(peaks.begin(), peaks.end(), [&](const memory_peak& other) {
    return other.device == peak.device && index::is_device_resident(other.kind) && other.layer > peak.layer;
  });
}

/// Sets the members of `group` about the allocation times of its blocks. `times` are these times; the list must not be
/// empty. Time is measured in kernels launched, so memory that is allocated and filled before the work begins does not
/// count as growing during the work.
void set_births(const std::vector<time_ns>& times, time_ns peak, const index::touch_index& touches, idle_group& group) {
  group.first_birth = *std::min_element(times.begin(), times.end());
  group.last_birth = *std::max_element(times.begin(), times.end());
  group.birth_kernels = touches.kernels_in({group.first_birth, group.last_birth});
  const double work = static_cast<double>(std::max<std::uint64_t>(touches.kernels_in({group.first_birth, peak}), 1));
  octile_coverage spread;
  for (const time_ns each : times)
    spread.mark(static_cast<double>(touches.kernels_in({group.first_birth, each})) / work);
  group.spread = spread.count();
}

/// Returns when the block is first needed. Earlier clears and copies from the host only initialize the block, and the
/// program could do them right before the first need. `used`: the block's uses, which must not be empty.
time_ns first_need(const index::block_record& block, const index::block_touches& used,
                   const index::touch_index& touches) {
  const std::span<const index::access> uses = touches.accesses_to(block.id);
  // `uses` does not include uses by graphs and uses in earlier sections.
  if (used.replays > 0 || uses.empty() || used.first.time < uses.front().time) return used.first.time;
  const auto need = std::find_if(uses.begin(), uses.end(), [](const index::access& each) {
    return each.kind != index::access_kind::clear && each.kind != index::access_kind::upload;
  });
  return need == uses.end() ? used.first.time : need->time;
}

/// The allocations of one kind of memory.
class births {
 public:
  births(const index::memory_use& memory, const index::memory_key& key, time_ns peak) {
    for (const index::block_record& block : memory.blocks()) {
      if (!index::takes_device_memory(block) || get_key(block) != key) continue;
      if (block.live_at(peak)) at_peak_.emplace_back(block.born, block.bytes);
      if (block.stack != trace::stack_id::none) of_stack_[block.stack].emplace_back(block.born, block.bytes);
    }
    std::sort(at_peak_.begin(), at_peak_.end());
    for (auto& [stack, times] : of_stack_) std::sort(times.begin(), times.end());
  }

  /// True if the memory of a block of `bytes` could be reused, because another block live at the peak was allocated
  /// after `since` and would fit.
  [[nodiscard]] bool could_replace(time_ns since, std::uint64_t bytes) const {
    auto next = std::lower_bound(at_peak_.begin(), at_peak_.end(), std::pair(since, std::uint64_t{0}));
    std::size_t left = 4096;  // The first 4096 blocks are enough to judge.
    for (; next != at_peak_.end() && left > 0; ++next, --left)
      if (next->second <= bytes && next->second > bytes / 4) return true;
    return false;
  }

  /// Returns when the stack of `block` last allocated a similar block (at least half the size), after `since` and
  /// before `block` was freed; unknown if there is no such block.
  [[nodiscard]] time_ns get_successor(const index::block_record& block, time_ns since) const {
    const auto found = of_stack_.find(block.stack);
    if (found == of_stack_.end() || !block.freed()) return trace::unknown_time;
    const auto behind = std::upper_bound(found->second.begin(), found->second.end(), birth{block.died, any_size});
    if (behind == found->second.begin()) return trace::unknown_time;
    const auto& [born, bytes] = *(behind - 1);
    return born < since || bytes < block.bytes / 2 ? trace::unknown_time : born;
  }

  /// Returns the number of blocks that `stack` allocated until `until` with between half and twice the size `bytes`.
  [[nodiscard]] std::uint64_t count_uses(trace::stack_id stack, std::uint64_t bytes, time_ns until) const {
    const auto found = of_stack_.find(stack);
    if (found == of_stack_.end()) return 0;
    const auto end = std::upper_bound(found->second.begin(), found->second.end(), birth{until, any_size});
    return static_cast<std::uint64_t>(std::count_if(found->second.begin(), end, [&](const birth& each) {
      return each.second >= bytes / 2 && each.second / 2 <= bytes;
    }));
  }

 private:
  using birth = std::pair<time_ns, std::uint64_t>;  ///< Time and size in bytes.
  static constexpr std::uint64_t any_size = std::numeric_limits<std::uint64_t>::max();
  std::vector<birth> at_peak_;
  std::map<trace::stack_id, std::vector<birth>> of_stack_;
};

}  // namespace

double idle_memory_builder::compute_rate(trace::device_id device) const {
  const trace::device_row* row = scope_.tables().devices.find(device);
  const double rate =
      row == nullptr ? 0
                     : rate_in_practice(static_cast<double>(row->attainable_h2d), static_cast<double>(row->link_peak));
  return rate > 0 ? rate : usual_link_rate;
}

std::vector<idle_memory_builder::interval> idle_memory_builder::list_intervals(const index::block_record& block,
                                                                               const index::block_category& category,
                                                                               const index::event_store& store) const {
  std::vector<interval> intervals;
  const time_ns end = block.freed() ? std::min(block.died, scope_.range.end) : scope_.range.end;
  const index::block_touches used = store.touches().of(block);
  const std::uint64_t min_works = std::clamp<std::uint64_t>(store.touches().touches() / few_touches, 1, idle_works);
  const auto add = [&](idle_reason reason, time_range idle, std::uint64_t times = 1) {
    if (idle.length() > 0 && store.touches().has_works(block.process, idle, times * min_works))
      intervals.push_back({reason, idle});
  };
  if (!used.last.known()) {
    add(idle_reason::never_used, {block.born, end});
    return intervals;
  }
  if (!block.born_before()) add(idle_reason::allocated_early, {block.born, first_need(block, used, store.touches())});
  // The work that last used the block does not count as other work.
  add(idle_reason::held_late, {used.last.time + 1, end});
  if (used.replays > 0) return intervals;
  const std::span<const index::access> uses = store.touches().accesses_to(block.id);
  if (uses.size() < 2) return intervals;
  const double both_ways = 2 * static_cast<double>(block.bytes) / compute_rate(block.device) * 1e9;
  for (std::size_t i = 1; i < uses.size(); ++i) {
    const time_range gap{uses[i - 1].time + 1, uses[i].time};
    if (category.kind == index::category::gradient && uses[i - 1].kind == index::access_kind::clear)
      add(idle_reason::kept_gradient, gap);
    else if (!category.kept_by_library() && static_cast<double>(gap.length()) >= worth_moving * both_ways)
      // Require more other work, because the block is used again soon and moving it costs time.
      add(idle_reason::between_uses, gap, 3);
  }
  return intervals;
}

void idle_memory_builder::sweep(const timeline::level_tree& use, time_range run, memory_in_run& in_run) {
  in_run.highest = use.over(run.begin, run.end).maximum;
  const auto find_highest = [&](memory_in_run::group& group) {
    std::sort(group.changes.begin(), group.changes.end(),
              [](const change& a, const change& b) { return a.time < b.time; });
    std::int64_t idle = 0;
    time_ns at = run.begin;
    const auto look_until = [&, &highest = group.highest](time_ns until) {
      if (until <= at) return;
      // Skip stretches whose known maximum is too low to matter, without looking at their curve. Most stretches are
      // skipped.
      if (in_run.highest - static_cast<double>(idle) > highest)
        highest = std::max(highest, use.over(at, until).maximum - static_cast<double>(idle));
      at = until;
    };
    for (const change& each : group.changes) {
      look_until(each.time);
      idle += each.bytes;
    }
    look_until(run.end);
    group.changes = {};
  };
  for (auto& [source, group] : in_run.groups) find_highest(group);
  for (auto& [cause, group] : in_run.together) find_highest(group);
}

std::map<std::size_t, time_ns> idle_memory_builder::find_reusable(const index::event_store& store, time_range run,
                                                                  std::optional<index::memory_key> of_one) {
  constexpr std::size_t max_of_a_size = 256;  // Matching takes quadratic time.
  struct candidate {
    std::size_t position = 0;
    const index::block_record* block = nullptr;
    time_ns first = 0;
    time_ns last = 0;
  };
  std::map<std::tuple<index::memory_key, trace::process_id, std::uint64_t>, std::vector<candidate>> sizes;
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!index::takes_device_memory(blocks[i]) || blocks[i].bytes < min_reusable || !blocks[i].live_in(run)) continue;
    if (of_one && get_key(blocks[i]) != *of_one) continue;
    const index::block_touches used = store.touches().of(blocks[i]);
    if (!used.last.known()) continue;
    std::vector<candidate>& candidates = sizes[{get_key(blocks[i]), blocks[i].process, blocks[i].bytes}];
    if (candidates.size() < max_of_a_size)
      candidates.push_back({i, &blocks[i], first_need(blocks[i], used, store.touches()), used.last.time});
  }
  std::map<std::size_t, time_ns> times;
  for (auto& [size, subject] : sizes) {
    std::sort(subject.begin(), subject.end(), [](const candidate& a, const candidate& b) { return a.first < b.first; });
    std::vector<bool> taken(subject.size(), false);
    for (std::size_t next = 1; next < subject.size(); ++next) {
      for (std::size_t earlier = 0; earlier < next; ++earlier) {
        const index::block_record& old = *subject[earlier].block;
        const index::block_record& young = *subject[next].block;
        const bool together = !old.freed() || old.died > subject[next].first;
        if (taken[earlier] || subject[earlier].last >= subject[next].first || !together || young.born < old.born ||
            young.born >= subject[earlier].last)
          continue;
        taken[earlier] = true;
        const time_ns until = std::min(old.freed() ? old.died : latest_time, young.freed() ? young.died : latest_time);
        times.emplace(subject[next].position, until);
        break;
      }
    }
  }
  return times;
}

void idle_memory_builder::add_idle(memory_in_run& to, const index::block_record& block, index::category wanted,
                                   const interval& each, time_range run) {
  const time_range idle = intersect(each.idle, run);
  if (idle.length() <= 0) return;
  const origin key{each.reason, block.stack, block.name, wanted};
  auto group = to.groups.find(key);
  if (group == to.groups.end()) {
    if (to.groups.size() >= max_groups) return;
    group = to.groups.emplace(key, memory_in_run::group{}).first;
  }
  const std::int64_t bytes = index::signed_bytes(block);
  for (memory_in_run::group* to_group : {&group->second, &to.together[{each.reason, wanted}]}) {
    to_group->changes.push_back({idle.begin, bytes});
    to_group->changes.push_back({idle.end, -bytes});
  }
}

idle_memory_builder::of_run idle_memory_builder::find(const index::event_store& store, time_range run) const {
  of_run found;
  const time_range here = intersect(scope_.range, run);
  if (store.touches().empty() || here.length() <= 0) return found;
  const auto facts = store.tensors(*scope_.trace);
  const auto reusable = find_reusable(store, here);
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size() && i < facts->categories.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!index::takes_device_memory(block) || block.kind == trace::memory_kind::physical || !block.live_in(here))
      continue;
    memory_in_run& in_run = found.all_[get_key(block)];
    in_run.processes.insert(block.process);
    const index::category wanted = facts->categories[i].kind;
    for (const interval& each : list_intervals(block, facts->categories[i], store))
      add_idle(in_run, block, wanted, each, here);
    if (const auto other = reusable.find(i); other != reusable.end())
      add_idle(in_run, block, wanted, {idle_reason::reusable, {block.born, std::min(other->second, scope_.range.end)}},
               here);
  }
  // A kind of memory without blocks in this run may have blocks in earlier runs.
  for (const auto& [key, use] : store.memory().use()) sweep(use, here, found.all_[key]);
  return found;
}

void idle_memory_builder::add(const of_run& found) {
  for (const auto& [key, here] : found.all_) {
    if (here.processes.empty() && !all_.contains(key)) continue;
    memory& subject = all_[key];
    subject.processes.insert(here.processes.begin(), here.processes.end());
    for (const auto& [origin, idle] : here.groups) {
      if (subject.groups.size() >= max_groups && !subject.groups.contains(origin)) continue;
      const auto [place, fresh] = subject.groups.try_emplace(origin);
      if (fresh) place->second.highest = subject.highest;  // No block of the group was idle in earlier runs.
      place->second.highest = std::max(place->second.highest, idle.highest);
    }
    for (auto& [origin, known] : subject.groups)
      if (!here.groups.contains(origin)) known.highest = std::max(known.highest, here.highest);
    for (const auto& [cause, idle] : here.together) {
      double& highest = subject.together.try_emplace(cause, subject.highest).first->second;
      highest = std::max(highest, idle.highest);
    }
    for (auto& [cause, highest] : subject.together)
      if (!here.together.contains(cause)) highest = std::max(highest, here.highest);
    subject.highest = std::max(subject.highest, here.highest);
  }
}

void idle_memory_builder::count(const index::block_record& block, const interval& each, const index::event_store& store,
                                idle_group& in) {
  ++in.blocks_at_peak;
  saturating_add(in.bytes_at_peak, block.bytes);
  // If several blocks are equally large, take the one with the lowest id, so that the order of arrival does not matter.
  const bool first_of_equals = block.bytes == in.largest_bytes && block.id < in.largest;
  if (block.bytes <= in.largest_bytes && !first_of_equals && in.largest != trace::block_id::none) return;
  in.largest = block.id;
  in.largest_bytes = block.bytes;
  in.idle = each.idle;
  in.works = store.touches().works_in(block.process, each.idle);
}

void idle_memory_builder::revisit(const memory_peak& peak, const index::event_store& store) {
  const index::memory_key key{peak.device, peak.layer, peak.kind};
  const auto position = all_.find(key);
  if (position == all_.end()) return;
  position->second.works = position->second.kernels = 0;
  for (const trace::process_id process : position->second.processes) {
    position->second.works += store.touches().works_in(process, scope_.range);
    position->second.kernels += store.touches().kernels_in(process, scope_.range);
  }
  const auto facts = store.tensors(*scope_.trace);
  const auto reusable = find_reusable(store, scope_.range, key);
  const births made_here(store.memory(), key, peak.time);
  std::map<group*, std::vector<time_ns>> born;
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size() && i < facts->categories.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!index::takes_device_memory(block) || get_key(block) != key || !block.live_at(peak.time)) continue;
    std::vector<interval> intervals = list_intervals(block, facts->categories[i], store);
    if (const auto found = reusable.find(i); found != reusable.end())
      intervals.push_back({idle_reason::reusable, {block.born, found->second}});
    for (const interval& each : intervals) {
      if (!each.idle.holds(peak.time)) continue;
      const auto found =
          position->second.groups.find({each.reason, block.stack, block.name, facts->categories[i].kind});
      if (found == position->second.groups.end()) continue;
      count(block, each, store, found->second.found);
      if (each.reason != idle_reason::held_late) continue;
      born[&found->second].push_back(block.born);
      if (made_here.could_replace(each.idle.begin, block.bytes))
        saturating_add(found->second.found.replaced, block.bytes);
      const time_ns successor = made_here.get_successor(block, each.idle.begin);
      if (successor != trace::unknown_time &&
          store.touches().works_in(block.process, {successor, block.died}) <= reassigned_works)
        saturating_add(found->second.found.reassigned, block.bytes);
    }
  }
  for (auto& [origin, group] : position->second.groups) {
    const auto times = born.find(&group);
    if (times == born.end()) continue;
    set_births(times->second, peak.time, store.touches(), group.found);
    const trace::stack_id stack = std::get<trace::stack_id>(origin);
    const std::uint64_t size = group.found.bytes_at_peak / group.found.blocks_at_peak;
    group.found.born = made_here.count_uses(stack, size, peak.time);
    group.found.born_later = made_here.count_uses(stack, size, latest_time) - group.found.born;
  }
  find_accumulating(store, *facts, key, peak.time, position->second.accumulating);
}

void idle_memory_builder::find_accumulating(const index::event_store& store, const index::tensor_facts& facts,
                                            const index::memory_key& key, time_ns peak, std::vector<idle_group>& into) {
  constexpr std::size_t min_blocks = 8;
  struct made_by_stack {
    std::vector<time_ns> live;
    std::uint64_t freed = 0;
    idle_group group;
  };
  // Layers of a neural network that have the same type share a call stack, so distinguish their blocks by size.
  std::map<std::tuple<trace::stack_id, trace::string_id, index::category, int>, made_by_stack> stacks;
  const std::span<const index::block_record> blocks = store.memory().blocks();
  for (std::size_t i = 0; i < blocks.size() && i < facts.categories.size(); ++i) {
    const index::block_record& block = blocks[i];
    if (!index::takes_device_memory(block) || get_key(block) != key || block.born > peak || block.born_before())
      continue;
    made_by_stack& stack = stacks[{block.stack, block.name, facts.categories[i].kind, std::bit_width(block.bytes)}];
    if (!block.live_at(peak)) {
      ++stack.freed;
      continue;
    }
    stack.live.push_back(block.born);
    ++stack.group.blocks_at_peak;
    saturating_add(stack.group.bytes_at_peak, block.bytes);
    if (block.bytes <= stack.group.largest_bytes) continue;
    stack.group.largest = block.id;
    stack.group.largest_bytes = block.bytes;
  }
  for (auto& [origin, subject] : stacks) {
    if (subject.live.size() < min_blocks || subject.freed * 10 > subject.live.size()) continue;
    set_births(subject.live, peak, store.touches(), subject.group);
    std::tie(subject.group.stack, subject.group.name, subject.group.category, std::ignore) = origin;
    subject.group.reason = idle_reason::accumulating;
    subject.group.idle = {subject.group.first_birth, peak + 1};
    subject.group.saved = subject.group.bytes_at_peak - subject.group.bytes_at_peak / subject.group.blocks_at_peak;
    into.push_back(subject.group);
  }
}

std::vector<idle_memory> idle_memory_builder::metrics(const std::vector<memory_peak>& peaks) const {
  std::vector<idle_memory> memories;
  for (const memory_peak& peak : peaks) {
    const auto known = all_.find({peak.device, peak.layer, peak.kind});
    if (known == all_.end() || lies_below_another(peak, peaks)) continue;
    idle_memory subject{peak.device,           peak.layer, peak.kind, peak.time, peak.bytes, known->second.works,
                        known->second.kernels, {},         {}};
    for (const auto& [cause, highest] : known->second.together)
      if (const double saved = static_cast<double>(peak.bytes) - highest; saved >= 1)
        subject.together.push_back({cause.first, cause.second, static_cast<std::uint64_t>(saved)});
    for (const auto& [source, group] : known->second.groups) {
      const double saved = static_cast<double>(peak.bytes) - group.highest;
      if (saved < 1 || group.found.blocks_at_peak == 0) continue;
      idle_group& output = subject.groups.emplace_back(group.found);
      std::tie(output.reason, output.stack, output.name, output.category) = source;
      output.device = peak.device;
      output.layer = peak.layer;
      output.kind = peak.kind;
      output.saved = static_cast<std::uint64_t>(saved);
    }
    for (idle_group each : known->second.accumulating) {
      each.device = peak.device;
      each.layer = peak.layer;
      each.kind = peak.kind;
      subject.groups.push_back(each);
    }
    std::stable_sort(subject.groups.begin(), subject.groups.end(),
                     [](const idle_group& a, const idle_group& b) { return a.saved > b.saved; });
    if (subject.groups.size() > idle_memory::limit) subject.groups.resize(idle_memory::limit);
    if (!subject.groups.empty()) memories.push_back(std::move(subject));
  }
  return memories;
}

}  // namespace sluice::metrics
