#pragma once

#include <cstdint>

#include "core/trace/model/model.hpp"

/// The data of a PyTorch snapshot from which the pickle is written.
namespace sluice::exports::torch {

/// The action of an entry; `names` has PyTorch's names of the actions. Entries of one event that have the same time are
/// sorted in this order.
enum class kind : std::uint8_t {
  alloc,
  free_requested,
  free_completed,
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  snapshot
};
inline constexpr const char* names[] = {"alloc",        "free_requested", "free_completed", "segment_alloc",
                                        "segment_free", "segment_map",    "segment_unmap",  "oom",
                                        "snapshot"};

/// A block of the trace: its allocation, and the time and event of its free.
struct block {
  trace::alloc_event born;
  time_ns died = trace::unknown_time;
  time_ns completed = trace::unknown_time;
  trace::event_id free{};
  bool holds_blocks = false;

  [[nodiscard]] bool live_at(time_ns time) const {
    return born.time < time && (died == trace::unknown_time || died >= time);
  }
  [[nodiscard]] bool pending_at(time_ns time) const {
    return born.time < time && died != trace::unknown_time && died < time &&
           (completed == trace::unknown_time || completed >= time);
  }
};

struct trace_entry {
  time_ns time = 0;
  std::uint64_t order = 0;
  kind action = kind::alloc;
  std::uint64_t address = 0, bytes = 0;
  trace::stream_id stream{};
  trace::stack_id stack{};
  trace::event_id event{};  ///< The event whose attributes are written with the entry.
};

}  // namespace sluice::exports::torch
