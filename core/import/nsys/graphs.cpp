#include "core/import/nsys/graphs.hpp"

#include "core/import/nsys/places.hpp"

namespace sluice::importing {

void nsys_graphs::define(trace::graph_id graph, const trace::event_base& when, trace::string_id name) {
  trace::graph_definition_event defined;
  defined.time = when.time;
  defined.process = when.process;
  defined.thread = when.thread;
  defined.source = when.source;
  defined.graph = graph;
  defined.name = name;
  out_.add(defined);
}

void nsys_graphs::add(const nsys::cells& row, const trace::host_range_event& range) {
  using namespace nsys::graph;
  const std::uint64_t process = nsys_places::process_bits(row.number(thread));
  if (row.has(id) || row.has(executable)) {
    bool is_new = false;
    trace::graph_id known{};
    const auto same = [&](std::map<key, trace::graph_id>& ids, std::size_t column) {
      if (!row.has(column)) return;
      const auto [at, first] = ids.try_emplace({process, row.number(column)}, known);
      is_new = is_new || first;
      if (first && known == trace::graph_id::none) at->second = fresh();
      known = at->second;
    };
    // The original, from which the graph was copied or instantiated, comes first. It may be unknown.
    same(graphs_, original);
    same(graphs_, id);
    same(executables_, executable);
    if (is_new) define(known, range, range.name);
  }
  const auto attribute = [&](std::string_view subject, std::size_t column) {
    if (!row.has(column)) return;
    trace::attribute_event event;
    event.time = range.time;
    event.process = range.process;
    event.thread = range.thread;
    event.target = range.id;
    event.key = out_.intern(subject);
    event.integer = row.number(column);
    out_.add(event);
  };
  attribute("graph_node", node);
  attribute("original_graph_node", original_node);
}

trace::graph_id nsys_graphs::launched(const nsys::cells& row, const trace::graph_launch_event& launch) {
  using namespace nsys::graph_launch;
  const std::uint64_t process = nsys_places::process_bits(row.number(nsys::work::process));
  if (row.has(executable)) {
    const auto known = executables_.find({process, row.number(executable)});
    if (known != executables_.end()) return known->second;
  }
  const auto [known, first] = graphs_.try_emplace({process, row.number(graph)});
  if (first) {
    trace::event_base when = launch;
    when.source = trace::provenance::inferred;  // The file does not have the time.
    when.thread = {};
    define(known->second = fresh(), when, {});
  }
  return known->second;
}

}  // namespace sluice::importing
