#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "instrumentation/backend/device_types.hpp"
#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/simulated/state/graph.hpp"
#include "instrumentation/backend/simulated/state/shared_event.hpp"

namespace sluice::backend::simulated {

struct stream_state {
  std::int64_t tail = 0;  ///< end time of everything enqueued
  bool blocking = true;
  int priority = 0;
  std::shared_ptr<capture_session> capturing;  ///< the active capture of this stream, or null
};

struct event_state {
  std::int64_t time = 0;
  bool recorded = false;
  bool timed = false;
  std::shared_ptr<capture_session> captured;  ///< the capture in which the event was last recorded, or null
  frontier after;                             ///< the nodes that precede the event in `captured`
  std::shared_ptr<shared_event> shared;       ///< if shared between processes: holds the time of the last record

  /// The time at which the event completes; 0 if it was never recorded.
  [[nodiscard]] std::int64_t completion() const { return shared ? shared->time() : time; }
};

/// The states of all streams. Not thread-safe: the device's lock guards them.
class stream_table {
 public:
  explicit stream_table(const driver_log& log);

  /// Adds a stream and returns its handle.
  [[nodiscard]] stream_handle add(stream_state state);
  void erase(stream_handle stream);
  /// Null if there is no such stream.
  [[nodiscard]] stream_state* find(stream_handle stream);

  /// The end time of the work that new work on the stream has to wait for. The default stream and blocking streams wait
  /// for each other.
  [[nodiscard]] std::int64_t tail(stream_handle stream, const stream_state& state) const;
  /// The end time of everything enqueued on all streams.
  [[nodiscard]] std::int64_t idle_at() const;

  /// The stream's key in records. Callable without the lock.
  [[nodiscard]] std::uint64_t key(stream_handle stream) const noexcept;
  /// True if a blocking stream is part of the capture.
  [[nodiscard]] bool captures_blocking_stream(const capture_session& session) const;
  /// Ends the capture of all streams that are part of it.
  void forget_capture(const capture_session& session);
  /// Defines all streams in a recording that has just begun.
  void announce(std::uint64_t now) const;

 private:
  const driver_log& log_;
  std::map<std::uint32_t, stream_state> streams_;  // by number
  std::uint32_t next_stream_ = 2;                  // 1 is the default stream in traces
};

}  // namespace sluice::backend::simulated
