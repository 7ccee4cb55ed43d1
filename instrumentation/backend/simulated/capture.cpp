#include <algorithm>
#include <array>
#include <utility>

#include "instrumentation/backend/simulated/device.hpp"

// Stream captures: enqueued work becomes nodes; some calls are forbidden. Error numbers are those of CUDA.

namespace sluice::backend {

namespace {

thread_local capture_mode mode_of_thread = capture_mode::global;

std::uint32_t id_of(stream_handle stream) { return static_cast<std::uint32_t>(stream); }

/// True if every node is followed, directly or indirectly, by the end of the stream on which the capture began.
bool joined(const simulated::capture_session& c) {
  std::vector<bool> leads_on(c.body->nodes.size(), false);
  for (const auto& node : c.body->nodes) {
    for (const std::uint32_t before : node.after) leads_on[before] = true;
  }
  for (const std::uint32_t last : c.streams.at(id_of(c.origin))) leads_on[last] = true;
  return std::find(leads_on.begin(), leads_on.end(), false) == leads_on.end();
}

}  // namespace

// --- permitted calls ---------------------------------------------------------------------------------------

tl::unexpected<failure> simulated_device::break_capture(simulated::capture_session& c, const char* call, int native,
                                                        const char* why) {
  c.broken = true;
  return fail(status::not_permitted, call, why, native);
}

capture_mode simulated_device::exchange_capture_mode(capture_mode mode) noexcept {
  return std::exchange(mode_of_thread, mode);
}

device_result<void> simulated_device::permitted_unsafe(const char* call) {
  if (mode_of_thread == capture_mode::relaxed) return {};
  for (const auto& [id, c] : sessions_) {
    const bool forbids = (c->mode == capture_mode::global && mode_of_thread == capture_mode::global) ||
                         (c->mode == capture_mode::this_thread && c->owner == std::this_thread::get_id());
    if (forbids) {
      return break_capture(
          *c, call, native_unsupported,
          "a stream is being captured and the call may wait for it; only a relaxed capture allows that");
    }
  }
  return {};
}

device_result<void> simulated_device::permitted_on(stream_handle stream, const stream_state& s, const char* call) {
  if (s.capturing && s.capturing->broken) {
    return fail(status::not_permitted, call, "an earlier call broke the capture that this stream is part of",
                native_invalidated);
  }
  if (stream != stream_handle::null) return {};
  for (const auto& [id, c] : sessions_) {
    const bool waits = std::any_of(c->streams.begin(), c->streams.end(), [&](const auto& part) {
      const auto it = streams_.find(part.first);
      return it != streams_.end() && it->second.blocking;
    });
    if (waits) {
      return break_capture(*c, call, native_implicit,
                           "the default stream would wait for a blocking stream that is being captured");
    }
  }
  return {};
}

device_result<void> simulated_device::permitted_to_wait(const stream_state& s, const char* call) {
  if (!s.capturing) return {};
  return break_capture(*s.capturing, call, native_unsupported,
                       "the stream is being captured: it has no running work to wait for");
}

device_result<void> simulated_device::permitted_to_wait(const event_state& event, const char* call) {
  if (!event.captured) return {};
  return break_capture(*event.captured, call, native_captured_event,
                       "the event was last recorded on a captured stream: it marks a place in a graph, not a time");
}

// --- begin and end -----------------------------------------------------------------------------------------

device_result<void> simulated_device::begin_capture(stream_handle stream, capture_mode mode) {
  entry e = wait("cuStreamBeginCapture", config_.costs.capture_call);
  stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamBeginCapture", "no such stream", native_invalid);
  if (stream == stream_handle::null) {
    return fail(status::not_permitted, "cuStreamBeginCapture", "the default stream cannot be captured",
                native_unsupported);
  }
  if (s->capturing) {
    return fail(status::not_permitted, "cuStreamBeginCapture", "the stream is already being captured",
                native_illegal_state);
  }
  auto made = std::make_shared<simulated::capture_session>();
  made->id = next_capture_++;
  made->graph_key = graph_keys + next_graph_++;
  made->origin = stream;
  made->mode = mode;
  made->owner = std::this_thread::get_id();
  made->streams[id_of(stream)] = {};
  sessions_[made->id] = made;
  s->capturing = made;
  log_.graph_defined(e.call.begin, made->graph_key, 0, 0);
  leave(e);
  return {};
}

device_result<graph_handle> simulated_device::end_capture(stream_handle stream) {
  entry e = wait("cuStreamEndCapture", config_.costs.capture_call);
  const stream_state* s = find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamEndCapture", "no such stream", native_invalid);
  if (!s->capturing) {
    return fail(status::failed, "cuStreamEndCapture", "the stream is not being captured", native_illegal_state);
  }
  const capture c = s->capturing;
  if (c->origin != stream) {
    return break_capture(*c, "cuStreamEndCapture", native_unmatched, "the capture began on another stream");
  }
  if (c->mode != capture_mode::relaxed && c->owner != std::this_thread::get_id()) {
    return fail(status::not_permitted, "cuStreamEndCapture", "another thread began the capture", native_wrong_thread);
  }
  for (auto& [id, part] : streams_) {
    if (part.capturing == c) part.capturing = nullptr;
  }
  sessions_.erase(c->id);
  c->ended = true;
  const bool whole = joined(*c);
  if (whole && !c->broken) {
    graphs_[c->graph_key] = {c->graph_key, c->body};
  } else {
    log_.graph_ended(static_cast<std::uint64_t>(e.end), c->graph_key);
  }
  c->body.reset();  // events may keep the session alive, but not its memory
  leave(e);
  if (c->broken) {
    return fail(status::not_permitted, "cuStreamEndCapture", "a call that is not allowed during a capture broke it",
                native_invalidated);
  }
  if (!whole) {
    return fail(status::not_permitted, "cuStreamEndCapture",
                "a forked stream was not joined: make the first stream wait for an event recorded on it",
                native_unjoined);
  }
  return graph_handle{c->graph_key};
}

device_result<void> simulated_device::join_capture(stream_handle stream, stream_state& s, const event_state& event) {
  constexpr const char* call = "cuStreamWaitEvent";
  if (event.captured && event.captured->ended) {
    return fail(status::not_permitted, call, "the event was last recorded in a capture that has ended",
                native_captured_event);
  }
  if (!event.captured) {
    if (!event.recorded) return {};  // a wait for it never blocks
    return break_capture(*s.capturing, call, native_isolation,
                         "a captured stream cannot wait for work that is not captured");
  }
  if (s.capturing && s.capturing != event.captured) {
    event.captured->broken = true;
    return break_capture(*s.capturing, call, native_merge, "two captures cannot be merged");
  }
  if (!s.capturing) {
    if (stream == stream_handle::null) {
      return break_capture(*event.captured, call, native_implicit, "the default stream cannot be captured");
    }
    s.capturing = event.captured;
  }
  auto& after = event.captured->streams[id_of(stream)];
  after.insert(event.after.begin(), event.after.end());
  return {};
}

// --- nodes -------------------------------------------------------------------------------------------------

simulated::graph_node& simulated_device::add_node(stream_handle stream, const stream_state& s, graph_node_kind kind) {
  simulated::capture_session& c = *s.capturing;
  auto& last = c.streams[id_of(stream)];
  simulated::graph_node node;
  node.kind = kind;
  node.after.assign(last.begin(), last.end());
  node.key = node_keys + next_node_++;
  node.priority = s.priority;
  last = {static_cast<std::uint32_t>(c.body->nodes.size())};
  c.body->nodes.push_back(std::move(node));
  return c.body->nodes.back();
}

device_result<void> simulated_device::capture_item(entry& e, stream_handle stream, const stream_state& s,
                                                   work_item item) {
  e.end = static_cast<std::int64_t>(e.call.begin) + config_.costs.capture_call;
  graph_node_kind kind = graph_node_kind::host;
  if (item.on == engine::compute) kind = item.kernel ? graph_node_kind::kernel : graph_node_kind::set;
  if (item.on != engine::compute && item.source) kind = graph_node_kind::copy;
  simulated::graph_node& node = add_node(stream, s, kind);
  const auto end = static_cast<std::uint64_t>(e.end);
  log_.api_call(e.call, end, key(stream), item.bytes, name_locked(item.source), name_locked(item.destination));
  std::array<std::uint64_t, 8> names{};
  std::size_t count = 0;
  for (const void* address : item.names) {
    if (count < names.size()) names[count++] = name_locked(address);
  }
  log_.node_defined(end, s.capturing->graph_key, node.key, key(stream),
                    item.kernel ? item.kernel->name : std::string_view(item.call), {names.data(), count});
  item.pageable = false;  // no host thread waits for a node
  node.item = std::move(item);
  leave(e);
  return {};
}

std::shared_ptr<simulated::graph_memory> simulated_device::graph_memory_at(const void* address) const noexcept {
  const auto it = graph_memory_.find(reinterpret_cast<std::uint64_t>(address));
  return it == graph_memory_.end() ? nullptr : it->second.lock();
}

device_result<void*> simulated_device::capture_allocation(entry& e, stream_handle stream, const stream_state& s,
                                                          std::uint64_t bytes) {
  e.end = static_cast<std::int64_t>(e.call.begin) + config_.costs.capture_call;
  const std::uint64_t pool = graph_pool_key(config_.ordinal);
  const auto end = static_cast<std::uint64_t>(e.end);
  void* address = memory_.allocate(bytes, memory_space::device);
  const driver_log::alloc what{memory_.name_of(address), bytes, 0, pool, trace::memory_kind::device, ring::flag_graph,
                               s.capturing->graph_key};
  log_.api_call(e.call, end, key(stream), bytes, 0, 0, address ? 0 : 2);
  if (!address) {
    log_.failed(e.call, end, what, 2);
    leave(e);
    return fail(status::out_of_memory, e.call.name, "the address space is exhausted", 2);
  }
  if (!std::exchange(graph_pool_defined_, true)) log_.define_pool(end, pool, "graph memory");
  log_.allocated(e.call, end, what);
  // Destroyed with the last graph that has the node, always under the device's lock.
  std::shared_ptr<simulated::graph_memory> memory(new simulated::graph_memory{address, bytes, false},
                                                  [this](simulated::graph_memory* m) {
                                                    if (m->live) graph_bytes_ -= m->bytes;
                                                    graph_memory_.erase(reinterpret_cast<std::uint64_t>(m->address));
                                                    memory_.free(m->address);
                                                    delete m;
                                                  });
  graph_memory_[reinterpret_cast<std::uint64_t>(address)] = memory;
  add_node(stream, s, graph_node_kind::allocation).memory = std::move(memory);
  leave(e);
  return address;
}

device_result<void> simulated_device::capture_free(entry& e, stream_handle stream, const stream_state& s,
                                                   void* address) {
  e.end = static_cast<std::int64_t>(e.call.begin) + config_.costs.capture_call;
  auto memory = graph_memory_at(address);
  const bool known = memory != nullptr;
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream), 0, 0, 0, known ? 0 : native_invalid);
  if (known) add_node(stream, s, graph_node_kind::free).memory = std::move(memory);
  leave(e);
  if (!known) {
    return fail(status::invalid_value, "cuMemFreeAsync", "a graph can free only memory that a graph allocated",
                native_invalid);
  }
  return {};
}

device_result<void> simulated_device::capture_child(stream_handle stream, graph_handle child) {
  entry e = wait("cuGraphAddChildGraphNode", config_.costs.capture_call);
  const stream_state* s = find(stream);
  const auto it = graphs_.find(static_cast<std::uint64_t>(child));
  if (!s || it == graphs_.end()) {
    return fail(status::invalid_value, "cuGraphAddChildGraphNode", s ? "no such graph" : "no such stream",
                native_invalid);
  }
  if (!s->capturing) {
    return fail(status::not_permitted, "cuGraphAddChildGraphNode", "the stream is not being captured",
                native_illegal_state);
  }
  if (auto allowed = permitted_on(stream, *s, "cuGraphAddChildGraphNode"); !allowed) return allowed;
  const auto& nodes = it->second.body->nodes;
  if (std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.memory != nullptr; })) {
    return fail(status::invalid_value, "cuGraphAddChildGraphNode", "a child graph must not allocate or free memory",
                native_invalid);
  }
  simulated::graph_node& node = add_node(stream, *s, graph_node_kind::child_graph);
  node.child = it->second.body;
  log_.child_defined(e.call.begin, s->capturing->graph_key, node.key, it->second.key);
  leave(e);
  return {};
}

}  // namespace sluice::backend
