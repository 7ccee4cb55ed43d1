#include "instrumentation/writer/handlers/graph_handler.hpp"

#include <utility>

#include "instrumentation/writer/handlers/record_words.hpp"

namespace sluice::writer {

using namespace trace;

bool graph_handler::handle(const record_context& c, const record_view& record) {
  switch (record.type) {
    case ring::record_type::graph_launch:
      handle_graph_launch(c, decode<ring::graph_launch_record>(record));
      return true;
    case ring::record_type::graph_call:
      handle_graph_call(c, decode<ring::graph_call_record>(record));
      return true;
    case ring::record_type::graph_end:
      handle_graph_end(c, decode<ring::graph_end_record>(record));
      return true;
    case ring::record_type::node_touch:
      handle_node_touch(c, record);
      return true;
    case ring::record_type::child_graph:
      handle_child_graph(c, decode<ring::child_graph_record>(record));
      return true;
    case ring::record_type::node_switch:
      handle_node_switch(c, decode<ring::node_switch_record>(record));
      return true;
    default:
      return false;
  }
}

// ------------------------------------------------------------------------------------------------------------ graphs

void graph_handler::handle_graph_launch(const record_context& c, const ring::graph_launch_record& r) {
  process_names& names = c.process.names;
  auto row = new_row<graph_launch_event>(c);
  row.end = clock_.convert_end(c, r.end);
  row.graph = c.process.graphs.launched(r.correlation, r.graph);
  row.device = names_.device(names, r.device);
  row.stream = names_.stream(names, r.stream);
  row.correlation = r.correlation;
  file_.add(row);
}

void graph_handler::handle_graph_call(const record_context& c, const ring::graph_call_record& r) {
  c.process.graphs.launch(r.graph, r.correlation, new_row<graph_launch_event>(c));
}

void graph_handler::handle_graph_definition(const record_context& c, const ring::graph_definition_record& r) {
  auto row = new_row<graph_definition_event>(c);
  if (r.source != 0) c.process.blocks.add_graph(r.source, r.graph);
  row.graph = r.source != 0 ? c.process.graphs.make(r.graph, r.source, row) : c.process.graphs.begin(r.graph);
  row.nodes = r.nodes;
  row.name = names_.text(r.name);
  file_.add(row);
}

void graph_handler::handle_graph_end(const record_context& c, const ring::graph_end_record& r) {
  c.process.blocks.end_graph(r.graph, c.time, blocks_.begin());
  blocks_.write();
  c.process.graphs.end(r.graph);
}

void graph_handler::handle_child_graph(const record_context& c, const ring::child_graph_record& r) {
  c.process.graphs.set_child(r.graph, r.node, r.child, new_row<graph_launch_event>(c));
}

void graph_handler::handle_node_switch(const record_context& c, const ring::node_switch_record& r) {
  c.process.graphs.enable(r.graph, r.node, r.enabled != 0);
}

// ---------------------------------------------------------------------------------------------------- touched blocks

void graph_handler::handle_touch(const record_context& c, const record_view& record) {
  const auto r = decode<ring::touch_record>(record);
  auto row = new_row<touch_event>(c);
  row.stream = names_.stream(c.process.names, r.stream);
  row.correlation = r.correlation;
  row.name = names_.text(r.name);
  launch_.continue_with(row);
  for_each_group_after<ring::touch_record>(record, r.count, [&](const auto& address) {
    const block_id block = c.process.blocks.find_at(address[0], c.time);
    if (block != block_id::none && launch_.is_new(block)) file_.start(row).block = block;
  });
}

void graph_handler::handle_node_touch(const record_context& c, const record_view& record) {
  const auto r = decode<ring::node_touch_record>(record);
  graph_nodes::use touched;
  touched.row = new_row<touch_event>(c);
  touched.row.stream = names_.stream(c.process.names, r.stream);
  touched.row.correlation = r.correlation;
  touched.row.name = names_.text(r.name);
  for_each_group_after<ring::node_touch_record>(record, r.count, [&](const auto& address) {
    const block_id block = c.process.blocks.find(address[0]);
    if (block != block_id::none) touched.blocks.push_back(block);
  });
  c.process.graphs.set(r.graph, r.node, std::move(touched), r.more != 0);
}

}  // namespace sluice::writer
