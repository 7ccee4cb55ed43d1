#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// Records of what the host did, and of the recording itself. Part of `records.hpp`, which says how records are read.
namespace sluice::collector {

struct range_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;
  std::uint64_t domain;
};

/// A range that ends in a record of its own: the writer knows of it even if the process is killed inside. `id` 0: it lies on
/// its thread's stack of `domain`; else any thread may end it.
struct range_begin_record {
  record_header header;
  std::uint64_t id;
  std::uint64_t name;
  std::uint64_t domain;
};

/// Ends range `id`, or with 0 the innermost of the thread's in `domain`.
struct range_end_record {
  record_header header;
  std::uint64_t id;
  std::uint64_t domain;
};

struct marker_record {
  record_header header;
  std::uint64_t name;
  std::int64_t step;
};

struct counter_value_record {
  record_header header;
  std::uint64_t counter;
  double value;
};

struct file_io_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t file;  ///< String key of its path.
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t operation;  ///< trace::file_operation
};

struct message_record {
  record_header header;
  std::uint64_t severity;  ///< trace::severity
  std::uint64_t text;      ///< String key.
};

/// Written by the producer itself once there is room again after a ring was full.
struct loss_record {
  record_header header;  ///< `time`: the first loss.
  std::uint64_t end;     ///< The last one.
  std::uint64_t events;
  std::uint64_t memory_events;
  std::uint64_t layers;  ///< Of the memory events, a bit each; 0: not told.
};

}  // namespace sluice::collector
