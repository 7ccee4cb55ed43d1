#pragma once

#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/loss_log.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// Handles records of host events: ranges, markers, counters, file accesses, messages, losses. Not thread-safe.
class host_handler {
 public:
  host_handler(trace::file_writer& file, catalogue& names, const trace_clock& clock, loss_log& losses)
      : file_(file), names_(names), clock_(clock), losses_(losses) {}

  /// Handles a record. Ignores unknown types, which a newer producer may send.
  void handle(const record_context& c, const record_view& record);

 private:
  void handle_range(const record_context& c, const ring::range_record& r);
  void handle_range_begin(const record_context& c, const ring::range_begin_record& r);
  void handle_range_end(const record_context& c, const ring::range_end_record& r);
  void handle_thread_name(const record_context& c, const ring::thread_name_record& r);
  void handle_tag(const record_context& c, const ring::tag_record& r);
  void handle_marker(const record_context& c, const ring::marker_record& r);
  void handle_counter_value(const record_context& c, const ring::counter_value_record& r);
  void handle_file_io(const record_context& c, const ring::file_io_record& r);
  void handle_device_memory(const record_context& c, const ring::device_memory_record& r);
  void handle_message(const record_context& c, const ring::message_record& r);
  void handle_loss(const record_context& c, const ring::loss_record& r);
  static void handle_python_sample(const record_context& c, const ring::python_sample_record& r);
  void handle_fault(const record_context& c, const record_view& record);

  trace::file_writer& file_;
  catalogue& names_;
  const trace_clock& clock_;
  loss_log& losses_;
};

}  // namespace sluice::writer
