#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "core/trace/model/kinds.hpp"
#include "core/trace/model/model.hpp"

namespace sluice::collector {

/// Tells, while a recording runs, whether an allocation failed in a way that reached the program. A failure of the driver
/// that an allocator survives, by freeing memory and asking again, does not count. An approximation of what
/// `analysis::retries_builder` says when all is known; what is still open may be either. All O(1).
class failed_requests {
 public:
  void add_failure(trace::thread_id thread, trace::layer layer, trace::memory_kind kind, std::uint64_t bytes) {
    if (layer != trace::layer::driver && layer != trace::layer::pool) {
      reached_ = true;  // A framework reports it once it has given up.
      open_.erase(thread);
      return;
    }
    if (open_.size() < most_open) open_[thread] = {layer, kind, bytes};
  }

  void add_allocation(trace::thread_id thread, trace::layer layer, trace::memory_kind kind, std::uint64_t bytes) {
    if (open_.empty()) return;
    const auto found = open_.find(thread);
    if (found == open_.end()) return;
    const request& failed = found->second;
    const bool of_driver = layer == trace::layer::driver || layer == trace::layer::pool;
    if (of_driver && (layer != failed.layer || kind != failed.kind)) return;
    // The program went on with less.
    if (of_driver && bytes < failed.bytes) reached_ = true;
    open_.erase(found);
  }

  /// True if a failure has reached a program since the last call.
  [[nodiscard]] bool take_reached() { return std::exchange(reached_, false); }
  /// True if there are failures after which their thread has not allocated again.
  [[nodiscard]] bool any_open() const { return !open_.empty(); }

 private:
  struct request {
    trace::layer layer{};
    trace::memory_kind kind{};
    std::uint64_t bytes = 0;
  };
  static constexpr std::size_t most_open = 65536;
  std::unordered_map<trace::thread_id, request> open_;
  bool reached_ = false;
};

}  // namespace sluice::collector
