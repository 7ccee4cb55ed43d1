#include "core/metrics/analyzers/idle_gaps.hpp"

#include <algorithm>
#include <bit>

#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"
#include "core/trace/model/recorded_names.hpp"

namespace sluice::metrics {
namespace {

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

/// Returns the unit of the device that does this kind of work (`queued_work::engine`).
std::uint8_t get_engine(std::uint8_t kind) {
  switch (static_cast<timeline::slice_kind>(kind)) {
    case timeline::slice_kind::kernel:
    case timeline::slice_kind::graph:
      return 1;
    case timeline::slice_kind::h2d:
      return 2;
    case timeline::slice_kind::d2h:
      return 3;
    default:
      return 0;
  }
}

/// True if a call with this cause blocks the host, which could otherwise run ahead of the device.
bool blocks_host(gap_cause cause) {
  return cause == gap_cause::wait || cause == gap_cause::blocking_copy || cause == gap_cause::allocation ||
         cause == gap_cause::release;
}

}  // namespace

gap_cause cause_of_call(std::string_view name) {
  if (index::is_waiting_call(name)) return gap_cause::wait;
  if (has(name, "Memcpy")) return has(name, "Async") ? gap_cause::host : gap_cause::blocking_copy;
  for (const std::string_view part : {"MemFree", "cudaFree", "MemUnmap", "MemRelease", "FreeHost"})
    if (has(name, part)) return has(name, "Async") ? gap_cause::host : gap_cause::release;
  for (const std::string_view part : {"MemAlloc", "cudaMalloc", "MemCreate", "MemMap", "HostAlloc", "HostRegister"})
    if (has(name, part)) return has(name, "Async") ? gap_cause::host : gap_cause::allocation;
  for (const std::string_view part : {"Module", "Library", "GraphInstantiate", "LinkC", "LinkA", "Compile"})
    if (has(name, part)) return gap_cause::loading;
  return gap_cause::host;
}

gap_cause cause_of_range(std::string_view name) {
  namespace names = trace::recorded_names;
  if (name == names::garbage_collection) return gap_cause::garbage;
  if (name == names::compilation) return gap_cause::compilation;
  // torch.profiler uses the second name.
  if (name == names::next_batch || name.starts_with("enumerate(DataLoader)")) return gap_cause::data;
  if (name == names::lock_wait || name == names::thread_wait) return gap_cause::lock;
  if (name == names::gil_wait) return gap_cause::gil;
  return gap_cause::host;
}

gap_cause idle_gaps_builder::cause_of_copy(const timeline::slice_item& call, std::string_view name) {
  const time_ns length = call.end - call.begin;
  // Reading a few numbers amounts to waiting for the work that computes them.
  if (has(name, "DtoH") && call.bytes <= small_read && length >= min_read_time) return gap_cause::wait;
  // A copy with pageable memory waits, even if the name of the call says that it is asynchronous.
  return has(name, "Async") && length < blocking_copy_time ? gap_cause::host : gap_cause::blocking_copy;
}

std::string_view get_words(gap_cause cause) {
  switch (cause) {
    case gap_cause::wait:
      return "synchronization";
    case gap_cause::blocking_copy:
      return "blocking copy";
    case gap_cause::allocation:
      return "cudaMalloc stall";
    case gap_cause::release:
      return "cudaFree stall";
    case gap_cause::loading:
      return "module loading or compilation";
    case gap_cause::file:
      return "file I/O";
    case gap_cause::garbage:
      return "Python's garbage collection";
    case gap_cause::compilation:
      return "torch.compile";
    case gap_cause::data:
      return "waiting for the next batch of the DataLoader";
    case gap_cause::lock:
      return "waiting for a lock or another thread";
    case gap_cause::gil:
      return "waiting for Python's GIL";
    case gap_cause::host:
      break;
  }
  return "host code";
}

idle_gaps_builder::call_kind idle_gaps_builder::get_kind(trace::string_id call) {
  const auto [place, fresh] = kinds_.try_emplace(raw(call));
  if (fresh) place->second = {cause_of_call(scope_.tables().text(call)), has(scope_.tables().text(call), "Launch")};
  return place->second;
}

void idle_gaps_builder::add_driver_calls(const index::event_store& store, time_range run, host_side& to) {
  for (const index::driver_call& each : store.driver_calls().calls()) {
    if (!run.holds(each.call.begin)) continue;
    const index::block_record* block = store.memory().find(each.block);
    const trace::stack_id stack = each.frees && block != nullptr ? block->stack : each.stack;
    const trace::string_id name = each.frees && block != nullptr ? block->name : each.name;
    to.threads[{each.process, each.thread}].calls.push_back(
        {each.call.begin, each.call.end, name, stack, each.frees ? gap_cause::release : gap_cause::allocation});
    driver_call_group& group = driver_[{stack, name, each.frees}];
    if (group.count == 0) {
      group.call = name;
      group.stack = stack;
      group.process = each.process;
      group.frees = each.frees;
      group.first = group.last = each.call.begin;
      if (block != nullptr) group.kind = block->kind;
    }
    ++group.count;
    saturating_add(group.total, each.call.length());
    group.first = std::min(group.first, each.call.begin);
    group.last = std::max(group.last, each.call.begin);
  }
}

idle_gaps_builder::host_side idle_gaps_builder::get_host(const index::event_store& store, time_range run) {
  host_side side;
  for (const auto& [key, work] : store.host().threads()) {
    thread_calls& calls = side.threads[key];
    const trace::process_id process = key.process;
    work.calls.for_each(run.begin, run.end, [&](const timeline::slice_item& each, std::uint16_t) {
      host_call one{each.begin, each.end, each.name, {}, gap_cause::host};
      switch (static_cast<timeline::slice_kind>(each.kind)) {
        case timeline::slice_kind::sync:
          one.cause = gap_cause::wait;
          one.stack = store.wait_stacks().of(each.event);
          break;
        case timeline::slice_kind::file_io:
          one.cause = gap_cause::file;
          break;
        default: {
          const call_kind kind = get_kind(each.name);
          one.cause = kind.cause;
          calls.launches = calls.launches || kind.launches;
          one.stack = store.copies().find_stack(each.event);
          if (has(scope_.tables().text(each.name), "Memcpy"))
            one.cause = cause_of_copy(each, scope_.tables().text(each.name));
        }
      }
      if (one.stack != trace::stack_id::none) side.stacks[process].push_back({each.begin, one.stack});
      calls.calls.push_back(one);
    });
  }
  add_driver_calls(store, run, side);
  for (auto& [key, subject] : side.threads)
    std::sort(subject.calls.begin(), subject.calls.end(),
              [](const host_call& a, const host_call& b) { return a.begin < b.begin; });
  for (const index::block_record& block : store.memory().blocks())
    if (block.allocated && block.stack != trace::stack_id::none && run.holds(block.born) && !block.born_before())
      side.stacks[block.process].push_back({block.born, block.stack});
  for (auto& [process, stacks] : side.stacks)
    std::sort(stacks.begin(), stacks.end(),
              [](const placed_stack& a, const placed_stack& b) { return a.time < b.time; });
  return side;
}

void idle_gaps_builder::add_gap(const index::event_store& store, const host_side& host, idle_gap found,
                                time_ns progress) {
  const trace::device_id device = found.device;
  const time_range gap = found.span;
  // Find the call that ran when the device became idle, and the call that took most of the gap.
  const host_call* running = nullptr;
  const host_call* longest = nullptr;
  time_ns longest_part = 0;
  const auto look_at = [&](const std::vector<host_call>& calls) {
    auto next = std::upper_bound(calls.begin(), calls.end(), gap.begin,
                                 [](time_ns time, const host_call& each) { return time < each.begin; });
    // Calls may nest, so look back a few calls for a call that is still open.
    for (auto before = next; before != calls.begin() && next - before < 8;) {
      --before;
      if (before->end <= gap.begin || before->cause == gap_cause::host) continue;
      if (running == nullptr || before->begin > running->begin) running = &*before;
    }
    for (; next != calls.end() && next->begin < gap.end; ++next) {
      const time_ns part = std::min(next->end, gap.end) - next->begin;
      if (next->cause == gap_cause::host || part <= longest_part) continue;
      longest = &*next;
      longest_part = part;
    }
  };
  // Calls of processes that do not use the device, such as other ranks, are irrelevant.
  for (const trace::process_id user : users_.at(device))
    for (auto position = host.threads.lower_bound({user, {}});
         position != host.threads.end() && position->first.process == user; ++position)
      look_at(position->second.calls);
  const host_call* culprit = running;
  time_ns blocked = running == nullptr ? 0 : running->end - running->begin;
  // A wait that begins when the device is already idle costs nothing.
  if (culprit == nullptr && longest != nullptr && longest->cause != gap_cause::wait &&
      longest_part * 2 > gap.length()) {
    culprit = longest;
    blocked = longest_part;
  }
  // Without the call, the host would have started its later work earlier by as long as the call blocked.
  const time_ns lost = std::min(blocked, gap.length());
  if (culprit != nullptr) {
    gap_group by_call;
    by_call.device = device;
    by_call.cause = culprit->cause;
    by_call.call = culprit->name;
    by_call.stack = culprit->stack;
    set_stack(by_call, host, culprit->begin);
    count(by_call, gap, lost, progress);
    if (lost * 2 >= gap.length()) {
      found.cause = by_call.cause;
      found.caused = lost;
      found.call = by_call.call;
      found.stack = by_call.stack;
      found.stack_is_next = by_call.stack_is_next;
    }
  }
  const bool reported = gap.length() - lost >= shortest_host_gap;
  if (!reported && (listed_ == 0 || found.caused > 0)) return list(found);
  gap_group by_host;
  by_host.device = device;
  set_range(by_host, store, host, gap);
  set_stack(by_host, host, culprit == nullptr ? gap.begin : std::max(gap.begin, culprit->end));
  if (reported) count(by_host, gap, gap.length() - lost, progress);
  if (found.caused == 0) {
    found.cause = by_host.cause;
    found.caused = gap.length() - lost;
    found.stack = by_host.stack;
    found.stack_is_next = by_host.stack_is_next;
    found.range = by_host.range;
  }
  list(found);
}

namespace {

bool is_longer(const idle_gap& a, const idle_gap& b) {
  return a.span.length() != b.span.length() ? a.span.length() > b.span.length() : a.span.begin < b.span.begin;
}

}  // namespace

void idle_gaps_builder::list(const idle_gap& gap) {
  if (listed_ == 0) return;
  gap_lengths& lengths = lengths_[gap.device];
  const auto place = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(gap.span.length())) - 1);
  gap_lengths::bin& bin = lengths.bins[std::min(place, lengths.bins.size() - 1)];
  ++lengths.count;
  ++bin.count;
  saturating_add(lengths.total, gap.span.length());
  saturating_add(bin.total, gap.span.length());
  std::vector<idle_gap>& kept = longest_[gap.device];
  if (kept.size() == listed_) {
    if (!is_longer(gap, kept.front())) return;
    std::pop_heap(kept.begin(), kept.end(), is_longer);
    kept.pop_back();
  }
  kept.push_back(gap);
  std::push_heap(kept.begin(), kept.end(), is_longer);
}

std::vector<idle_gap> idle_gaps_builder::longest() const {
  std::vector<idle_gap> items;
  for (const auto& [device, kept] : longest_) items.insert(items.end(), kept.begin(), kept.end());
  std::stable_sort(items.begin(), items.end(), is_longer);
  return items;
}

void idle_gaps_builder::set_range(gap_group& group, const index::event_store& store, const host_side& host,
                                  time_range gap) {
  // Find the innermost ranges that cover half of the gap, both among the ranges that name a cause and among the others.
  time_ns shortest = latest_time;
  bool some_wait = false, all_wait = true;  // Only threads that launch work count.
  time_ns for_locks = 0, for_gil = 0;
  const std::set<trace::process_id>& users = users_.at(group.device);
  for (const auto& [key, work] : store.host().threads()) {
    if (!users.contains(key.process)) continue;
    std::array<time_ns, gap_cause_count> covered{};
    work.ranges.for_each(gap.begin, gap.end, [&](const timeline::slice_item& each, std::uint16_t) {
      if (static_cast<timeline::slice_kind>(each.kind) != timeline::slice_kind::range) return;
      const time_range inside = intersect(gap, {each.begin, each.end});
      const gap_cause cause = cause_of_range(scope_.tables().text(each.name));
      covered[static_cast<std::size_t>(cause)] += inside.length();
      if (cause != gap_cause::host || inside.length() * 2 < gap.length() || each.end - each.begin >= shortest) return;
      shortest = each.end - each.begin;
      group.range = each.name;
    });
    // Garbage collection and compilation happen inside other ranges, so their ranges are the more specific cause.
    for (const gap_cause cause : {gap_cause::data, gap_cause::compilation, gap_cause::garbage})
      if (covered[static_cast<std::size_t>(cause)] * 2 >= gap.length()) group.cause = cause;
    const auto thread = host.threads.find(key);
    if (thread == host.threads.end() || !thread->second.launches_after(gap.begin)) continue;
    const time_ns locks = covered[static_cast<std::size_t>(gap_cause::lock)];
    const time_ns gil = covered[static_cast<std::size_t>(gap_cause::gil)];
    const bool waits = (locks + gil) * 2 >= gap.length();
    some_wait = some_wait || waits;
    all_wait = all_wait && waits;
    for_locks += locks;
    for_gil += gil;
  }
  if (some_wait && all_wait && group.cause == gap_cause::host)
    group.cause = for_gil > for_locks ? gap_cause::gil : gap_cause::lock;
}

void idle_gaps_builder::set_stack(gap_group& group, const host_side& host, time_ns begin) const {
  if (group.stack != trace::stack_id::none) return;
  const placed_stack* after = nullptr;
  const placed_stack* before = nullptr;
  for (const trace::process_id user : users_.at(group.device)) {
    const auto stacks = host.stacks.find(user);
    if (stacks == host.stacks.end()) continue;
    const auto next = std::lower_bound(stacks->second.begin(), stacks->second.end(), begin,
                                       [](const placed_stack& each, time_ns time) { return each.time < time; });
    if (next != stacks->second.end() && (after == nullptr || next->time < after->time)) after = &*next;
    if (next != stacks->second.begin() && (before == nullptr || before->time < (next - 1)->time)) before = &*(next - 1);
  }
  group.stack_is_next = after != nullptr;
  if (after != nullptr || before != nullptr) group.stack = (after != nullptr ? after : before)->stack;
}

void idle_gaps_builder::count(const gap_group& one, time_range gap, time_ns lost, time_ns progress) {
  gathered& subject = all_[{one.device, one.cause, one.call, one.stack}];
  if (subject.group.count == 0) subject.group = one;
  ++subject.group.count;
  saturating_add(subject.group.total, lost);
  subject.progress.add(static_cast<double>(progress));
  time_ns length = lost;
  for (time_ns& each : subject.longest)
    if (length > each) std::swap(length, each);
  if (lost <= subject.group.longest) return;
  subject.group.longest = lost;
  subject.group.range = one.range;
  subject.group.longest_gap = gap;
}

void idle_gaps_builder::add_gain(std::map<trace::process_id, std::vector<queued_work>> works,
                                 const index::event_store& store, const host_side& host) {
  std::map<trace::process_id, std::vector<work_order>> orders;
  const std::span<const index::access> uses = store.touches().accesses();
  std::vector<work_order>* of_block = nullptr;  // The orders of the process that owns the block.
  for (std::size_t i = 1; i < uses.size(); ++i) {
    if (uses[i - 1].block != uses[i].block) {
      of_block = nullptr;
      continue;
    }
    if (uses[i - 1].kind == index::access_kind::kernel && uses[i].kind == index::access_kind::kernel) continue;
    if (of_block == nullptr) {
      const index::block_record* block = store.memory().find(uses[i].block);
      of_block = &orders[block == nullptr ? trace::process_id::none : block->process];
    }
    of_block->push_back({uses[i - 1].time, uses[i].time});
  }
  for (auto& [process, subject] : works) {
    std::vector<time_range> blocked;
    for (const auto& [key, thread] : host.threads) {
      if (key.process != process || !thread.launches) continue;
      for (const host_call& each : thread.calls)
        if (blocks_host(each.cause)) blocked.push_back({each.begin, each.end});
    }
    saturating_add(gain_, gain_of_running_ahead(std::move(subject), std::move(blocked), std::move(orders[process])));
  }
}

void idle_gaps_builder::add(const index::event_store& store, time_range run) {
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  const host_side host = get_host(store, here);
  struct device_work {
    time_range span;
    trace::event_id event{};
    trace::string_id name{};
    timeline::slice_kind kind{};
  };
  std::map<trace::device_id, std::vector<device_work>> busy;
  std::map<trace::process_id, std::vector<queued_work>> works;
  for (const auto& [key, slices] : store.devices().streams()) {
    if (!store.devices().ran_kernels(key.device)) continue;
    std::vector<device_work>& of_device = busy[key.device];
    std::vector<queued_work>& of_process = works[key.process];
    users_[key.device].insert(key.process);
    const auto stream = static_cast<std::uint32_t>(raw(key.stream));
    time_ns called = -latest_time;
    slices.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
      if (each.end == latest_time) return;
      of_device.push_back({{each.begin, std::max(each.end, each.begin + 1)},
                           each.event,
                           each.name,
                           static_cast<timeline::slice_kind>(each.kind)});
      // If the call for this work is unknown, assume that it followed the call for the previous work.
      if (each.queued > 0) called = each.begin - each.queued;
      gain_known_ = gain_known_ || each.queued > 0;
      of_process.push_back({called == -latest_time ? each.begin : std::min(called, each.begin), each.begin, each.end,
                            stream, get_engine(each.kind)});
    });
  }
  add_gain(std::move(works), store, host);
  for (auto& [device, whole] : busy) {
    std::sort(whole.begin(), whole.end(),
              [](const device_work& a, const device_work& b) { return a.span.begin < b.span.begin; });
    if (whole.empty()) continue;
    const auto [known, first] = progress_.try_emplace(device);
    device_progress& so_far = known->second;
    if (first) so_far.until = whole.front().span.begin;
    for (const auto& [span, event, name, kind] : whole) {
      if (span.begin - so_far.until >= shortest_gap) {
        idle_gap gap;
        gap.device = device;
        gap.span = {so_far.until, span.begin};
        gap.before = so_far.last;
        gap.after = event;
        gap.after_kind = kind;
        gap.after_name = name;
        add_gap(store, host, gap, so_far.busy);
      }
      so_far.busy += std::max<time_ns>(span.end - std::max(span.begin, so_far.until), 0);
      if (span.end >= so_far.until) so_far.last = kind;
      so_far.until = std::max(so_far.until, span.end);
    }
  }
}

namespace {

constexpr std::size_t min_of_each = 8;

/// Keeps the first `limit` groups, plus the first `min_of_each` groups of every device or process, so that hundreds of
/// identical ranks are all reported.
template <class Group, class Owner>
void keep_most(std::vector<Group>& sorted, Owner&& find_owner) {
  std::map<decltype(find_owner(sorted.front())), std::size_t> kept;
  std::size_t place = 0;
  std::erase_if(sorted, [&](const Group& each) {
    const bool first = place++ < idle_gaps_builder::limit;
    return ++kept[find_owner(each)] > min_of_each && !first;
  });
}

}  // namespace

std::vector<gap_group> idle_gaps_builder::gaps() const {
  time_ns blocked = 0;
  for (const auto& [key, group] : all_)
    if (blocks_host(group.group.cause)) saturating_add(blocked, group.group.total);
  // The gain per nanosecond of gap.
  const double gain_of_one =
      gain_known_ ? static_cast<double>(gain_) / static_cast<double>(std::max<time_ns>(blocked, 1)) : 1;
  std::vector<gap_group> groups;
  for (const auto& [key, group] : all_) {
    gap_group& each = groups.emplace_back(group.group);
    each.recurring = each.total - std::min(each.total, group.longest[0] + group.longest[1] + group.longest[2]);
    const double busy = static_cast<double>(std::max<time_ns>(progress_.at(each.device).busy, 1));
    each.spread = group.progress.spread(busy);
    each.saved = blocks_host(each.cause) ? static_cast<time_ns>(static_cast<double>(each.recurring) * gain_of_one)
                                         : each.recurring;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const gap_group& a, const gap_group& b) { return a.total > b.total; });
  keep_most(groups, [](const gap_group& each) { return each.device; });
  return groups;
}

std::vector<driver_call_group> idle_gaps_builder::driver_calls() const {
  std::vector<driver_call_group> groups;
  for (const auto& [key, group] : driver_) groups.push_back(group);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const driver_call_group& a, const driver_call_group& b) { return a.total > b.total; });
  keep_most(groups, [](const driver_call_group& each) { return each.process; });
  return groups;
}

}  // namespace sluice::metrics
