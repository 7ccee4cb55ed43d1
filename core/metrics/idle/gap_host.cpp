#include "core/metrics/idle/gap_host.hpp"

#include <string_view>

#include "core/index/event_store.hpp"

namespace sluice::metrics {
namespace {

constexpr std::size_t max_kept = open_list<host_call>::max_kept;

/// Removes the first `count` elements.
template <class Element>
void drop(std::vector<Element>& elements, std::size_t count) {
  if (count > 0) elements.erase(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

// --- one process -----------------------------------------------------------------------------------------------------

std::uint32_t process_timeline::get_index(trace::thread_id thread) {
  const auto known = std::find(threads_.begin(), threads_.end(), thread);
  if (known != threads_.end()) return static_cast<std::uint32_t>(known - threads_.begin());
  threads_.push_back(thread);
  launches_.emplace_back();
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

void process_timeline::settle() {
  sort_tail(calls_, settled_calls_, [](const host_call& each) { return each.begin; });
  sort_tail(stacks_, settled_stacks_, [](const placed_stack& each) { return each.time; });
  settled_calls_ = calls_.size();
  settled_stacks_ = stacks_.size();
  for (std::vector<time_ns>& each : launches_)
    if (!std::is_sorted(each.begin(), each.end())) std::sort(each.begin(), each.end());
  blocking_.settle();
  ranges_.settle();
  waits_.settle();
}

void process_timeline::forget(time_ns before) {
  blocking_.forget(before);
  ranges_.forget(before);
  waits_.forget(before);
  const auto old_calls =
      std::partition_point(calls_.begin(), calls_.end(), [&](const host_call& each) { return each.begin < before; });
  auto old = static_cast<std::size_t>(old_calls - calls_.begin());
  if (calls_.size() > max_kept) old = std::max(old, calls_.size() - max_kept);
  drop(calls_, old);
  settled_calls_ = calls_.size();

  const auto old_stacks =
      std::partition_point(stacks_.begin(), stacks_.end(), [&](const placed_stack& s) { return s.time <= before; });
  old = static_cast<std::size_t>(old_stacks - stacks_.begin());
  if (stacks_.size() > max_kept) old = std::max(old, stacks_.size() - max_kept);
  drop(stacks_, old == 0 ? 0 : old - 1);
  settled_stacks_ = stacks_.size();

  for (std::vector<time_ns>& each : launches_) {
    old = static_cast<std::size_t>(std::upper_bound(each.begin(), each.end(), before) - each.begin());
    if (each.size() > max_kept) old = std::max(old, each.size() - max_kept);
    drop(each, old == 0 ? 0 : old - 1);
  }
}

const host_call* process_timeline::find_enqueuing(time_ns enqueued) const {
  auto found =
      std::partition_point(calls_.begin(), calls_.end(), [&](const host_call& each) { return each.begin < enqueued; });
  const host_call* call = nullptr;
  for (; found != calls_.end() && found->begin == enqueued; ++found)
    if (call == nullptr || (found->launches && !call->launches)) call = &*found;
  return call;
}

trace::stack_id process_timeline::find_stack(time_ns begin, time_ns end, bool& is_next) const {
  const auto next =
      std::partition_point(stacks_.begin(), stacks_.end(), [&](const placed_stack& each) { return each.time < begin; });
  is_next = next != stacks_.end() && next->time <= end;
  if (is_next) return next->stack;
  return next == stacks_.begin() ? trace::stack_id::none : (next - 1)->stack;
}

void process_timeline::find_waits(time_range range, time_ns idle_since, std::vector<host_range>& to) const {
  bool any = false;
  waits_.for_each_in(range, [&](const host_range& /*each*/) { any = true; });
  if (!any) return;
  // The changes of the numbers of waiting threads.
  struct change {
    time_ns time = 0;
    int locks = 0;
    int gils = 0;
  };
  constexpr time_ns never = -latest_time;
  std::vector<time_ns> last(threads_.size(), never);
  time_ns last_of_all = never;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    const auto after = std::upper_bound(launches_[i].begin(), launches_[i].end(), idle_since);
    if (after != launches_[i].begin()) last[i] = *(after - 1);
    last_of_all = std::max(last_of_all, last[i]);
  }
  if (last_of_all == never) return;
  const auto launching = [&](std::size_t i) { return last[i] != never && last_of_all - last[i] <= launching_time; };
  std::vector<change> changes;
  std::vector<time_ns> until(threads_.size(), range.begin);  // Ranges of one thread may nest.
  waits_.for_each_in(range, [&](const host_range& each) {
    if (!launching(each.thread)) return;
    const time_range part{std::max(each.begin, until[each.thread]), std::min(each.end, range.end)};
    if (part.length() <= 0) return;
    until[each.thread] = part.end;
    const bool gil = each.cause == gap_cause::gil;
    changes.push_back({part.begin, gil ? 0 : 1, gil ? 1 : 0});
    changes.push_back({part.end, gil ? 0 : -1, gil ? -1 : 0});
  });
  if (changes.empty()) return;
  int missing = 0;
  for (std::size_t i = 0; i < threads_.size(); ++i) missing += launching(i) ? 1 : 0;
  std::sort(changes.begin(), changes.end(), [](const change& a, const change& b) { return a.time < b.time; });
  int locks = 0, gils = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    locks += changes[i].locks;
    gils += changes[i].gils;
    missing -= changes[i].locks + changes[i].gils;
    if (missing > 0 || i + 1 == changes.size() || changes[i + 1].time == changes[i].time) continue;
    to.push_back({changes[i].time, changes[i + 1].time, 0, gils > locks ? gap_cause::gil : gap_cause::lock});
  }
}

// --- all processes ---------------------------------------------------------------------------------------------------

host_timeline::call_kind host_timeline::get_call_kind(trace::string_id name) {
  const auto [place, fresh] = call_kinds_.try_emplace(raw(name));
  if (!fresh) return place->second;
  const std::string_view text = scope_.tables().text(name);
  place->second = {cause_of_call(text), text.find("Launch") != std::string_view::npos,
                   text.find("Memcpy") != std::string_view::npos};
  return place->second;
}

gap_cause host_timeline::get_range_cause(trace::string_id name) {
  const auto [place, fresh] = range_causes_.try_emplace(raw(name));
  if (fresh) place->second = cause_of_range(scope_.tables().text(name));
  return place->second;
}

void host_timeline::add_calls(const index::event_store& store, const index::thread_key& key,
                              const index::thread_work& work, time_range here, bool first) {
  process_timeline* process = nullptr;
  std::uint32_t thread = 0;
  work.calls.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
    if (each.begin < here.begin && !first) return;
    if (process == nullptr) {
      process = &processes_[key.process];
      thread = process->get_index(key.thread);
    }
    host_call one{each.begin, each.end, each.name, {}, thread, gap_cause::host, false};
    switch (static_cast<timeline::slice_kind>(each.kind)) {
      case timeline::slice_kind::sync:
        one.cause = gap_cause::wait;
        one.stack = store.wait_stacks().of(each.event);
        break;
      case timeline::slice_kind::file_io:
        one.cause = gap_cause::file;
        break;
      default: {
        const call_kind kind = get_call_kind(each.name);
        one.cause = kind.copies ? cause_of_copy(each, scope_.tables().text(each.name)) : kind.cause;
        one.launches = kind.launches;
        one.stack = store.copies().find_stack(each.event);
        if (kind.launches) process->launches_[thread].push_back(each.begin);
      }
    }
    if (one.stack != trace::stack_id::none) process->stacks_.push_back({each.begin, one.stack});
    if (one.cause != gap_cause::host) process->blocking_.add(one);
    process->calls_.push_back(one);
  });
}

void host_timeline::add_ranges(const index::thread_key& key, const index::thread_work& work, time_range here,
                               bool first) {
  work.ranges.for_each(here.begin, here.end, [&](const timeline::slice_item& each, std::uint16_t) {
    if (static_cast<timeline::slice_kind>(each.kind) != timeline::slice_kind::range) return;
    if (each.begin < here.begin && !first) return;
    const gap_cause cause = get_range_cause(each.name);
    if (cause == gap_cause::host) return;
    process_timeline& process = processes_[key.process];
    const bool waits = cause == gap_cause::lock || cause == gap_cause::gil;
    (waits ? process.waits_ : process.ranges_).add({each.begin, each.end, process.get_index(key.thread), cause});
  });
}

void host_timeline::add_memory(const index::event_store& store, time_range here) {
  for (const index::driver_call& each : store.driver_calls().calls()) {
    if (!here.holds(each.get_row_time())) continue;
    const index::block_record* block = store.memory().find(each.block);
    const bool freed = each.frees && block != nullptr;
    process_timeline& process = processes_[each.process];
    const host_call one{each.call.begin,
                        each.call.end,
                        freed ? block->name : each.name,
                        freed ? block->stack : each.stack,
                        process.get_index(each.thread),
                        each.frees ? gap_cause::release : gap_cause::allocation,
                        false};
    process.blocking_.add(one);
    process.calls_.push_back(one);
  }
  for (const index::block_record& block : store.memory().blocks())
    if (block.allocated && block.stack != trace::stack_id::none && here.holds(block.born) && !block.born_before())
      processes_[block.process].stacks_.push_back({block.born, block.stack});
}

void host_timeline::add(const index::event_store& store, time_range here, bool first) {
  for (const auto& [key, work] : store.host().threads()) {
    add_calls(store, key, work, here, first);
    add_ranges(key, work, here, first);
  }
  add_memory(store, here);
  for (auto& [process, timeline] : processes_) timeline.settle();
}

void host_timeline::forget(time_ns time) {
  for (auto& [process, timeline] : processes_) timeline.forget(time);
}

const process_timeline* host_timeline::find(trace::process_id process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? nullptr : &found->second;
}

}  // namespace sluice::metrics
