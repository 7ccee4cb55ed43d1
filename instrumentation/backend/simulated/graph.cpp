#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "instrumentation/backend/simulated/device.hpp"

// Graphs: instantiate, launch, update, and write as DOT.

namespace sluice::backend {

namespace {

const char* name_of(graph_node_kind kind) {
  static constexpr const char* names[] = {"kernel", "copy",           "set",          "host function", "child graph",
                                          "empty",  "wait for event", "record event", "allocation",    "free",
                                          "node"};
  static_assert(std::size(names) == static_cast<std::size_t>(graph_node_kind::other) + 1);
  return names[static_cast<std::size_t>(kind)];
}

std::size_t count_nodes(const simulated::graph_body& body) {
  std::size_t count = body.nodes.size();
  for (const auto& node : body.nodes) count += node.child ? count_nodes(*node.child) : 0;
  return count;
}

/// Explains why an executable graph with body `now` cannot be updated to `next`; null if it can.
const char* difference(const simulated::graph_body& now, const simulated::graph_body& next) {
  if (now.nodes.size() != next.nodes.size()) return "its nodes or edges differ";
  for (std::size_t i = 0; i < now.nodes.size(); ++i) {
    const auto &a = now.nodes[i], &b = next.nodes[i];
    if (a.kind != b.kind) return "a node has a different kind";
    if (a.after != b.after) return "its nodes or edges differ";
    if (a.memory && a.memory->bytes != b.memory->bytes) return "a node allocates a different size";
    if (a.child) {
      if (const char* inside = difference(*a.child, *b.child)) return inside;
    }
  }
  return nullptr;
}

}  // namespace

void simulated_device::destroy_graph(graph_handle graph) noexcept {
  const std::lock_guard lock(mutex_);
  if (graphs_.erase(static_cast<std::uint64_t>(graph)) == 0) return;
  log_.graph_ended(static_cast<std::uint64_t>(clock_.now()), static_cast<std::uint64_t>(graph));
}

void simulated_device::destroy_exec(graph_exec_handle exec) noexcept {
  entry e = wait("cuGraphExecDestroy", config_.costs.event_call);
  if (!permitted_unsafe(e.call.name)) return leave(e);
  const auto it = execs_.find(static_cast<std::uint64_t>(exec));
  if (it != execs_.end()) {
    // Its memory may be in use until its last launch ends.
    e.end = std::max(e.end, it->second.tail);
    run_until(e.end);
    log_.graph_ended(static_cast<std::uint64_t>(e.end), it->first);
    execs_.erase(it);
  }
  leave(e);
}

device_result<graph_shape> simulated_device::shape_of(graph_handle graph) {
  const std::lock_guard lock(mutex_);
  const auto it = graphs_.find(static_cast<std::uint64_t>(graph));
  if (it == graphs_.end()) return fail(status::invalid_value, "cuGraphGetNodes", "no such graph", native_invalid);
  graph_shape shape;
  for (const auto& node : it->second.body->nodes) {
    const auto here = static_cast<std::uint32_t>(shape.nodes.size());
    shape.nodes.push_back(node.kind);
    for (const std::uint32_t before : node.after) shape.edges.emplace_back(before, here);
  }
  std::sort(shape.edges.begin(), shape.edges.end());
  return shape;
}

device_result<void> simulated_device::write_dot(graph_handle graph, const std::string& path, bool verbose) {
  const std::lock_guard lock(mutex_);
  const auto it = graphs_.find(static_cast<std::uint64_t>(graph));
  if (it == graphs_.end()) return fail(status::invalid_value, "cuGraphDebugDotPrint", "no such graph", native_invalid);
  std::ofstream out(path, std::ios::trunc);
  out << "digraph graph_" << (it->first - graph_keys) << " {\n  node [shape=box];\n";
  const auto& nodes = it->second.body->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string label = name_of(nodes[i].kind);
    if (nodes[i].item.kernel) label += fmt::format("\\n{}", nodes[i].item.kernel->name);
    const std::uint64_t bytes = nodes[i].memory ? nodes[i].memory->bytes : nodes[i].item.bytes;
    if (verbose && bytes != 0) label += fmt::format("\\n{} bytes", bytes);
    out << fmt::format("  n{} [label=\"{}\"];\n", i, label);
    for (const std::uint32_t before : nodes[i].after) out << fmt::format("  n{} -> n{};\n", before, i);
  }
  out << "}\n";
  out.flush();
  if (!out) return fail(status::failed, "cuGraphDebugDotPrint", "cannot write " + path);
  return {};
}

device_result<graph_exec_handle> simulated_device::instantiate(graph_handle graph, graph_exec_options options) {
  entry e = wait("cuGraphInstantiate", config_.costs.create_call);
  const auto it = graphs_.find(static_cast<std::uint64_t>(graph));
  if (it == graphs_.end()) return fail(status::invalid_value, "cuGraphInstantiate", "no such graph", native_invalid);
  const std::size_t count = count_nodes(*it->second.body);
  e.end += config_.costs.instantiate_node * static_cast<std::int64_t>(count);
  const std::uint64_t made = graph_keys + next_graph_++;
  execs_[made] = {made, it->second.body, options, 0, false};
  log_.graph_defined(static_cast<std::uint64_t>(e.end), made, it->first, it->second.body->nodes.size());
  leave(e);
  return graph_exec_handle{made};
}

device_result<void> simulated_device::update_exec(graph_exec_handle exec, graph_handle graph) {
  entry e = wait("cuGraphExecUpdate", config_.costs.event_call);
  const auto made = execs_.find(static_cast<std::uint64_t>(exec));
  const auto from = graphs_.find(static_cast<std::uint64_t>(graph));
  if (made == execs_.end() || from == graphs_.end()) {
    return fail(status::invalid_value, "cuGraphExecUpdate", "no such graph", native_invalid);
  }
  const char* why = difference(*made->second.body, *from->second.body);
  if (!why) {
    const std::size_t count = count_nodes(*from->second.body);
    e.end += config_.costs.instantiate_node / 4 * static_cast<std::int64_t>(count);
    made->second.body = from->second.body;
    log_.graph_defined(static_cast<std::uint64_t>(e.end), made->first, from->first, from->second.body->nodes.size());
  }
  leave(e);
  if (why) return fail(status::invalid_value, "cuGraphExecUpdate", why, native_update_failure);
  return {};
}

device_result<void> simulated_device::upload_exec(graph_exec_handle exec, stream_handle stream) {
  entry e = enter("cuGraphUpload", config_.costs.launch_call);
  const auto it = execs_.find(static_cast<std::uint64_t>(exec));
  const stream_state* s = find(stream);
  if (it != execs_.end() && s) {
    if (auto allowed = permitted_on(stream, *s, e.call.name); !allowed) return allowed;
    if (auto allowed = permitted_to_wait(*s, e.call.name); !allowed) return allowed;
    it->second.uploaded = true;
    log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream));
  }
  leave(e);
  if (it == execs_.end() || !s) {
    return fail(status::invalid_value, "cuGraphUpload", s ? "no such graph" : "no such stream", native_invalid);
  }
  return {};
}

// --- launches ----------------------------------------------------------------------------------------------

void simulated_device::set_live(simulated::graph_memory& memory, bool live, std::int64_t now) {
  if (memory.live == live) return;
  memory.live = live;
  graph_bytes_ += live ? memory.bytes : 0 - memory.bytes;
  log_.pool_state(static_cast<std::uint64_t>(now), graph_pool_key(config_.ordinal), graph_bytes_, graph_bytes_,
                  trace::pool_operation::sample);
}

device_result<void> simulated_device::launchable(const simulated::graph_exec_state& exec, std::int64_t now) {
  std::uint64_t held = 0, peak = 0;
  for (const auto& node : exec.body->nodes) {
    if (node.kind == graph_node_kind::free) held -= std::min(held, node.memory->bytes);
    if (node.kind != graph_node_kind::allocation) continue;
    if (node.memory->live && !exec.options.free_on_launch) {
      return fail(status::invalid_value, "cuGraphLaunch",
                  "memory of the previous launch has not been freed: free it, or use `free_on_launch`", native_invalid);
    }
    if (node.memory->live) set_live(*node.memory, false, now);
    held += node.memory->bytes;
    peak = std::max(peak, held);
  }
  const memory_info info = memory_now();
  if (peak <= info.free_bytes) return {};
  return fail(status::out_of_memory, "cuGraphLaunch",
              fmt::format("the graph allocates {} bytes, {} of {} free", peak, info.free_bytes, info.total_bytes),
              native_out_of_memory);
}

std::int64_t simulated_device::run_graph(const entry& e, const simulated::graph_body& body,
                                         const simulated::graph_exec_state& exec, std::int64_t ready, int priority,
                                         std::uint64_t stream_key) {
  std::vector<std::int64_t> ends;
  ends.reserve(body.nodes.size());
  std::int64_t last = ready;
  for (const auto& node : body.nodes) {
    std::int64_t from = ready;
    for (const std::uint32_t before : node.after) from = std::max(from, ends[before]);
    std::int64_t end = from;
    if (node.child) {
      end = run_graph(e, *node.child, exec, from, priority, stream_key);
    } else if (node.memory) {
      set_live(*node.memory, node.kind == graph_node_kind::allocation, from);
    } else if (node.item.run) {
      const int level = exec.options.node_priorities ? node.priority : priority;
      if (auto* on = timeline_of(node.item.on, level)) on->forget_before(static_cast<std::int64_t>(e.call.begin));
      // A node starts faster than a launched kernel: it waits for other nodes, but not for the host.
      work_item item = node.item;
      if (item.on == engine::compute) item.duration -= config_.costs.kernel_latency - config_.costs.graph_node;
      const span when = start(item, from, from, level);
      if (item.log) item.log(e.call, when, stream_key, node.key);
      end = when.end;
    }
    ends.push_back(end);
    last = std::max(last, end);
  }
  return last;
}

device_result<void> simulated_device::launch_exec(graph_exec_handle handle, stream_handle stream) {
  entry e = enter("cuGraphLaunch", config_.costs.graph_launch_call);
  const auto it = execs_.find(static_cast<std::uint64_t>(handle));
  stream_state* s = find(stream);
  if (it == execs_.end() || !s) {
    leave(e);
    return fail(status::invalid_value, "cuGraphLaunch", s ? "no such graph" : "no such stream", native_invalid);
  }
  simulated::graph_exec_state& exec = it->second;
  auto allowed = permitted_on(stream, *s, e.call.name);
  if (allowed && s->capturing) {
    allowed = break_capture(*s->capturing, e.call.name, native_unsupported,
                            "the stream is being captured: add the graph as a child instead of launching it");
  }
  if (allowed) allowed = launchable(exec, e.end);
  if (!allowed) {
    log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream), 0, 0, 0, allowed.error().native);
    leave(e);
    return allowed;
  }
  const auto count = static_cast<std::int64_t>(count_nodes(*exec.body));
  e.end += config_.costs.graph_launch_node * count;
  if (!std::exchange(exec.uploaded, true)) e.end += config_.costs.launch_call;
  const std::uint64_t on = key(stream);
  log_.graph_called(e.call, exec.key);
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), on);
  const std::int64_t ready = std::max({e.end + config_.costs.enqueue_latency, tail_of(stream, *s), exec.tail});
  exec.tail = run_graph(e, *exec.body, exec, ready, s->priority, on);
  s->tail = std::max(s->tail, exec.tail);
  log_.graph_launched(e.call, e.call.begin, 0, exec.key, on, 0);
  leave(e);
  return {};
}

}  // namespace sluice::backend
