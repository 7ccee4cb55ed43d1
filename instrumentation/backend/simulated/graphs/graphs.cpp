#include "instrumentation/backend/simulated/graphs/graphs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

const char* get_name(graph_node_kind kind) {
  static constexpr const char* names[] = {"kernel", "copy",           "set",          "host function", "child graph",
                                          "empty",  "wait for event", "record event", "allocation",    "free",
                                          "node"};
  static_assert(std::size(names) == static_cast<std::size_t>(graph_node_kind::other) + 1);
  return names[static_cast<std::size_t>(kind)];
}

std::size_t count_nodes(const graph_body& body) {
  std::size_t count = body.nodes.size();
  for (const auto& node : body.nodes) count += node.child ? count_nodes(*node.child) : 0;
  return count;
}

/// Explains why an executable graph with body `now` cannot be updated to `next`; null if it can.
const char* difference(const graph_body& now, const graph_body& next) {
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

void graphs::destroy_graph(graph_handle graph) noexcept {
  const auto lock = calls_.lock();
  if (!graphs_.erase(graph)) return;
  calls_.log().graph_ended(static_cast<std::uint64_t>(calls_.clock().now()), static_cast<std::uint64_t>(graph));
}

void graphs::destroy_exec(graph_exec_handle exec) noexcept {
  driver_call call = calls_.begin_unrecorded("cuGraphExecDestroy", calls_.costs().event_call);
  if (!captures_.permitted_unsafe(call.name)) return calls_.finish(call);
  const auto it = execs_.find(static_cast<std::uint64_t>(exec));
  if (it != execs_.end()) {
    // Its memory may be in use until its last launch ends.
    call.end = std::max(call.end, it->second.tail);
    calls_.queue().run_until(call.end);
    calls_.log().graph_ended(call.recorded_end(), it->first);
    execs_.erase(it);
  }
  calls_.finish(call);
}

device_result<graph_shape> graphs::shape(graph_handle graph) {
  const auto lock = calls_.lock();
  const graph_state* found = graphs_.find(graph);
  if (!found) return fail(status::invalid_value, "cuGraphGetNodes", "no such graph", native_invalid);
  graph_shape out;
  for (const auto& node : found->body->nodes) {
    const auto here = static_cast<std::uint32_t>(out.nodes.size());
    out.nodes.push_back(node.kind);
    for (const std::uint32_t before : node.after) out.edges.emplace_back(before, here);
  }
  std::sort(out.edges.begin(), out.edges.end());
  return out;
}

device_result<void> graphs::write_dot(graph_handle graph, const std::string& path, bool verbose) {
  const auto lock = calls_.lock();
  const graph_state* found = graphs_.find(graph);
  if (!found) return fail(status::invalid_value, "cuGraphDebugDotPrint", "no such graph", native_invalid);
  std::ofstream out(path, std::ios::trunc);
  out << "digraph graph_" << (found->key - graph_keys) << " {\n  node [shape=box];\n";
  const auto& nodes = found->body->nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string label = get_name(nodes[i].kind);
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

device_result<graph_exec_handle> graphs::instantiate(graph_handle graph, graph_exec_options options) {
  driver_call call = calls_.begin_unrecorded("cuGraphInstantiate", calls_.costs().create_call);
  const graph_state* found = graphs_.find(graph);
  if (!found) return fail(status::invalid_value, "cuGraphInstantiate", "no such graph", native_invalid);
  const std::size_t count = count_nodes(*found->body);
  call.end += calls_.costs().instantiate_node * static_cast<std::int64_t>(count);
  const std::uint64_t key = graphs_.new_key();
  execs_[key] = {key, found->body, options, 0, false};
  calls_.log().graph_defined(call.recorded_end(), key, found->key, found->body->nodes.size());
  calls_.finish(call);
  return graph_exec_handle{key};
}

device_result<void> graphs::update_exec(graph_exec_handle exec, graph_handle graph) {
  driver_call call = calls_.begin_unrecorded("cuGraphExecUpdate", calls_.costs().event_call);
  const auto it = execs_.find(static_cast<std::uint64_t>(exec));
  const graph_state* next = graphs_.find(graph);
  if (it == execs_.end() || !next) {
    return fail(status::invalid_value, "cuGraphExecUpdate", "no such graph", native_invalid);
  }
  const char* reason = difference(*it->second.body, *next->body);
  if (!reason) {
    const std::size_t count = count_nodes(*next->body);
    call.end += calls_.costs().instantiate_node / 4 * static_cast<std::int64_t>(count);
    it->second.body = next->body;
    calls_.log().graph_defined(call.recorded_end(), it->first, next->key, next->body->nodes.size());
  }
  calls_.finish(call);
  if (reason) return fail(status::invalid_value, "cuGraphExecUpdate", reason, native_update_failure);
  return {};
}

device_result<void> graphs::upload_exec(graph_exec_handle exec, stream_handle stream) {
  driver_call call = calls_.begin("cuGraphUpload", calls_.costs().launch_call);
  const auto it = execs_.find(static_cast<std::uint64_t>(exec));
  const stream_state* s = streams_.find(stream);
  if (it != execs_.end() && s) {
    if (auto allowed = captures_.permitted_on(stream, *s, call.name); !allowed) return allowed;
    if (auto allowed = captures_.permitted_to_wait(*s, call.name); !allowed) return allowed;
    it->second.uploaded = true;
    calls_.log().api_call(call, call.recorded_end(), streams_.key(stream));
  }
  calls_.finish(call);
  if (it == execs_.end() || !s) {
    return fail(status::invalid_value, "cuGraphUpload", s ? "no such graph" : "no such stream", native_invalid);
  }
  return {};
}

// --- launches ----------------------------------------------------------------------------------------------

device_result<void> graphs::launchable(const graph_exec_state& exec, std::int64_t now) {
  std::uint64_t held = 0, peak = 0;
  for (const auto& node : exec.body->nodes) {
    if (node.kind == graph_node_kind::free) held -= std::min(held, node.memory->bytes);
    if (node.kind != graph_node_kind::allocation) continue;
    if (node.memory->live && !exec.options.free_on_launch) {
      return fail(status::invalid_value, "cuGraphLaunch",
                  "memory of the previous launch has not been freed: free it, or use `free_on_launch`", native_invalid);
    }
    if (node.memory->live) memory_.set_live(*node.memory, false, now);
    held += node.memory->bytes;
    peak = std::max(peak, held);
  }
  const memory_info info = budget_.info();
  if (peak <= info.free_bytes) return {};
  return fail(status::out_of_memory, "cuGraphLaunch",
              fmt::format("the graph allocates {} bytes, {} of {} free", peak, info.free_bytes, info.total_bytes),
              native_out_of_memory);
}

std::int64_t graphs::run_nodes(const driver_call& call, const graph_body& body, const graph_exec_state& exec,
                               std::int64_t ready, int priority, std::uint64_t stream_key) {
  std::vector<std::int64_t> ends;
  ends.reserve(body.nodes.size());
  std::int64_t last = ready;
  for (const auto& node : body.nodes) {
    std::int64_t begin = ready;
    for (const std::uint32_t before : node.after) begin = std::max(begin, ends[before]);
    std::int64_t end = begin;
    if (node.child) {
      end = run_nodes(call, *node.child, exec, begin, priority, stream_key);
    } else if (node.memory) {
      memory_.set_live(*node.memory, node.kind == graph_node_kind::allocation, begin);
    } else if (node.item.run) {
      const int level = exec.options.node_priorities ? node.priority : priority;
      scheduler_.forget_before(static_cast<std::int64_t>(call.begin), node.item.on, level);
      // A node starts faster than a launched kernel: it waits for other nodes, but not for the host.
      work_item item = node.item;
      if (item.on == engine::compute) item.duration -= calls_.costs().kernel_latency - calls_.costs().graph_node;
      const span when = scheduler_.start(item, begin, begin, level);
      if (item.log) item.log(call, when, stream_key, node.key);
      end = when.end;
    }
    ends.push_back(end);
    last = std::max(last, end);
  }
  return last;
}

device_result<void> graphs::launch_exec(graph_exec_handle handle, stream_handle stream) {
  driver_call call = calls_.begin("cuGraphLaunch", calls_.costs().graph_launch_call);
  const auto it = execs_.find(static_cast<std::uint64_t>(handle));
  stream_state* s = streams_.find(stream);
  if (it == execs_.end() || !s) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuGraphLaunch", s ? "no such graph" : "no such stream", native_invalid);
  }
  graph_exec_state& exec = it->second;
  auto allowed = captures_.permitted_on(stream, *s, call.name);
  if (allowed && s->capturing) {
    allowed = captures::break_capture(*s->capturing, call.name, native_unsupported,
                                      "the stream is being captured: add the graph as a child instead of launching it");
  }
  if (allowed) allowed = launchable(exec, call.end);
  if (!allowed) {
    calls_.log().api_call(call, call.recorded_end(), streams_.key(stream), 0, 0, 0, allowed.error().native);
    calls_.finish(call);
    return allowed;
  }
  const auto count = static_cast<std::int64_t>(count_nodes(*exec.body));
  call.end += calls_.costs().graph_launch_node * count;
  if (!std::exchange(exec.uploaded, true)) call.end += calls_.costs().launch_call;
  const std::uint64_t on = streams_.key(stream);
  calls_.log().graph_called(call, exec.key);
  calls_.log().api_call(call, call.recorded_end(), on);
  const std::int64_t ready =
      std::max({call.end + calls_.costs().enqueue_latency, streams_.tail(stream, *s), exec.tail});
  exec.tail = run_nodes(call, *exec.body, exec, ready, s->priority, on);
  s->tail = std::max(s->tail, exec.tail);
  calls_.log().graph_launched(call, call.begin, 0, exec.key, on, 0);
  calls_.finish(call);
  return {};
}

}  // namespace sluice::backend::simulated
