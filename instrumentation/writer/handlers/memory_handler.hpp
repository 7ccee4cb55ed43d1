#pragma once

#include <cstdint>

#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/call_stacks.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/checkpoints.hpp"
#include "instrumentation/writer/record_decoder/dump_requests.hpp"
#include "instrumentation/writer/record_decoder/failed_requests.hpp"
#include "instrumentation/writer/record_decoder/ipc_links.hpp"
#include "instrumentation/writer/record_decoder/loss_log.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"
#include "instrumentation/writer/rings/turn_clock.hpp"

namespace sluice::writer {

/// Handles records of allocations and frees, and of the pools that they use. Not thread-safe.
class memory_handler {
 public:
  memory_handler(trace::file_writer& file, catalogue& names, call_stacks& stacks, const trace_clock& clock,
                 const turn_clock& now, block_writer& blocks, checkpoints& checkpoints, loss_log& losses,
                 dump_requests& dumps)
      : file_(file),
        names_(names),
        stacks_(stacks),
        clock_(clock),
        now_(now),
        blocks_(blocks),
        checkpoints_(checkpoints),
        losses_(losses),
        dumps_(dumps),
        shares_(file) {}

  void handle_alloc(const record_context& c, const ring::alloc_record& r);
  void handle_free(const record_context& c, const ring::free_record& r);
  // Short records: those of frameworks, and those that leave out what their pool_stream says.
  void handle_framework_alloc(const record_context& c, const ring::framework_alloc_record& r);
  void handle_framework_free(const record_context& c, const ring::framework_free_record& r);
  void handle_pool_stream_alloc(const record_context& c, const ring::pool_stream_alloc_record& r);
  void handle_pool_stream_free(const record_context& c, const ring::pool_stream_free_record& r);

  /// Handles the rarer records of this group. Returns false for any other record.
  bool handle(const record_context& c, const record_view& record);

  /// The allocations that failed.
  [[nodiscard]] failed_requests& failures() { return failures_; }

 private:
  void handle_free_completed(const record_context& c, const ring::free_completed_record& r);
  void handle_alloc_failed(const record_context& c, const ring::alloc_failed_record& r);
  void handle_share(const record_context& c, const ring::share_record& r);
  void handle_pool_state(const record_context& c, const ring::pool_state_record& r);
  void handle_context_end(const record_context& c, const ring::context_end_record& r);
  [[nodiscard]] const ring::pool_stream_record* find_pool_stream(const record_context& c, std::uint64_t key);

  trace::file_writer& file_;
  catalogue& names_;
  call_stacks& stacks_;
  const trace_clock& clock_;
  const turn_clock& now_;
  block_writer& blocks_;
  checkpoints& checkpoints_;
  loss_log& losses_;
  dump_requests& dumps_;
  ipc_links shares_;
  failed_requests failures_;
};

}  // namespace sluice::writer
