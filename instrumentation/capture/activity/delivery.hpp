#pragma once

#include <cstddef>

#include "instrumentation/ring/producer.hpp"

/// How our own threads, and CUPTI's, hand records over: they can wait.
namespace sluice::capture {

/// Until there is room for a record of so many bytes: a moment at most, and a writer that is stuck gets no second one for a while.
void wait_for_room(std::size_t bytes) noexcept;

/// A record whose times are CLOCK_MONOTONIC's.
template <class Record>
void deliver(Record record) noexcept {
  record.header.flags |= collector::flag_monotonic;
  wait_for_room(sizeof record);
  collector::emit(record);
}

}  // namespace sluice::capture
