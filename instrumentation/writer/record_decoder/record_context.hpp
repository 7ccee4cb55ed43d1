#pragma once

#include <cstdint>

#include "core/trace/file/writer_inline.hpp"
#include "core/trace/model/model.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"

namespace sluice::writer {

/// Where a record comes from, and when.
struct record_context {
  recorded_process& process;
  trace::thread_id thread;
  std::uint64_t tid;  ///< The thread's id in its process; 0: unknown.
  ring::clock_kind clock;
  std::uint32_t copy;   ///< See `ring_identity::copy`.
  std::uint32_t flags;  ///< The record's flags.
  trace::time_ns time;  ///< The record's time, as a time of the trace.
};

/// The context that is encoded in the key of a stream; 0: none.
[[nodiscard]] constexpr std::uint32_t stream_context(std::uint64_t stream) {
  return static_cast<std::uint32_t>(stream >> 32);
}

/// Fills in the members that all rows of a record have in common.
inline void fill(trace::event_base& row, const record_context& c) {
  row.time = c.time;
  row.process = c.process.names.id;
  row.thread = c.thread;
  if ((c.flags & (ring::flag_sampled | ring::flag_estimated | ring::flag_inferred)) == 0) return;
  if ((c.flags & ring::flag_sampled) != 0) row.source = trace::provenance::sampled;
  if ((c.flags & ring::flag_estimated) != 0) row.source = trace::provenance::estimated;
  if ((c.flags & ring::flag_inferred) != 0) row.source = trace::provenance::inferred;
}

/// A new row with the members that `fill` fills in.
template <class Row>
[[nodiscard]] Row new_row(const record_context& c) {
  Row row;
  fill(row, c);
  return row;
}

/// Like `new_row`, but in the file's buffer instead of a copy. See `file_writer::start`.
template <class Row>
[[nodiscard]] Row& start_row(trace::file_writer& file, const record_context& c) {
  Row& row = file.start<Row>();
  fill(row, c);
  return row;
}

}  // namespace sluice::writer
