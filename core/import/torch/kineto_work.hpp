#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/import/call_table.hpp"
#include "core/import/graph_parts.hpp"
#include "core/import/kernel_overruns.hpp"
#include "core/import/torch/kineto_devices.hpp"
#include "core/import/trace_events/tracks.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// Imports torch.profiler's kernels, copies and memsets, and the calls that requested this work. In the file, work
/// usually comes before its call, so this class holds a bounded number of rows until their calls are read. Private to
/// core/import.
class kineto_work {
 public:
  kineto_work(trace::file_writer& out, kineto_devices& devices, chrome_tracks& tracks)
      : out_(out), devices_(devices), tracks_(tracks) {}

  void add_call(const chrome_event& event, trace::time_ns begin, trace::time_ns end, const chrome_details& details,
                chrome_track& track);
  void add_kernel(const chrome_event& event, trace::time_ns begin, trace::time_ns end, const chrome_details& details);
  void add_copy(const chrome_event& event, trace::time_ns begin, trace::time_ns end, const chrome_details& details);
  void add_memset(const chrome_event& event, trace::time_ns begin, trace::time_ns end, const chrome_details& details);
  void add_sync(const chrome_event& event, trace::time_ns begin, trace::time_ns end, const chrome_details& details);
  struct metrics {
    std::uint64_t without_call = 0;   ///< The number of rows of work whose call is not in the file.
    std::uint64_t ambiguous = 0;      ///< The number of rows of work that several processes may have requested.
    std::uint64_t overruns = 0;       ///< The number of kernels with impossible durations.
    std::uint64_t without_bytes = 0;  ///< The number of copies and memsets of unknown size.
    std::uint64_t parts = 0;          ///< The number of parts of copies that were joined with the previous part.
  };
  /// Writes the rows whose calls were not found. Returns the counts.
  metrics finish();

 private:
  using row = std::variant<trace::kernel_event, trace::transfer_event, trace::memset_event>;
  struct waiting {
    row work;
    std::uint64_t correlation = 0;  ///< The id of the call that the row waits for; 0 once the row has been written.
    std::uint64_t next = 0;         ///< The number of the next row that waits for the same call; 0 if there is none.
  };
  static constexpr std::size_t most_waiting = 16384;

  template <class Row>
  void begin_row(Row& subject, trace::time_ns begin, trace::time_ns end, const chrome_details& details);
  template <class Row>
  void set_size(Row& subject, const chrome_details& details);
  void give(row output);
  void write(row output, const call_table::call* by);
  void write_oldest();
  [[nodiscard]] const call_table::call* call_for(std::uint64_t correlation, trace::device_id device);
  [[nodiscard]] bool uses(trace::device_id device, std::uint32_t process);
  void note_user(trace::device_id device, std::uint32_t process);
  void note_collision(std::uint64_t correlation, const call_table::call& call);

  trace::file_writer& out_;
  kineto_devices& devices_;
  chrome_tracks& tracks_;
  call_table calls_;
  std::deque<waiting> waiting_;
  std::uint64_t first_waiting_ = 1;  ///< The number of the first row in `waiting_`.
  /// For each correlation id, the numbers of the first and the last row that wait for the call with that id. `next`
  /// links the rows in between.
  std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> waiting_for_;
  /// Further calls with the same correlation id. In a file merged from several processes, two processes may use the
  /// same id. The device of the work then identifies the process, once other work has shown which process uses the
  /// device.
  std::unordered_map<std::uint64_t, std::vector<call_table::call>> rivals_;
  std::map<trace::device_id, std::set<std::uint32_t>> users_;  ///< The processes whose work ran on each device.
  std::pair<trace::device_id, std::uint32_t> last_user_{};
  kernel_overruns overruns_;
  graph_parts parts_;
  metrics metrics_;
};

}  // namespace sluice::importing
