#pragma once

#include "core/trace/file/writer.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/recorded_process.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// Handles records that declare what a key of other records means: a text, a thread, a call stack, a stream. Not
/// thread-safe.
class declaration_handler {
 public:
  declaration_handler(trace::file_writer& file, catalogue& names, call_stacks& stacks, const trace_clock& clock)
      : file_(file), names_(names), stacks_(stacks), clock_(clock) {}

  /// Handles a declaration that records of other rings may already need. Call it before any record of the same turn is
  /// processed. A `thread_record` also sets the thread of `ring`. All other records are ignored.
  void handle(ring_source& ring, const record_view& record);

  /// Handles a declaration that has a place in the order of time. Returns false for any other record.
  bool handle(const record_context& c, const record_view& record);

 private:
  void handle_string(const record_view& record);
  void handle_thread(ring_source& ring, const record_view& record);
  void handle_recorder_threads(ring_source& ring, const record_view& record);
  void handle_frame(ring_source& ring, const record_view& record);
  void handle_stack(ring_source& ring, const record_view& record);
  void notice_left_out_stack();

  trace::file_writer& file_;
  catalogue& names_;
  call_stacks& stacks_;
  const trace_clock& clock_;
  bool stacks_left_out_ = false;  ///< True after a message about left-out stacks was written.
};

}  // namespace sluice::writer
