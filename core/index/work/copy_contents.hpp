#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// A host-to-device copy whose content was hashed, or should have been.
struct content_copy {
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t bytes = 0;
  trace::content_check check = trace::content_check::none;
  std::uint64_t hash = 0;
  time_ns asked = 0;  ///< Entry of its call, when its content was hashed.
  time_ns begin = 0;
  time_ns end = 0;  ///< `latest_time` if it never ended.
  trace::event_id event{};
  trace::event_id call{};
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  trace::block_id block{};  ///< The destination block.
  bool asynchronous = false;

  [[nodiscard]] bool hashed() const {
    return check == trace::content_check::exact || check == trace::content_check::sampled;
  }
  /// True if both moved the same bytes to the same device, judging by their hashes.
  [[nodiscard]] bool same_content(const content_copy& other) const {
    return process == other.process && device == other.device && bytes == other.bytes && check == other.check &&
           hash == other.hash;
  }
};

/// How often the content of one copy was moved.
struct content_standing {
  std::uint64_t before = 0;  ///< Copies of the same content requested earlier.
  std::uint64_t after = 0;
  trace::event_id first{};  ///< The first earlier one.
  time_ns first_time = 0;
  trace::event_id next{};  ///< The first later one.
  time_ns next_time = 0;
  bool same_source = false;  ///< An earlier one had the same source address: the data there had not changed.
};

/// Compares what host-to-device copies moved. Transfers may be added in any order. Not thread-safe.
class copy_contents {
 public:
  void add(const std::vector<trace::transfer_event>& rows);
  void settle();

  /// Grouped by content; within a group in the order in which they were requested. Call after `settle`.
  [[nodiscard]] std::span<const content_copy> copies() const { return copies_; }
  /// The number of copies from `first` on with the same content; 0 only if `first` is the end.
  [[nodiscard]] std::size_t same_from(std::size_t first) const;

  /// True if `copy` may have moved other bytes than those that were hashed: its source was page-locked, the call did
  /// not wait, and by the recorded times a device-to-host copy wrote there meanwhile. Writes by other threads and by
  /// kernels are not detected. O(log copies + simultaneous copies); true if there are too many to check.
  [[nodiscard]] bool overtaken(const content_copy& copy) const;

  /// The standing of a transfer row. O(log copies + copies of the same content).
  [[nodiscard]] content_standing standing_of(const trace::transfer_event& row) const;

 private:
  /// A copy into host memory.
  struct host_write {
    trace::process_id process{};
    time_ns begin = 0;
    time_ns end = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<content_copy> copies_;
  std::vector<host_write> writes_;  ///< By begin after `settle`.
  std::size_t settled_copies_ = 0;
  std::size_t settled_writes_ = 0;
  time_ns longest_write_ = 0;
};

}  // namespace sluice::analysis
