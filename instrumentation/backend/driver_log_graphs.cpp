#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::backend {

void driver_log::graph_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t source,
                               std::uint64_t nodes) const {
  if (!on()) return;
  auto r = ring::record_at<ring::graph_definition_record>(now);
  r.graph = graph;
  r.source = source;
  r.nodes = nodes;
  ring::emit(r);
}

void driver_log::node_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t node, std::uint64_t stream,
                              std::string_view name, std::span<const std::uint64_t> addresses) const {
  if (!on() || addresses.empty()) return;
  auto r = ring::record_at<ring::node_touch_record>(now);
  r.graph = graph;
  r.node = node;
  r.stream = stream;
  r.name = ring::intern(name.data(), name.size());
  r.count = static_cast<std::uint32_t>(addresses.size());
  ring::emit_with(&r.header, ring::record_type::node_touch, sizeof r, addresses.data(), addresses.size());
}

void driver_log::child_defined(std::uint64_t now, std::uint64_t graph, std::uint64_t node, std::uint64_t child) const {
  if (!on()) return;
  auto r = ring::record_at<ring::child_graph_record>(now);
  r.graph = graph;
  r.node = node;
  r.child = child;
  ring::emit(r);
}

void driver_log::graph_called(const call& c, std::uint64_t graph) const {
  if (!on()) return;
  auto r = ring::record_at<ring::graph_call_record>(c.begin);
  r.graph = graph;
  r.correlation = c.correlation;
  ring::emit(r);
}

void driver_log::graph_launched(const call& c, std::uint64_t begin, std::uint64_t end, std::uint64_t graph,
                                std::uint64_t stream, std::uint32_t flags) const {
  if (!on()) return;
  auto r = ring::record_at<ring::graph_launch_record>(begin, flags);
  r.end = end;
  r.graph = graph;
  r.stream = stream;
  r.device = device_;
  r.correlation = c.correlation;
  ring::emit(r);
}

void driver_log::graph_ended(std::uint64_t now, std::uint64_t graph) const {
  if (!on()) return;
  auto r = ring::record_at<ring::graph_end_record>(now);
  r.graph = graph;
  ring::emit(r);
}

}  // namespace sluice::backend
