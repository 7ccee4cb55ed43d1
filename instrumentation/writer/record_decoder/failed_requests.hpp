#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/trace/model/kinds.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::writer {

/// Detects, during a recording, allocation failures that reach the program. A driver failure does not count if an
/// allocator recovers from it by freeing memory and trying again. Approximates `metrics::retries_builder`, which sees
/// the whole recording: a failure that is still open may or may not reach the program later. All functions are O(1).
class failed_requests {
 public:
  void add_failure(trace::thread_id thread, trace::layer layer, trace::memory_kind kind, std::uint64_t bytes) {
    if (layer != trace::layer::driver && layer != trace::layer::pool) {
      reached_ = true;  // A framework reports a failure only after giving up.
      open_.erase(thread);
      return;
    }
    if (open_.size() < max_open) open_[thread] = {layer, kind, bytes};
  }

  void add_allocation(trace::thread_id thread, trace::layer layer, trace::memory_kind kind, std::uint64_t bytes) {
    if (open_.empty()) return;
    const auto found = open_.find(thread);
    if (found == open_.end()) return;
    const request& failed = found->second;
    const bool of_driver = layer == trace::layer::driver || layer == trace::layer::pool;
    if (of_driver && (layer != failed.layer || kind != failed.kind)) return;
    // The program continued with less memory.
    if (of_driver && bytes < failed.bytes) reached_ = true;
    open_.erase(found);
  }

  /// Returns true if a failure has reached the program since the last call.
  [[nodiscard]] bool take_reached() { return std::exchange(reached_, false); }
  /// True if some thread has not allocated again since its failure.
  [[nodiscard]] bool any_open() const { return !open_.empty(); }

 private:
  struct request {
    trace::layer layer{};
    trace::memory_kind kind{};
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t max_open = 65536;
  std::unordered_map<trace::thread_id, request> open_;
  bool reached_ = false;
};

}  // namespace sluice::writer
