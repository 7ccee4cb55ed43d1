#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// The ranges of one process that have begun but not ended. A range is written when it ends, or by `finish` with an
/// unknown end. Ends without a begin are ignored: the range may be older than the recording. Not thread-safe.
class open_ranges {
 public:
  explicit open_ranges(trace::file_writer& file) : file_(file) {}

  /// Begins a range; `row` has no end yet. If `id` is 0, pushes the range on the stack of its thread and domain.
  /// O(log open ranges).
  void begin(std::uint64_t id, const trace::host_range_event& row);
  /// Ends a range. `at` supplies the time, thread and domain. O(log open ranges).
  void end(std::uint64_t id, const trace::host_range_event& at);
  /// Writes all open ranges; within each stack, oldest first.
  void finish();

 private:
  using stack_key = std::pair<trace::thread_id, trace::string_id>;

  void write(trace::host_range_event row, trace::time_ns end);

  trace::file_writer& file_;
  std::map<stack_key, std::deque<trace::host_range_event>> stacks_;
  std::map<std::uint64_t, trace::host_range_event> by_id_;
};

}  // namespace sluice::writer
