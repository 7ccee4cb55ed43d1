#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::trace {
class snapshot;
}

namespace sluice::analysis {

/// A copy from the host or to it whose content was hashed, or should have been.
struct content_copy {
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t bytes = 0;
  trace::content_check check = trace::content_check::none;
  std::uint64_t hash = 0;
  std::uint64_t read = 0;  ///< Bytes that were looked at.
  time_ns asked = 0;       ///< Entry of its call, when the content of a copy from the host was hashed.
  time_ns begin = 0;
  time_ns end = 0;  ///< `latest_time` if it never ended.
  trace::event_id event{};
  trace::event_id call{};
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  trace::block_id block{};  ///< The destination block.
  bool asynchronous = false;
  bool to_host = false;

  [[nodiscard]] bool hashed() const {
    return check == trace::content_check::exact || check == trace::content_check::sampled;
  }
  /// True if both moved the same bytes to or from the same device, judging by their hashes.
  [[nodiscard]] bool same_content(const content_copy& other) const {
    return process == other.process && device == other.device && bytes == other.bytes && check == other.check &&
           hash == other.hash;
  }
};

/// How often other copies moved the content of one given copy.
struct content_repeats {
  std::uint64_t before = 0;  ///< Copies of the same content requested earlier.
  std::uint64_t after = 0;   ///< Copies of the same content requested later.
  trace::event_id first{};   ///< The first copy counted in `before`.
  time_ns first_time = 0;
  trace::event_id next{};  ///< The first copy counted in `after`.
  time_ns next_time = 0;
  bool same_source = false;  ///< A copy in `before` had the same source address: the data there had not changed.
};

/// True if the hash of `copy` is that of zeros: with a sample, it may have other values, too.
[[nodiscard]] bool seems_zero(const content_copy& copy);
/// True if so much of `copy` was read that nothing but zeros can be expected in the rest.
[[nodiscard]] bool read_enough_for_zero(const content_copy& copy);

/// Compares what copies between host and devices moved. Transfers may be added in any order. Not thread-safe.
class copy_contents {
 public:
  void add(const std::vector<trace::transfer_event>& rows);
  void settle();

  /// The copies, grouped by content; within a group in the order of their requests. Call after `settle`.
  [[nodiscard]] std::span<const content_copy> copies() const { return copies_; }
  /// The number of copies in `copies()` from position `first` on with the content of that copy; 0 only at the end.
  [[nodiscard]] std::size_t same_from(std::size_t first) const;

  /// True if `copy` may have moved other bytes than those that were hashed: its source was page-locked, the call did
  /// not wait, and by the recorded times a device-to-host copy wrote to the source meanwhile. Writes by other threads
  /// and by kernels are not detected. O(log copies + simultaneous copies); true if over 2048 copies must be checked.
  [[nodiscard]] bool overtaken(const content_copy& copy) const;

  /// Finds the other copies to the device with the content of the copy `row`, one to the device. O(log copies + copies of the same content).
  [[nodiscard]] content_repeats repeats_of(const trace::transfer_event& row) const;

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
  std::vector<host_write> writes_;  ///< Sorted by begin after `settle`.
  std::size_t settled_copies_ = 0;
  std::size_t settled_writes_ = 0;
  time_ns longest_write_ = 0;
};

/// The contents of all copies in a recording. Empty if none was hashed: then only one column is read. Chunks that cannot
/// be read are left out. O(copies log copies).
[[nodiscard]] copy_contents read_contents(const trace::snapshot& from);

}  // namespace sluice::analysis
