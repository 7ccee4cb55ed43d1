#include "instrumentation/backend/simulated/state/captures.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

namespace {

thread_local capture_mode mode_of_thread = capture_mode::global;

std::uint32_t stream_id(stream_handle stream) { return static_cast<std::uint32_t>(stream); }

/// True if every node is followed, directly or indirectly, by the end of the stream on which the capture began.
bool joined(const capture_session& c) {
  std::vector<bool> leads_on(c.body->nodes.size(), false);
  for (const auto& node : c.body->nodes) {
    for (const std::uint32_t before : node.after) leads_on[before] = true;
  }
  for (const std::uint32_t last : c.streams.at(stream_id(c.origin))) leads_on[last] = true;
  return std::find(leads_on.begin(), leads_on.end(), false) == leads_on.end();
}

}  // namespace

// --- permitted calls ---------------------------------------------------------------------------------------

tl::unexpected<failure> captures::break_capture(capture_session& c, const char* call, int native, const char* why) {
  c.broken = true;
  return fail(status::not_permitted, call, why, native);
}

capture_mode captures::exchange_capture_mode(capture_mode mode) noexcept { return std::exchange(mode_of_thread, mode); }

device_result<void> captures::permitted_unsafe(const char* call) {
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

device_result<void> captures::permitted_on(stream_handle stream, const stream_state& s, const char* call) {
  if (s.capturing && s.capturing->broken) {
    return fail(status::not_permitted, call, "an earlier call broke the capture that this stream is part of",
                native_invalidated);
  }
  if (stream != stream_handle::null) return {};
  for (const auto& [id, c] : sessions_) {
    if (streams_.captures_blocking_stream(*c)) {
      return break_capture(*c, call, native_implicit,
                           "the default stream would wait for a blocking stream that is being captured");
    }
  }
  return {};
}

device_result<void> captures::permitted_to_wait(const stream_state& s, const char* call) {
  if (!s.capturing) return {};
  return break_capture(*s.capturing, call, native_unsupported,
                       "the stream is being captured: it has no running work to wait for");
}

device_result<void> captures::permitted_to_wait(const event_state& event, const char* call) {
  if (!event.captured) return {};
  return break_capture(*event.captured, call, native_captured_event,
                       "the event was last recorded on a captured stream: it marks a place in a graph, not a time");
}

device_result<void> captures::permitted_to_synchronize(const char* call) {
  if (sessions_.empty()) return {};
  return break_capture(*sessions_.begin()->second, call, native_unsupported,
                       "a stream is being captured, and waiting for it would never end");
}

// --- begin and end -----------------------------------------------------------------------------------------

device_result<void> captures::begin_capture(stream_handle stream, capture_mode mode) {
  driver_call call = calls_.begin_unrecorded("cuStreamBeginCapture", calls_.costs().capture_call);
  stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamBeginCapture", "no such stream", native_invalid);
  if (stream == stream_handle::null) {
    return fail(status::not_permitted, "cuStreamBeginCapture", "the default stream cannot be captured",
                native_unsupported);
  }
  if (s->capturing) {
    return fail(status::not_permitted, "cuStreamBeginCapture", "the stream is already being captured",
                native_illegal_state);
  }
  auto session = std::make_shared<capture_session>();
  session->id = next_capture_++;
  session->graph_key = graphs_.new_key();
  session->origin = stream;
  session->mode = mode;
  session->owner = std::this_thread::get_id();
  session->streams[stream_id(stream)] = {};
  sessions_[session->id] = session;
  s->capturing = session;
  calls_.log().graph_defined(call.begin, session->graph_key, 0, 0);
  calls_.finish(call);
  return {};
}

device_result<graph_handle> captures::end_capture(stream_handle stream) {
  driver_call call = calls_.begin_unrecorded("cuStreamEndCapture", calls_.costs().capture_call);
  const stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamEndCapture", "no such stream", native_invalid);
  if (!s->capturing) {
    return fail(status::failed, "cuStreamEndCapture", "the stream is not being captured", native_illegal_state);
  }
  const std::shared_ptr<capture_session> c = s->capturing;
  if (c->origin != stream) {
    return break_capture(*c, "cuStreamEndCapture", native_unmatched, "the capture began on another stream");
  }
  if (c->mode != capture_mode::relaxed && c->owner != std::this_thread::get_id()) {
    return fail(status::not_permitted, "cuStreamEndCapture", "another thread began the capture", native_wrong_thread);
  }
  streams_.forget_capture(*c);
  sessions_.erase(c->id);
  c->ended = true;
  const bool whole = joined(*c);
  if (whole && !c->broken) {
    graphs_.add({c->graph_key, c->body});
  } else {
    calls_.log().graph_ended(call.recorded_end(), c->graph_key);
  }
  c->body.reset();  // events may keep the session alive, but not its memory
  calls_.finish(call);
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

device_result<void> captures::join(stream_handle stream, stream_state& s, const event_state& event) {
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
  auto& after = event.captured->streams[stream_id(stream)];
  after.insert(event.after.begin(), event.after.end());
  return {};
}

void captures::forget_stream(stream_handle stream, const stream_state& s) {
  if (!s.capturing) return;
  (void)break_capture(*s.capturing, "cuStreamDestroy", native_unsupported, "a captured stream was destroyed");
  s.capturing->streams.erase(stream_id(stream));
}

device_result<capture_info> captures::stream_capture(stream_handle stream) {
  const auto lock = calls_.lock();
  const stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamGetCaptureInfo", "no such stream");
  if (!s->capturing) return capture_info{};
  return capture_info{s->capturing->broken ? capture_status::invalidated : capture_status::active, s->capturing->id};
}

// --- nodes -------------------------------------------------------------------------------------------------

graph_node& captures::add_node(stream_handle stream, const stream_state& s, graph_node_kind kind) {
  capture_session& c = *s.capturing;
  auto& last = c.streams[stream_id(stream)];
  graph_node node;
  node.kind = kind;
  node.after.assign(last.begin(), last.end());
  node.key = node_keys + next_node_++;
  node.priority = s.priority;
  last = {static_cast<std::uint32_t>(c.body->nodes.size())};
  c.body->nodes.push_back(std::move(node));
  return c.body->nodes.back();
}

device_result<void> captures::capture_item(driver_call& call, stream_handle stream, const stream_state& s,
                                           work_item item) {
  call.end = static_cast<std::int64_t>(call.begin) + calls_.costs().capture_call;
  graph_node_kind kind = graph_node_kind::host;
  if (item.on == engine::compute) kind = item.kernel ? graph_node_kind::kernel : graph_node_kind::set;
  if (item.on != engine::compute && item.source) kind = graph_node_kind::copy;
  graph_node& node = add_node(stream, s, kind);
  const std::uint64_t end = call.recorded_end();
  calls_.log().api_call(call, end, streams_.key(stream), item.bytes, addresses_.name(item.source),
                        addresses_.name(item.destination));
  std::array<std::uint64_t, 8> names{};
  std::size_t count = 0;
  for (const void* address : item.names) {
    if (count < names.size()) names[count++] = addresses_.name(address);
  }
  calls_.log().node_defined(end, s.capturing->graph_key, node.key, streams_.key(stream),
                            item.kernel ? item.kernel->name : std::string_view(item.call), {names.data(), count});
  item.pageable = false;  // no host thread waits for a node
  node.item = std::move(item);
  calls_.finish(call);
  return {};
}

device_result<void*> captures::capture_allocation(driver_call& call, stream_handle stream, const stream_state& s,
                                                  std::uint64_t bytes) {
  call.end = static_cast<std::int64_t>(call.begin) + calls_.costs().capture_call;
  const std::uint64_t end = call.recorded_end();
  auto memory = memory_.reserve(bytes);
  void* const address = memory ? memory->address : nullptr;
  const driver_log::alloc record{
      addresses_.name(address), bytes, 0, memory_.key(), trace::memory_kind::device, ring::flag_graph,
      s.capturing->graph_key};
  calls_.log().api_call(call, end, streams_.key(stream), bytes, 0, 0, address ? 0 : native_out_of_memory);
  if (!address) {
    calls_.log().failed(call, end, record, native_out_of_memory);
    calls_.finish(call);
    return fail(status::out_of_memory, call.name, "the address space is exhausted", native_out_of_memory);
  }
  memory_.define_once(end);
  calls_.log().allocated(call, end, record);
  add_node(stream, s, graph_node_kind::allocation).memory = std::move(memory);
  calls_.finish(call);
  return address;
}

device_result<void> captures::capture_free(driver_call& call, stream_handle stream, const stream_state& s,
                                           void* address) {
  call.end = static_cast<std::int64_t>(call.begin) + calls_.costs().capture_call;
  auto memory = memory_.find(address);
  const bool known = memory != nullptr;
  calls_.log().api_call(call, call.recorded_end(), streams_.key(stream), 0, 0, 0, known ? 0 : native_invalid);
  if (known) add_node(stream, s, graph_node_kind::free).memory = std::move(memory);
  calls_.finish(call);
  if (!known) {
    return fail(status::invalid_value, "cuMemFreeAsync", "a graph can free only memory that a graph allocated",
                native_invalid);
  }
  return {};
}

device_result<void> captures::capture_child(stream_handle stream, graph_handle child) {
  driver_call call = calls_.begin_unrecorded("cuGraphAddChildGraphNode", calls_.costs().capture_call);
  const stream_state* s = streams_.find(stream);
  const graph_state* graph = graphs_.find(child);
  if (!s || !graph) {
    return fail(status::invalid_value, "cuGraphAddChildGraphNode", s ? "no such graph" : "no such stream",
                native_invalid);
  }
  if (!s->capturing) {
    return fail(status::not_permitted, "cuGraphAddChildGraphNode", "the stream is not being captured",
                native_illegal_state);
  }
  if (auto allowed = permitted_on(stream, *s, "cuGraphAddChildGraphNode"); !allowed) return allowed;
  const auto& nodes = graph->body->nodes;
  if (std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.memory != nullptr; })) {
    return fail(status::invalid_value, "cuGraphAddChildGraphNode", "a child graph must not allocate or free memory",
                native_invalid);
  }
  graph_node& node = add_node(stream, *s, graph_node_kind::child_graph);
  node.child = graph->body;
  calls_.log().child_defined(call.begin, s->capturing->graph_key, node.key, graph->key);
  calls_.finish(call);
  return {};
}

}  // namespace sluice::backend::simulated
