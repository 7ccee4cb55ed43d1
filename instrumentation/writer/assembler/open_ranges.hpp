#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "core/trace/file/writer.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// Ranges of one process that have begun and not ended. A range is written when it ends; one that never does, with its end
/// unknown. Ends without a begin are ignored: a program may have begun before the recording did. Not thread-safe.
class open_ranges {
 public:
  explicit open_ranges(trace::file_writer& file) : file_(file) {}

  /// `row` has no end yet. `id` 0: onto the stack of its thread and domain. O(log open).
  void begin(std::uint64_t id, const trace::host_range_event& row);
  /// `at` says when, on which thread and in which domain. O(log open).
  void end(std::uint64_t id, const trace::host_range_event& at);
  /// Writes those still open, oldest first on each stack.
  void finish();

 private:
  using stack_key = std::pair<trace::thread_id, trace::string_id>;

  void write(trace::host_range_event row, trace::time_ns end);

  trace::file_writer& file_;
  std::map<stack_key, std::deque<trace::host_range_event>> stacks_;
  std::map<std::uint64_t, trace::host_range_event> by_id_;
};

}  // namespace sluice::collector
