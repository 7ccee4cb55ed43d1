#pragma once

#include <mutex>
#include <utility>

#include "instrumentation/backend/cuda/device.hpp"
#include "instrumentation/ring/producer.hpp"

// Estimates when work ran on the device, from a pair of events around the work, if the capture library does not record.
// Only the CUDA backend uses this header.

namespace sluice::backend::cuda {

inline constexpr std::uint32_t estimated = ring::flag_estimated | ring::flag_monotonic;

/// If more estimates than this are pending, finished ones are harvested, because the program may never synchronize.
inline constexpr std::size_t many_estimates = 256;

template <class Enqueue, class Write>
CUresult cuda_device::around(CUstream stream, Enqueue&& enqueue, Write&& write) {
  // On a captured stream the events would become nodes of the graph.
  if (!logging() || is_captured(stream_handle{reinterpret_cast<std::uintptr_t>(stream)})) return enqueue();
  std::unique_lock lock(estimates_mutex_);
  // A device first used during the recording has no anchor yet.
  if (!anchor_) set_anchor();
  if (!anchor_) return enqueue();
  estimate e{spare_event(), spare_event(), std::forward<Write>(write)};
  if (!e.from || !e.to) return enqueue();
  driver_.event_record(e.from, stream);
  const CUresult result = enqueue();
  driver_.event_record(e.to, stream);
  if (result == CUDA_SUCCESS) {
    estimates_.push_back(std::move(e));
  } else {
    spare_events_.insert(spare_events_.end(), {e.from, e.to});
  }
  const bool many = estimates_.size() > many_estimates;
  lock.unlock();
  if (many) harvest(false);
  return result;
}

}  // namespace sluice::backend::cuda
