#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/metrics/base/metrics_scope.hpp"
#include "core/metrics/idle/gap_causes.hpp"
#include "core/trace/model/model.hpp"

/// What the host did: the calls, the ranges that name a cause, and the stacks of each process, in order of time. Times
/// are in ns.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

struct host_call {
  time_ns begin = 0;
  time_ns end = 0;
  trace::string_id name{};
  trace::stack_id stack{};
  std::uint32_t thread = 0;  ///< Index in `process_timeline::threads`.
  gap_cause cause{};
  bool launches = false;  ///< True if the call launches kernels or graphs.
};

/// A range that names a cause.
struct host_range {
  time_ns begin = 0;
  time_ns end = 0;
  std::uint32_t thread = 0;  ///< Index in `process_timeline::threads`.
  gap_cause cause{};
};

struct placed_stack {
  time_ns time = 0;
  trace::stack_id stack{};
};

/// Sorts elements by `key` of which the first `settled` are in order. Returns the number of those that keep their
/// places. O(n log n) for n elements that are new or belong after the first new one.
template <class Element, class Key>
std::size_t sort_tail(std::vector<Element>& elements, std::size_t settled, Key&& key) {
  const auto earlier = [&](const Element& a, const Element& b) { return key(a) < key(b); };
  const auto tail = elements.begin() + static_cast<std::ptrdiff_t>(settled);
  if (tail == elements.end()) return settled;
  if (!std::is_sorted(tail, elements.end(), earlier)) std::stable_sort(tail, elements.end(), earlier);
  const auto moved = std::upper_bound(elements.begin(), tail, *tail, earlier);
  if (moved != tail) std::inplace_merge(moved, tail, elements.end(), earlier);
  return static_cast<std::size_t>(moved - elements.begin());
}

/// A list in order of `begin` that finds the entries that are open at a time without reading the whole list.
template <class Entry>
class open_list {
 public:
  /// Appends an entry; call `settle` before any query.
  void add(const Entry& entry) { entries_.push_back(entry); }
  void settle();
  /// Removes the oldest entries, as far as all of them ended by `time`, and keeps at most `max_kept`.
  void forget(time_ns time);
  /// Calls `use(entry)` for the entries that begin before `end` and end after `begin`, in order of `begin`. Entries
  /// that began before `begin` are found if at most `looked_back` entries began between them and `begin`. Reads at most
  /// the last `max_kept` entries before `end`. O(log n + entries read).
  template <class Use>
  void for_each_in(time_range range, Use&& use) const;
  /// Returns the entry open at `time` that began last and for which `fits(entry)` is true; null if there is none
  /// (within `looked_back`).
  template <class Fits>
  [[nodiscard]] const Entry* find_open(time_ns time, Fits&& fits) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  static constexpr std::size_t looked_back = 256;
  static constexpr std::size_t max_kept = 1U << 16U;

 private:
  [[nodiscard]] std::size_t count_begun(time_ns time) const;  ///< Number of entries that begin before `time`.
  std::vector<Entry> entries_;
  std::vector<time_ns> reach_;  ///< For each entry, the latest end of it and of all entries before it.
};

/// The host activity of one process. Copyable. Not thread-safe while `host_timeline` changes it.
class process_timeline {
 public:
  /// Returns the call that began at `enqueued`, the time at which work was requested; null if it was not recorded. If
  /// several calls began then, prefers one that launches. O(log calls).
  [[nodiscard]] const host_call* find_enqueuing(time_ns enqueued) const;
  /// Returns the stack of the first call or allocation with a stack in (begin, end], else of the last one before, else
  /// none. Sets `is_next` to true in the first case. O(log stacks).
  [[nodiscard]] trace::stack_id find_stack(time_ns begin, time_ns end, bool& is_next) const;
  /// Appends to `to` the parts of `range`, in order and disjoint, in which all threads that launch work wait for a lock
  /// or another thread (`lock`) or for Python's GIL (`gil`, if most of them do). A thread launches work if it last did
  /// so at most `launching_time` before the last launch of the process until `idle_since`, so threads that have ended
  /// do not count for long, and a thread that prepares the next launch does. Allocates only if there are such waits in
  /// `range`. O(waits and threads).
  void find_waits(time_range range, time_ns idle_since, std::vector<host_range>& to) const;
  static constexpr time_ns launching_time = 1'000'000'000;

  /// Calls whose cause is not `host`.
  [[nodiscard]] const open_list<host_call>& blocking() const { return blocking_; }
  /// Ranges with the causes garbage, compilation and data.
  [[nodiscard]] const open_list<host_range>& ranges() const { return ranges_; }
  [[nodiscard]] trace::thread_id get_thread(std::uint32_t index) const { return threads_[index]; }
  /// True if the thread launched something in the sections that were not forgotten.
  [[nodiscard]] bool launches(std::uint32_t thread) const { return !launches_[thread].empty(); }

 private:
  friend class host_timeline;
  std::uint32_t get_index(trace::thread_id thread);
  void settle();
  void forget(time_ns before);

  std::vector<trace::thread_id> threads_;
  std::vector<std::vector<time_ns>> launches_;  ///< For each thread, the times at which it launched work.
  std::vector<host_call> calls_;                ///< All calls, in order of `begin`.
  open_list<host_call> blocking_;
  open_list<host_range> ranges_;
  open_list<host_range> waits_;  ///< Ranges with the causes lock and gil.
  std::vector<placed_stack> stacks_;
  // The numbers of elements that are in order.
  std::size_t settled_calls_ = 0, settled_stacks_ = 0;
};

/// Collects the host activity of all processes, section by section in order of time, and forgets what no gap needs any
/// more. An event belongs to the section in which its row lies, which is where it begins, except that an allocation's
/// call lies where it ends. So results do not depend on the cut into sections, except for gaps that end while another
/// thread's allocation runs across the cut.
class host_timeline {
 public:
  explicit host_timeline(const metrics_scope& scope) : scope_(scope) {}  ///< `scope` must outlive this object.

  /// Adds what lies in `here`, and, if `first`, what is running at its begin. O(n log n) for n host events.
  void add(const index::event_store& store, time_range here, bool first);
  /// Forgets what ended before `time`. The last stack and the last launches are kept.
  void forget(time_ns time);
  /// Returns the activity of a process; null if none was recorded.
  [[nodiscard]] const process_timeline* find(trace::process_id process) const;

 private:
  struct call_kind {
    gap_cause cause = gap_cause::host;
    bool launches = false;
    bool copies = false;
  };
  call_kind get_call_kind(trace::string_id name);
  gap_cause get_range_cause(trace::string_id name);
  void add_calls(const index::event_store& store, const index::thread_key& key, const index::thread_work& work,
                 time_range here, bool first);
  void add_ranges(const index::thread_key& key, const index::thread_work& work, time_range here, bool first);
  void add_memory(const index::event_store& store, time_range here);

  const metrics_scope& scope_;
  std::map<trace::process_id, process_timeline> processes_;
  std::unordered_map<std::uint64_t, call_kind> call_kinds_;
  std::unordered_map<std::uint64_t, gap_cause> range_causes_;
};

// --- open_list -------------------------------------------------------------------------------------------------------

template <class Entry>
void open_list<Entry>::settle() {
  reach_.resize(sort_tail(entries_, reach_.size(), [](const Entry& each) { return each.begin; }));
  for (std::size_t i = reach_.size(); i < entries_.size(); ++i)
    reach_.push_back(i == 0 ? entries_[i].end : std::max(reach_.back(), entries_[i].end));
}

template <class Entry>
void open_list<Entry>::forget(time_ns time) {
  auto old = static_cast<std::size_t>(std::upper_bound(reach_.begin(), reach_.end(), time) - reach_.begin());
  if (entries_.size() > max_kept) old = std::max(old, entries_.size() - max_kept);
  if (old == 0) return;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(old));
  reach_.erase(reach_.begin(), reach_.begin() + static_cast<std::ptrdiff_t>(old));
}

template <class Entry>
std::size_t open_list<Entry>::count_begun(time_ns time) const {
  return static_cast<std::size_t>(
      std::partition_point(entries_.begin(), entries_.end(), [&](const Entry& each) { return each.begin < time; }) -
      entries_.begin());
}

template <class Entry>
template <class Use>
void open_list<Entry>::for_each_in(time_range range, Use&& use) const {
  if (entries_.empty() || range.length() <= 0) return;
  const std::size_t last = count_begun(range.end);
  std::size_t first = count_begun(range.begin);
  for (std::size_t looked = 0; first > 0 && looked < looked_back && reach_[first - 1] > range.begin; ++looked) --first;
  if (last > max_kept) first = std::max(first, last - max_kept);
  for (; first < last; ++first)
    if (entries_[first].end > range.begin) use(entries_[first]);
}

template <class Entry>
template <class Fits>
const Entry* open_list<Entry>::find_open(time_ns time, Fits&& fits) const {
  std::size_t place = count_begun(time + 1);
  for (std::size_t looked = 0; place > 0 && looked < looked_back && reach_[place - 1] > time; ++looked)
    if (entries_[--place].end > time && fits(entries_[place])) return &entries_[place];
  return nullptr;
}

}  // namespace sluice::metrics
