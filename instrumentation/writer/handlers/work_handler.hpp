#pragma once

#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// Handles records of calls and of the device work that they request: copies, kernels, waits. Not thread-safe.
class work_handler {
 public:
  work_handler(trace::file_writer& file, catalogue& names, call_stacks& stacks, const trace_clock& clock,
               const turn_clock& now)
      : file_(file), names_(names), stacks_(stacks), clock_(clock), now_(now) {}

  void handle_api_call(const record_context& c, const ring::api_call_record& r);
  /// Handles a call that the recorder or CUPTI made for itself: writes no row, and only keeps what device work and
  /// copies take from their call.
  static void handle_call_of_recorder(const record_context& c, const ring::api_call_record& r);
  void handle_kernel(const record_context& c, const ring::kernel_record& r);
  void handle_watermark(const record_context& c, const ring::watermark_record& r);

  /// Handles the rarer records of this group. Returns false for any other record.
  bool handle(const record_context& c, const record_view& record);

 private:
  void handle_content(const record_context& c, const ring::content_record& r);
  void handle_copy(const record_context& c, const ring::copy_record& r);
  void handle_copy_parts(const record_context& c, const record_view& record);
  void handle_memset(const record_context& c, const ring::memset_record& r);
  void handle_migration(const record_context& c, const ring::migration_record& r);
  void handle_event_record(const record_context& c, const ring::event_edge_record& r);
  void handle_event_wait(const record_context& c, const ring::event_edge_record& r);
  void handle_sync(const record_context& c, const ring::sync_record& r);
  void fill_kernel(trace::kernel_event& row, const record_context& c, const ring::kernel_record& r);

  trace::file_writer& file_;
  catalogue& names_;
  call_stacks& stacks_;
  const trace_clock& clock_;
  const turn_clock& now_;
};

}  // namespace sluice::writer
