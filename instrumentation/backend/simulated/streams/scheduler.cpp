#include "instrumentation/backend/simulated/streams/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

span scheduler::start(const work_item& item, std::int64_t faults_from, std::int64_t ready, int priority) {
  const auto migrate = [&](std::int64_t begin) {
    for (const kernel_touch& t : item.managed) {
      begin = managed_.migrate(t.address, t.bytes, true, t.written, begin, calls_.costs().fault_rate_to_device,
                               calls_.costs().fault_latency, trace::migration_cause::page_fault);
    }
    return begin;
  };
  timeline* const on = engines_.find(item.on, priority);
  std::int64_t duration = item.duration;
  if (item.faults_inside && !item.managed.empty()) {
    // Page faults occur while the kernel runs, and make it longer.
    const std::int64_t begin = timeline(*on).book(ready, duration);
    duration += migrate(begin) - begin;
  } else if (!item.managed.empty()) {
    ready = std::max(ready, migrate(faults_from));
  }
  const std::int64_t begin = on ? on->book(ready, duration) : ready;
  calls_.queue().add(begin + duration, item.run);
  return {begin, begin + duration};
}

void scheduler::forget_before(std::int64_t time, engine which, int priority) {
  if (auto* on = engines_.find(which, priority)) on->forget_before(time);
}

span scheduler::enqueue(driver_call& call, stream_handle stream, stream_state& state, const work_item& item) {
  // Only enqueuing threads decide which times are past, so a thread that only waits, even ahead of them, has no effect.
  forget_before(static_cast<std::int64_t>(call.begin), item.on, state.priority);
  const std::int64_t tail = streams_.tail(stream, state);
  const span when =
      start(item, std::max(call.end, tail), std::max(call.end + calls_.costs().enqueue_latency, tail), state.priority);
  state.tail = when.end;
  if (item.pageable) call.end = std::max(call.end, when.end);
  return when;
}

device_result<void> scheduler::enqueue(driver_call& call, stream_handle stream, device_result<work_item> item) {
  stream_state* s = streams_.find(stream);
  if (!s || !item) {
    calls_.finish(call);
    if (!s) return fail(status::invalid_value, call.name, "no such stream", native_invalid);
    return tl::unexpected(std::move(item.error()));
  }
  call.name = item->call;
  if (auto allowed = captures_.permitted_on(stream, *s, item->call); !allowed) {
    calls_.finish(call);
    return allowed;
  }
  if (s->capturing) return captures_.capture_item(call, stream, *s, std::move(*item));
  const span when = enqueue(call, stream, *s, *item);
  calls_.log().api_call(call, call.recorded_end(), streams_.key(stream), item->bytes, addresses_.name(item->source),
                        addresses_.name(item->destination));
  if (item->log) item->log(call, when, streams_.key(stream), 0);
  if (item->faults_inside && when.end - when.begin != item->duration)
    calls_.log().memory(static_cast<std::uint64_t>(when.end), budget_.info());
  calls_.finish(call);
  return {};
}

bool scheduler::alive(const void* address, std::uint64_t bytes) {
  if (addresses_.valid(address, bytes)) return true;
  error_ = fail(status::failed, "device work", "illegal address: memory was freed while work on it was pending",
                native_illegal_address);
  return false;
}

}  // namespace sluice::backend::simulated
