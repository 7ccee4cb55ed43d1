#include "instrumentation/backend/simulated/streams/stream_calls.hpp"

#include <algorithm>

namespace sluice::backend::simulated {

priority_range stream_calls::priorities() noexcept {
  return {0, -5};  // the range that an H200 reports
}

device_result<stream_handle> stream_calls::create_stream(stream_flags flags) {
  driver_call call = calls_.begin_unrecorded("cuStreamCreateWithPriority", calls_.costs().create_call);
  if (!priorities().contains(flags.priority)) {
    calls_.finish(call);
    return fail(status::invalid_value, "cuStreamCreateWithPriority", priorities().refusal(flags.priority));
  }
  stream_state s;
  s.blocking = !flags.non_blocking;
  s.priority = flags.priority;
  const stream_handle stream = streams_.add(std::move(s));
  calls_.log().define_stream(call.begin, static_cast<std::uint32_t>(stream), static_cast<std::uint64_t>(stream),
                             flags.priority, false);
  calls_.finish(call);
  return stream;
}

void stream_calls::destroy_stream(stream_handle stream) noexcept {
  if (stream == stream_handle::null) return;
  driver_call call = calls_.begin_unrecorded("cuStreamDestroy_v2", calls_.costs().create_call);
  if (const stream_state* s = streams_.find(stream)) {
    captures_.forget_stream(stream, *s);
    // The stream's work continues; pool memory freed on the stream becomes free for all streams once that work is done.
    call.end = std::max(call.end, s->tail);
    pools_.forget_stream(stream);
    streams_.erase(stream);
  }
  calls_.finish(call);
}

device_result<void> stream_calls::sync_stream(stream_handle stream) {
  driver_call call = calls_.begin_unrecorded("cuStreamSynchronize", calls_.costs().sync_call);
  const stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamSynchronize", "no such stream");
  if (auto allowed = captures_.permitted_to_wait(*s, "cuStreamSynchronize"); !allowed) return allowed;
  if (auto allowed = captures_.permitted_on(stream, *s, "cuStreamSynchronize"); !allowed) return allowed;
  if (auto allowed = captures_.permitted_unsafe("cuStreamSynchronize"); !allowed) return allowed;
  call.end = std::max(call.end, streams_.tail(stream, *s));
  calls_.queue().run_until(call.end);
  pools_.trim_all(call.end);
  calls_.log().synced(call.begin, call.recorded_end(), streams_.key(stream), trace::sync_kind::stream);
  calls_.log().watermark(call.recorded_end());
  calls_.finish(call);
  return scheduler_.error();
}

device_result<bool> stream_calls::stream_idle(stream_handle stream) {
  driver_call call = calls_.begin_unrecorded("cuStreamQuery", calls_.costs().event_call);
  const stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamQuery", "no such stream");
  auto allowed = captures_.permitted_to_wait(*s, "cuStreamQuery");
  if (allowed) allowed = captures_.permitted_on(stream, *s, "cuStreamQuery");
  if (allowed) allowed = captures_.permitted_unsafe("cuStreamQuery");
  if (!allowed) return tl::unexpected(allowed.error());
  const bool idle = streams_.tail(stream, *s) <= call.end;
  calls_.finish(call);
  return idle;
}

device_result<int> stream_calls::stream_priority(stream_handle stream) {
  const auto lock = calls_.lock();
  const stream_state* s = streams_.find(stream);
  if (!s) return fail(status::invalid_value, "cuStreamGetPriority", "no such stream");
  return s->priority;
}

device_result<void> stream_calls::synchronize() {
  driver_call call = calls_.begin_unrecorded("cuCtxSynchronize", calls_.costs().sync_call);
  if (auto allowed = captures_.permitted_to_synchronize("cuCtxSynchronize"); !allowed) return allowed;
  call.end = std::max(call.end, streams_.idle_at());
  calls_.queue().run_until(call.end);
  pools_.trim_all(call.end);
  calls_.log().synced(call.begin, call.recorded_end(), 0, trace::sync_kind::context);
  calls_.log().watermark(call.recorded_end());
  calls_.finish(call);
  return scheduler_.error();
}

}  // namespace sluice::backend::simulated
