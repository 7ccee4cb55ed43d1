#include "instrumentation/backend/simulated/streams/events.hpp"

#include <algorithm>
#include <utility>

namespace sluice::backend::simulated {

event_handle events::add(event_state state) {
  const std::uint64_t id = next_event_++;
  events_[id] = std::move(state);
  return event_handle{id};
}

event_state* events::find(event_handle event) {
  const auto it = events_.find(static_cast<std::uint64_t>(event));
  return it == events_.end() ? nullptr : &it->second;
}

device_result<event_handle> events::create_event(event_flags flags) {
  driver_call call = calls_.begin_unrecorded("cuEventCreate", calls_.costs().event_call);
  event_state state;
  state.timed = flags.timed;
  if (flags.interprocess) state.shared = shared_event::make();
  if (flags.interprocess && (flags.timed || !state.shared)) {
    calls_.finish(call);
    return flags.timed ? fail(status::invalid_value, "cuEventCreate", "an interprocess event cannot be timed")
                       : fail(status::failed, "cuEventCreate", "the system refused the shared memory");
  }
  const event_handle event = add(std::move(state));
  calls_.finish(call);
  return event;
}

void events::destroy_event(event_handle event) noexcept {
  driver_call call = calls_.begin_unrecorded("cuEventDestroy_v2", calls_.costs().event_call);
  events_.erase(static_cast<std::uint64_t>(event));
  calls_.finish(call);
}

device_result<void> events::record_event(event_handle event, stream_handle stream) {
  driver_call call = calls_.begin_unrecorded("cuEventRecord", calls_.costs().event_call);
  event_state* state = find(event);
  const stream_state* s = streams_.find(stream);
  if (!state || !s) return fail(status::invalid_value, "cuEventRecord", "no such event or stream");
  if (auto allowed = captures_.permitted_on(stream, *s, "cuEventRecord"); !allowed) return allowed;
  state->captured = s->capturing;
  if (s->capturing) {
    state->after = s->capturing->streams[static_cast<std::uint32_t>(stream)];
    calls_.finish(call);
    return {};
  }
  state->recorded = true;
  state->time = std::max(call.end, streams_.tail(stream, *s));
  if (state->shared) {
    // The other process has its own clock and cannot advance this one, so the recorded work is run now.
    calls_.queue().run_until(state->time);
    state->shared->record(state->time);
  }
  calls_.log().event_recorded(call.begin, static_cast<std::uint64_t>(event), streams_.key(stream));
  calls_.finish(call);
  return {};
}

device_result<void> events::wait_event(stream_handle stream, event_handle event) {
  driver_call call = calls_.begin_unrecorded("cuStreamWaitEvent", calls_.costs().event_call);
  const event_state* state = find(event);
  stream_state* s = streams_.find(stream);
  if (!state || !s) return fail(status::invalid_value, "cuStreamWaitEvent", "no such event or stream");
  if (auto allowed = captures_.permitted_on(stream, *s, "cuStreamWaitEvent"); !allowed) return allowed;
  if (s->capturing || state->captured) {
    auto joined = captures_.join(stream, *s, *state);
    calls_.finish(call);
    return joined;
  }
  s->tail = std::max(s->tail, state->completion());  // an event that was never recorded blocks no stream
  calls_.log().event_waited(call.begin, static_cast<std::uint64_t>(event), streams_.key(stream));
  calls_.finish(call);
  return {};
}

device_result<void> events::sync_event(event_handle event) {
  driver_call call = calls_.begin_unrecorded("cuEventSynchronize", calls_.costs().sync_call);
  const event_state* state = find(event);
  if (!state) return fail(status::invalid_value, "cuEventSynchronize", "no such event");
  if (auto allowed = captures_.permitted_to_wait(*state, "cuEventSynchronize"); !allowed) return allowed;
  if (auto allowed = captures_.permitted_unsafe("cuEventSynchronize"); !allowed) return allowed;
  call.end = std::max(call.end, state->completion());
  calls_.log().synced(call.begin, call.recorded_end(), 0, trace::sync_kind::event);
  calls_.finish(call);
  return {};
}

device_result<bool> events::event_done(event_handle event) {
  driver_call call = calls_.begin_unrecorded("cuEventQuery", calls_.costs().event_call);
  const event_state* state = find(event);
  if (!state) return fail(status::invalid_value, "cuEventQuery", "no such event");
  if (auto allowed = captures_.permitted_to_wait(*state, "cuEventQuery"); !allowed) {
    return tl::unexpected(allowed.error());
  }
  if (auto allowed = captures_.permitted_unsafe("cuEventQuery"); !allowed) return tl::unexpected(allowed.error());
  const bool done = state->completion() <= call.end;
  calls_.finish(call);
  return done;
}

device_result<float> events::elapsed_ms(event_handle begin, event_handle end) {
  const auto lock = calls_.lock();
  const event_state* const a = find(begin);
  const event_state* const b = find(end);
  if (!a || !b || !a->timed || !b->timed) {
    return fail(status::invalid_value, "cuEventElapsedTime", "both must be timed events of this device");
  }
  const std::int64_t now = calls_.clock().now();
  if (!a->recorded || !b->recorded || a->time > now || b->time > now) {
    return fail(status::invalid_value, "cuEventElapsedTime", "both events must be recorded and done");
  }
  return static_cast<float>(static_cast<double>(b->time - a->time) / 1e6);
}

}  // namespace sluice::backend::simulated
