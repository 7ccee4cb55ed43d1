#pragma once

#include <cstddef>

#include "instrumentation/ring/producer.hpp"

/// Functions that send records from the recorder's own threads and from CUPTI's threads. These threads, unlike the
/// program's, may wait for space in the ring.
namespace sluice::capture {

/// Waits until the ring has `bytes` free, at most 0.2 s. For one second after a timeout, calls do not wait.
void wait_for_room(std::size_t bytes) noexcept;

/// Sends a record whose times are CLOCK_MONOTONIC.
template <class Record>
void deliver(Record record) noexcept {
  record.header.flags |= ring::flag_monotonic;
  wait_for_room(sizeof record);
  ring::emit(record);
}

}  // namespace sluice::capture
