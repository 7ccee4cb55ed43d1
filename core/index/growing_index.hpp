#pragma once

#include "core/index/index.hpp"

namespace sluice::analysis {

/// The index of a whole recording. It grows with the recording, chunk by chunk. Events may come in any order of time.
class growing_index final : public index {
 public:
  growing_index() = default;
  /// Of the events of one process alone: all figures are then of this process. Samples of a device's memory, which tell of
  /// all processes, are left out if other processes took them.
  explicit growing_index(trace::process_id only) { only_ = only; }

  /// Reads at most `limit` more chunks of `from`, in file order. Returns true once all chunks are read. Queries are
  /// allowed after every call. A chunk that cannot be read is left out, with a warning. `from` must be the snapshot of
  /// the previous call, or a later snapshot of the same file. Not thread-safe.
  bool absorb(const trace::snapshot& from, std::size_t limit);

  /// True if more was read since `tensors` found what it returned last. Thread-safe while nothing is absorbed.
  [[nodiscard]] bool tensors_are_old() const {
    const std::scoped_lock lock(tensors_mutex_);
    return tensors_ != nullptr && !tensors_fresh_;
  }

  /// The share of `from` that has been read, by bytes: 0..1.
  [[nodiscard]] float progress(const trace::snapshot& from) const;

 private:
  std::uint64_t read_bytes_ = 0;
};

}  // namespace sluice::analysis
