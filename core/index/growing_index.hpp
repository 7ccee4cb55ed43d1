#pragma once

#include "core/index/event_store.hpp"

namespace sluice::index {

/// The index of a whole recording. It grows with the recording, chunk by chunk. Events may arrive in any time order.
class growing_index final : public event_store {
 public:
  growing_index() = default;
  /// Reads only the events of the process `only`, so that all metrics describe that process. A sample of a device's
  /// memory covers all processes, so a sample that another process took is ignored.
  explicit growing_index(trace::process_id only) { only_ = only; }

  /// Reads at most `limit` more chunks of `recording`, in file order. Returns true once all chunks are read. Queries
  /// are allowed between calls. A chunk that cannot be read is skipped with a warning. `recording` must be the snapshot
  /// passed to the previous call, or a later snapshot of the same file. Not thread-safe.
  bool absorb(const trace::snapshot& recording, std::size_t limit);

  /// True if rows have been read since `tensors` last computed its result. Thread-safe unless `absorb` is running.
  [[nodiscard]] bool tensors_are_old() const {
    const std::scoped_lock lock(tensors_mutex_);
    return tensors_ != nullptr && !tensors_fresh_;
  }

  /// Computes what `tensors` returns again, if that is old, however short the time since the last computation.
  /// Thread-safe unless `absorb` is running. O(blocks + events with stacks).
  void update_tensors(const trace::snapshot& recording) const;

  /// Returns the share of the bytes of `recording` that has been read, 0..1.
  [[nodiscard]] float progress(const trace::snapshot& recording) const;

 private:
  std::uint64_t read_bytes_ = 0;
};

}  // namespace sluice::index
