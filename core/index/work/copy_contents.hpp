#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::trace {
class snapshot;
}

namespace sluice::index {

/// A copy to or from the host whose content was hashed, or should have been hashed.
struct content_copy {
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t bytes = 0;
  trace::content_check check = trace::content_check::none;
  std::uint64_t hash = 0;
  std::uint64_t read = 0;  ///< The number of bytes that were read to compute `hash`.
  time_ns asked = 0;       ///< When the call was entered. The content of a copy from the host was hashed at that time.
  time_ns begin = 0;
  time_ns end = 0;  ///< `latest_time` if the copy never ended.
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
  /// True if, according to their hashes, both copies moved the same bytes to or from the same device.
  [[nodiscard]] bool same_content(const content_copy& other) const {
    return process == other.process && device == other.device && bytes == other.bytes && check == other.check &&
           hash == other.hash;
  }
};

/// The number of other copies that moved the same content as a given copy.
struct content_repeats {
  std::uint64_t before = 0;  ///< Copies of the same content that were requested earlier.
  std::uint64_t after = 0;   ///< Copies of the same content that were requested later.
  trace::event_id first{};   ///< The first copy counted in `before`.
  time_ns first_time = 0;
  trace::event_id next{};  ///< The first copy counted in `after`.
  time_ns next_time = 0;
  bool same_source = false;  ///< True if some copy counted in `before` had the same source address, so that the data
                             ///< there had not changed.
};

/// True if the hash of `copy` is that of zeros. If only samples of the copy were hashed, it may contain other values.
[[nodiscard]] bool seems_zero(const content_copy& copy);
/// True if so much of `copy` was read that the rest can be assumed to be zero, too.
[[nodiscard]] bool read_enough_for_zero(const content_copy& copy);

/// Compares the contents of copies between host and devices. Transfers may be added in any order. Not thread-safe.
class copy_contents {
 public:
  void add(const std::vector<trace::transfer_event>& rows);
  void settle();

  /// The copies, grouped by content, and within each group in the order in which they were requested. `settle` must be
  /// called first.
  [[nodiscard]] std::span<const content_copy> copies() const { return copies_; }
  /// Returns how many consecutive copies in `copies()`, starting at position `first`, have the same content as the copy
  /// at `first`. The result is 0 only if `first` is the end.
  [[nodiscard]] std::size_t same_from(std::size_t first) const;

  /// True if `copy` may have moved other bytes than those that were hashed. This is the case if its source was
  /// page-locked, its call did not wait, and according to the recorded times, a device-to-host copy wrote to the source
  /// in the meantime. Also true if more than 2048 copies would have to be checked. Writes by other threads and by
  /// kernels are not detected. O(log copies + simultaneous copies).
  [[nodiscard]] bool overtaken(const content_copy& copy) const;

  /// Finds the other copies to the device that moved the content of `row`, which must be a copy to the device. O(log
  /// copies + copies of the same content).
  [[nodiscard]] content_repeats get_repeats(const trace::transfer_event& row) const;

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
  std::vector<host_write> writes_;  ///< Sorted by start after `settle`.
  std::size_t settled_copies_ = 0;
  std::size_t settled_writes_ = 0;
  time_ns longest_write_ = 0;
};

/// Reads the contents of all copies in a recording. Returns nothing if no copy was hashed, after reading only one
/// column. Chunks that cannot be read are skipped. O(copies * log copies).
[[nodiscard]] copy_contents read_contents(const trace::snapshot& recording);

}  // namespace sluice::index
