#pragma once

#include <cstdint>

#include "instrumentation/ring/record_types.hpp"

/// This header defines the records of host activity (ranges, marks, file accesses) and of the recording itself
/// (messages, losses). `records.hpp` includes this header and describes the record format.
namespace sluice::ring {

struct range_record {
  record_header header;
  std::uint64_t end;
  std::uint64_t name;
  std::uint64_t domain;
};

/// Begins a range. A separate record ends it, so the writer knows the range even if the process is killed inside it. If
/// `id` is 0, the range nests on the thread's own stack of ranges in `domain`; otherwise any thread may end it.
struct range_begin_record {
  record_header header;
  std::uint64_t id;
  std::uint64_t name;
  std::uint64_t domain;
};

/// Ends range `id` or, if `id` is 0, the thread's innermost range in `domain`.
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
  std::uint64_t file;  ///< String key of the path.
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t operation;  ///< trace::file_operation
};

/// The Python frames that thread `tid` had at `time`, read by another thread of its process. Sent when they change, and
/// at intervals while they do not; each change is preceded by a record with the last time of the frames before, unless
/// that was sent.
struct python_sample_record {
  record_header header;
  std::uint64_t tid;         ///< The system's id (gettid), as the process itself sees it.
  std::uint64_t stack;       ///< Stack key, whose record was sent before; 0: the thread ran no Python code.
  std::uint64_t entries[4];  ///< One bit per frame, innermost first: set if the frame begins an evaluation.
  std::uint64_t count;       ///< Number of frames, at most 256.
};

/// The thread entered a long call of a library at `time`, or left the innermost one that it is in. Until then, the
/// thread has at least these frames.
struct library_call_record {
  record_header header;
  std::uint64_t stack;  ///< Stack key: the function that was called, and its callers. 0: the call has ended.
};

/// Pauses or resumes the writer's sampling of the process's host threads. A writer that does not know it keeps sampling.
struct sampling_record {
  record_header header;
  std::uint64_t paused;  ///< 0: the threads are to be sampled; any other value: they are not.
};

struct message_record {
  record_header header;
  std::uint64_t severity;  ///< trace::severity
  std::uint64_t text;      ///< String key.
};

/// Reports lost records. The producer writes this record as soon as a ring that was full has space again.
struct loss_record {
  record_header header;  ///< `time`: time of the first loss.
  std::uint64_t end;     ///< Time of the last loss.
  std::uint64_t events;
  std::uint64_t memory_events;
  std::uint64_t layers;  ///< Layers of the lost memory events, one bit each; 0: unknown.
};

}  // namespace sluice::ring
