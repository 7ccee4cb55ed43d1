#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/timeline/time_range.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::analysis {

/// A host-to-device copy whose content was looked at, or should have been.
struct content_copy {
  trace::process_id process{};
  trace::device_id device{};
  std::uint64_t bytes = 0;
  trace::content_check check = trace::content_check::none;
  std::uint64_t hash = 0;
  time_ns asked = 0;  ///< When its call was entered: when its content was looked at.
  time_ns begin = 0;
  time_ns end = 0;  ///< `latest_time`: it never ended.
  trace::event_id event{};
  trace::event_id call{};
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  trace::block_id block{};  ///< That it went to.
  bool asynchronous = false;

  [[nodiscard]] bool hashed() const {
    return check == trace::content_check::exact || check == trace::content_check::sampled;
  }
  /// Both moved the same bytes to the same device, as far as their hashes tell.
  [[nodiscard]] bool same_content(const content_copy& other) const {
    return process == other.process && device == other.device && bytes == other.bytes && check == other.check &&
           hash == other.hash;
  }
};

/// How often the content of one copy was moved.
struct content_standing {
  std::uint64_t before = 0;  ///< Copies of the same content that were asked for earlier.
  std::uint64_t after = 0;
  trace::event_id first{};  ///< Of those before.
  time_ns first_time = 0;
  trace::event_id next{};  ///< Of those after.
  time_ns next_time = 0;
  bool same_source = false;  ///< One before came from the same address: what lies there had not changed.
};

/// What host-to-device copies moved, by content. Takes transfers in any order. Not thread-safe.
class copy_contents {
 public:
  void add(const std::vector<trace::transfer_event>& rows);
  void settle();

  /// By content, those of one content in the order in which they were asked for. Once settled.
  [[nodiscard]] std::span<const content_copy> copies() const { return copies_; }
  /// How many from `first` on are of the same content: at least 1, unless it is the end.
  [[nodiscard]] std::size_t same_from(std::size_t first) const;

  /// Whether the bytes that `copy` moved may not be those that were hashed: its source was page-locked, the call did not wait, and
  /// the device copied into it meanwhile, as far as the times of both are known. Other threads and kernels that write there are not seen. O(log copies + copies at
  /// the same time); when those are too many to tell, true.
  [[nodiscard]] bool overtaken(const content_copy& copy) const;

  /// Of a row of the trace. O(log copies + copies of the same content).
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
  std::vector<host_write> writes_;  ///< By begin, once settled.
  std::size_t settled_copies_ = 0;
  std::size_t settled_writes_ = 0;
  time_ns longest_write_ = 0;
};

}  // namespace sluice::analysis
