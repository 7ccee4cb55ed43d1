#pragma once

#include "core/trace/file/writer.hpp"
#include "instrumentation/ring/records.hpp"
#include "instrumentation/writer/blocks/launch_blocks.hpp"
#include "instrumentation/writer/record_decoder/block_writer.hpp"
#include "instrumentation/writer/record_decoder/catalogue.hpp"
#include "instrumentation/writer/record_decoder/record_context.hpp"
#include "instrumentation/writer/record_decoder/trace_clock.hpp"
#include "instrumentation/writer/rings/ring_reader.hpp"

namespace sluice::writer {

/// Handles records of graphs, and of the blocks that launches of kernels and graphs touch. Not thread-safe.
class graph_handler {
 public:
  graph_handler(trace::file_writer& file, catalogue& names, const trace_clock& clock, block_writer& blocks)
      : file_(file), names_(names), clock_(clock), blocks_(blocks) {}

  void handle_touch(const record_context& c, const record_view& record);
  void handle_graph_definition(const record_context& c, const ring::graph_definition_record& r);

  /// Handles the rarer records of this group. Returns false for any other record.
  bool handle(const record_context& c, const record_view& record);

 private:
  void handle_graph_launch(const record_context& c, const ring::graph_launch_record& r);
  void handle_graph_call(const record_context& c, const ring::graph_call_record& r);
  void handle_graph_end(const record_context& c, const ring::graph_end_record& r);
  void handle_node_touch(const record_context& c, const record_view& record);
  void handle_child_graph(const record_context& c, const ring::child_graph_record& r);
  void handle_node_switch(const record_context& c, const ring::node_switch_record& r);

  trace::file_writer& file_;
  catalogue& names_;
  const trace_clock& clock_;
  block_writer& blocks_;
  launch_blocks launch_;
};

}  // namespace sluice::writer
