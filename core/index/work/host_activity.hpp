#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/recent_entry.hpp"
#include "core/base/time/time_range.hpp"
#include "core/timeline/slice_kind.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_tree.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/tables.hpp"

/// Work of host threads: API calls, waits, named ranges, file operations.
namespace sluice::index {

/// Identifies a thread.
struct thread_key {
  trace::process_id process{};
  trace::thread_id thread{};
  friend bool operator==(const thread_key&, const thread_key&) = default;
  friend bool operator<(const thread_key& a, const thread_key& b) {
    return std::tie(a.process, a.thread) < std::tie(b.process, b.thread);
  }
};

/// The work of one thread.
struct thread_work {
  timeline::slice_set ranges;  ///< The program's own ranges and markers, in the upper rows of the track.
  timeline::slice_set calls;   ///< API calls, waits and file operations, in the lower rows of the track.
  timeline::coverage call_busy;
  timeline::coverage wait_busy;
  timeline::coverage file_busy;
};

/// Collects host events, in any order. An event without a known end never ends. Ends before starts are counted in
/// `malformed` and produce slices of length 0.
class host_activity {
 public:
  void add(const std::vector<trace::api_call_event>& rows, const trace::tables& tables);
  void add(const std::vector<trace::sync_event>& rows);
  void add(const std::vector<trace::host_range_event>& rows);
  void add(const std::vector<trace::marker_event>& rows);
  void add(const std::vector<trace::file_io_event>& rows);
  /// For an index of the section that starts at `begin`: sets the number of lanes that the thread has in the whole
  /// recording. Returns the thread's work, to which the caller adds the slices that are running at `begin`.
  thread_work& set_known(const thread_key& thread, std::size_t range_lanes, std::size_t call_lanes, time_ns begin) {
    thread_work& work = threads_[thread];
    work.ranges.set_known(range_lanes, begin);
    work.calls.set_known(call_lanes, begin);
    return work;
  }
  /// Omits the busy times of threads, which then must not be queried.
  void leave_out_busy() { busy_ = false; }
  void settle();

  [[nodiscard]] const std::map<thread_key, thread_work>& threads() const { return threads_; }
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  template <class Row>
  thread_work& find_work(const Row& row) {
    return last_thread_.in(threads_, {row.process, row.thread});
  }
  bool only_waits(trace::string_id name, const trace::tables& tables);

  std::map<thread_key, thread_work> threads_;
  recent_entry<std::map<thread_key, thread_work>> last_thread_;
  std::unordered_map<std::uint64_t, bool> waits_;  ///< Keyed by the id of a call's name: whether calls of that name
                                                   ///< only wait.
  bool busy_ = true;
  std::uint64_t malformed_ = 0;
};

/// True if an API call of this name only waits for a device ("cuStreamSynchronize").
[[nodiscard]] bool is_waiting_call(std::string_view name);

}  // namespace sluice::index
