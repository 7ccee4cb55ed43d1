#include "core/metrics/idle/idle_gaps.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/base/format.hpp"
#include "core/base/saturating.hpp"
#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

/// Returns the unit of the device that does this kind of work (`queued_work::engine`).
std::uint8_t get_engine(timeline::slice_kind kind) {
  switch (kind) {
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

}  // namespace

bool comes_from_thread(gap_cause cause) {
  return cause != gap_cause::wait && cause != gap_cause::launch && cause != gap_cause::queued;
}

bool idle_gaps_builder::is_collective(trace::string_id kernel) {
  const auto [place, fresh] = collectives_.try_emplace(raw(kernel), false);
  if (fresh) place->second = readable_name(scope_.tables().text(kernel)).starts_with("nccl");
  return place->second;
}

// --- work of devices -------------------------------------------------------------------------------------------------

idle_gaps_builder::works idle_gaps_builder::collect(const index::event_store& store, time_range here, bool first) {
  works busy;
  queued_.clear();
  for (const auto& [key, slices] : store.devices().streams()) {
    if (!store.devices().ran_kernels(key.device)) continue;
    std::vector<device_work>& of_device = busy[key.device];
    std::vector<queued_work>& of_process = queued_[key.process];
    const auto stream = static_cast<std::uint32_t>(raw(key.stream));
    time_ns called = -latest_time;
    slices.for_each(here.begin, here.end, [&, &key = key](const timeline::slice_item& each, std::uint16_t) {
      if (each.end == latest_time) return;
      const auto kind = static_cast<timeline::slice_kind>(each.kind);
      const bool begins = first || each.begin >= here.begin;
      if (begins && kind != timeline::slice_kind::h2h) {
        std::optional<time_ns> enqueued;
        if (each.queued > 0) enqueued = each.begin - each.queued;
        const time_range span = intersect({each.begin, each.end}, scope_.range);
        of_device.push_back({{span.begin, std::max(span.begin, span.end)},
                             each.event,
                             each.name,
                             kind,
                             kind == timeline::slice_kind::kernel && is_collective(each.name),
                             enqueued,
                             key.process});
      }
      // If the call for this work is unknown, assume that it followed the call for the previous work.
      if (each.queued > 0) called = each.begin - each.queued;
      gain_known_ = gain_known_ || each.queued > 0;
      of_process.push_back({called == -latest_time ? each.begin : std::min(called, each.begin), each.begin,
                            std::max(each.end, each.begin + 1), stream, get_engine(kind)});
    });
  }
  for (auto& [device, whole] : busy)
    std::sort(whole.begin(), whole.end(), [](const device_work& a, const device_work& b) {
      return std::tie(a.span.begin, a.event) < std::tie(b.span.begin, b.event);
    });
  return busy;
}

void idle_gaps_builder::add(const index::event_store& store, time_range run) {
  parts_.clear();
  const time_range here = intersect(scope_.range, run);
  if (here.length() <= 0) return;
  sampled_.forget(std::min(open_since(), here.begin));
  const bool first = !std::exchange(started_, true);
  host_.add(store, here, first);
  driver_calls_.add(store, here);
  const works busy = collect(store, here, first);
  add_gain(store, here);
  for (const auto& [device, whole] : busy) {
    if (whole.empty()) continue;
    const auto [known, fresh] = devices_.try_emplace(device);
    device_state& state = known->second;
    if (fresh) state.first = state.until = state.until_other = whole.front().span.begin;
    for (const device_work& each : whole) add_work(store, state, each, device);
  }
  sampled_.add(store, here, parts_, scope_.tables());
  const time_ns needed = std::min(open_since(), here.end);
  if (!keeps_parts_) sampled_.forget(needed);
  host_.forget(needed);
}

void idle_gaps_builder::add_work(const index::event_store& store, device_state& state, const device_work& work,
                                 trace::device_id device) {
  if (work.span.begin > state.until) add_gap(store, state, work, device);
  state.busy += std::max<time_ns>(work.span.end - std::max(work.span.begin, state.until), 0);
  if (work.span.end >= state.until) state.last = work.kind;
  state.until = std::max(state.until, work.span.end);
  ++state.works;
  if (work.collective) return;
  state.busy_other += std::max<time_ns>(work.span.end - std::max(work.span.begin, state.until_other), 0);
  state.until_other = std::max(state.until_other, work.span.end);
}

time_ns idle_gaps_builder::open_since() const {
  time_ns since = latest_time;
  for (const auto& [device, state] : devices_) since = std::min(since, state.until);
  return since;
}

// --- gaps ------------------------------------------------------------------------------------------------------------

void idle_gaps_builder::add_part(const gap_part& part, const process_timeline* host, const device_work& next,
                                 time_range gap, trace::device_id device) {
  gap_group group;
  group.device = device;
  group.cause = part.cause;
  if (part.call != nullptr) {
    group.call = part.call->name;
    group.stack = part.call->stack;
  }
  if (group.stack == trace::stack_id::none && part.cause != gap_cause::queued && host != nullptr)
    group.stack =
        host->find_stack(part.call == nullptr ? part.span.begin : part.call->begin, gap.end, group.stack_is_next);
  const auto known = std::find_if(tallies_.begin(), tallies_.end(), [&](const tally& each) {
    return each.group.cause == group.cause && each.group.call == group.call && each.group.stack == group.stack;
  });
  if (known != tallies_.end())
    known->length += part.span.length();
  else
    tallies_.push_back({group, part.span.length(), part.call});
  if (!keeps_parts_ && part.cause != gap_cause::host) return;
  const host_call* by = part.call != nullptr ? part.call : splitter_.enqueuing();
  index::thread_key thread;
  if (by != nullptr) thread = {next.process, host->get_thread(by->thread)};
  time_range ran = part.span;
  if (const host_call* running = splitter_.running(); part.call == nullptr && running != nullptr)
    ran.begin = std::clamp(running->end, gap.begin, part.span.begin);
  parts_.push_back({device, gap, part.span, ran, part.cause, group.call, group.stack, thread, group.stack_is_next});
}

void idle_gaps_builder::add_gap(const index::event_store& store, device_state& state, const device_work& next,
                                trace::device_id device) {
  const time_range gap{state.until, next.span.begin};
  const process_timeline* host = host_.find(next.process);
  tallies_.clear();
  for (const gap_part& part : splitter_.split(host, gap, next.enqueued)) add_part(part, host, next, gap, device);
  const tally* most = nullptr;
  std::array<time_ns, gap_cause_count> by_cause{};
  for (tally& each : tallies_) {
    if (each.length >= shortest_named) set_range(each.group, store, next.process, gap);
    groups_.count(each.group, gap, each.length, state.busy);
    by_cause[static_cast<std::size_t>(each.group.cause)] += each.length;
    if (most == nullptr || each.length > most->length) most = &each;
  }
  for (std::size_t i = 0; i < by_cause.size(); ++i) {
    if (by_cause[i] == 0) continue;
    ++state.causes[i].count;
    saturating_add(state.causes[i].total, by_cause[i]);
    state.causes[i].longest = std::max(state.causes[i].longest, by_cause[i]);
  }
  state.launches.add(gap, by_cause[static_cast<std::size_t>(gap_cause::launch)],
                     by_cause[static_cast<std::size_t>(gap_cause::queued)] > 0, state.works,
                     state.busy - state.busy_before);
  state.works = 0;
  state.busy_before = state.busy;
  if (!longest_.keeps() || most == nullptr) return;
  longest_.add({device, gap, most->group.cause, most->length, most->group.call, most->group.stack,
                most->group.stack_is_next, most->group.range, state.last, next.event, next.kind, next.name});
}

void idle_gaps_builder::set_range(gap_group& group, const index::event_store& store, trace::process_id process,
                                  time_range gap) const {
  if (!comes_from_thread(group.cause) || group.call != trace::string_id::none) return;
  time_ns shortest = latest_time;
  const auto& threads = store.host().threads();
  for (auto at = threads.lower_bound({process, {}}); at != threads.end() && at->first.process == process; ++at)
    at->second.ranges.for_each(gap.begin, gap.end, [&](const timeline::slice_item& each, std::uint16_t) {
      if (static_cast<timeline::slice_kind>(each.kind) != timeline::slice_kind::range) return;
      const time_range inside = intersect(gap, {each.begin, each.end});
      if (inside.length() * 2 < gap.length() || each.end - each.begin >= shortest) return;
      if (cause_of_range(scope_.tables().text(each.name)) != gap_cause::host) return;
      shortest = each.end - each.begin;
      group.range = each.name;
    });
}

// --- gain of running ahead -------------------------------------------------------------------------------------------

void idle_gaps_builder::add_gain(const index::event_store& store, time_range here) {
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
  for (auto& [process, subject] : queued_) {
    std::vector<time_range> blocked;
    if (const process_timeline* host = host_.find(process))
      for (const host_call& each : host->blocking().entries())
        if (blocks_host(each.cause) && host->launches(each.thread) && each.end > here.begin)
          blocked.push_back({each.begin, each.end});
    saturating_add(gain_, gain_of_running_ahead(std::move(subject), std::move(blocked), std::move(orders[process])));
  }
}

// --- results ---------------------------------------------------------------------------------------------------------

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
  std::map<trace::device_id, time_ns> busy;
  for (const auto& [device, state] : devices_) busy[device] = state.busy;
  std::vector<gap_group> groups = groups_.get_groups(busy, gain_known_ ? gain_ : -1);
  keep_most(groups, [](const gap_group& each) { return each.device; });
  return groups;
}

std::vector<device_idle> idle_gaps_builder::devices() const {
  std::vector<device_idle> items;
  for (const auto& [device, state] : devices_) {
    device_idle& item = items.emplace_back();
    item.device = device;
    item.span = {state.first, state.until};
    item.busy = state.busy;
    item.collectives_alone = state.busy - state.busy_other;
    item.launches = state.launches.get_rate();
    item.host = sampled_.get_groups(device, state.until);
    item.traits = sampled_.traits();
    for (std::size_t i = 0; i < gap_cause_count; ++i) {
      if (state.causes[i].count == 0) continue;
      item.causes.push_back(state.causes[i]);
      item.causes.back().cause = static_cast<gap_cause>(i);
    }
    std::stable_sort(item.causes.begin(), item.causes.end(),
                     [](const cause_time& a, const cause_time& b) { return a.total > b.total; });
  }
  return items;
}

std::vector<driver_call_group> idle_gaps_builder::driver_calls() const {
  std::vector<driver_call_group> groups = driver_calls_.get_groups();
  keep_most(groups, [](const driver_call_group& each) { return each.process; });
  return groups;
}

}  // namespace sluice::metrics
