#include <algorithm>
#include <cstring>

#include "instrumentation/backend/simulated/device.hpp"

// Copies, sets and kernels.

namespace sluice::backend {

namespace {

constexpr int native_invalid = 1, native_illegal_address = 700;  // CUresult's numbers

bool on_host(memory_space space) { return space == memory_space::pageable || space == memory_space::pinned; }

}  // namespace

double simulated_device::copy_rate(const void* to, const void* from, memory_space to_space,
                                   memory_space from_space) const {
  const auto& c = config_.costs;
  if (on_host(from_space) && on_host(to_space)) return c.copy_memory;
  if (from_space == memory_space::pinned) return c.pinned_h2d;
  if (to_space == memory_space::pinned) return c.pinned_d2h;
  if (from_space == memory_space::pageable) return range_of(file_mappings_, from) ? c.file_mapping_h2d : c.pageable_h2d;
  if (to_space == memory_space::pageable) return range_of(file_mappings_, to) ? c.file_mapping_d2h : c.pageable_d2h;
  return c.device_copy;
}

outcome<void> simulated_device::copy_async(void* to, const void* from, std::uint64_t bytes, stream_handle stream) {
  if (bytes == 0) return {};
  entry e = enter("cuMemcpyAsync", config_.costs.copy_call);
  stream_state* s = find(stream);
  const memory_space from_space = space_locked(from), to_space = space_locked(to);
  const bool from_ok = !memory_.contains(from) || whole(from, bytes);
  const bool to_ok = !memory_.contains(to) || whole(to, bytes);
  if (!s || !to || !from || !from_ok || !to_ok) {
    leave(e);
    return fail(status::invalid_value, "cuMemcpyAsync",
                !s ? "no such stream" : "source and destination must each lie in one live block", native_invalid);
  }
  const trace::direction direction = copy_direction(from_space, to_space);
  simulated::timeline* engine = direction == trace::direction::h2d   ? &to_device_
                                : direction == trace::direction::d2h ? &to_host_
                                : direction == trace::direction::d2d ? &within_
                                                                     : nullptr;
  switch (direction) {
    case trace::direction::h2d:
      e.call.name = "cuMemcpyHtoDAsync_v2";
      break;
    case trace::direction::d2h:
      e.call.name = "cuMemcpyDtoHAsync_v2";
      break;
    case trace::direction::d2d:
      e.call.name = "cuMemcpyDtoDAsync_v2";
      break;
    default:
      break;
  }
  // A managed end is brought to the device first.
  for (const auto& [address, space, written] :
       {std::tuple{from, from_space, false}, {static_cast<const void*>(to), to_space, true}}) {
    if (space != memory_space::managed) continue;
    s->tail =
        migrate(address, bytes, true, written, std::max(e.end, tail_of(stream, *s)), config_.costs.fault_rate_to_device,
                config_.costs.fault_latency, trace::migration_cause::page_fault);
  }
  const std::int64_t duration =
      config_.costs.copy_latency + simulated::cost_model::duration(bytes, copy_rate(to, from, to_space, from_space));
  const span when = enqueue(e, stream, *s, engine, duration, [=, this] {
    if (alive(to, bytes) && alive(from, bytes)) std::memmove(to, from, bytes);
  });

  const bool pageable = from_space == memory_space::pageable || to_space == memory_space::pageable;
  if (pageable) e.end = std::max(e.end, when.end);  // staged by the driver: the host waits
  const driver_log::copy record{static_cast<std::uint64_t>(when.begin),
                                static_cast<std::uint64_t>(when.end),
                                bytes,
                                key(stream),
                                name_locked(from),
                                name_locked(to),
                                from_space,
                                to_space,
                                pageable ? 0u : collector::flag_asynchronous};
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), record.stream, bytes, record.source, record.destination);
  log_.copied(e.call, record);
  leave(e);
  return {};
}

outcome<void> simulated_device::set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                          stream_handle stream) {
  if (bytes == 0) return {};
  entry e = enter("cuMemsetD8Async", config_.costs.set_call);
  stream_state* s = find(stream);
  if (!s || !memory_.contains(address) || !whole(address, bytes)) {
    leave(e);
    return fail(status::invalid_value, "cuMemsetD8Async", "the range must lie in one live block", native_invalid);
  }
  const memory_space space = space_locked(address);
  if (space == memory_space::managed) {
    s->tail =
        migrate(address, bytes, true, true, std::max(e.end, tail_of(stream, *s)), config_.costs.fault_rate_to_device,
                config_.costs.fault_latency, trace::migration_cause::page_fault);
  }
  const std::int64_t duration =
      config_.costs.kernel_latency + simulated::cost_model::duration(bytes, config_.costs.device_set);
  const span when = enqueue(e, stream, *s, &compute_, duration, [=, this] {
    if (alive(address, bytes)) std::memset(address, value, bytes);
  });
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream), bytes, 0, name_locked(address));
  log_.set(e.call, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), name_locked(address),
           bytes, value, space, key(stream), collector::flag_asynchronous);
  leave(e);
  return {};
}

outcome<void> simulated_device::launch(const kernel_definition& kernel, const launch_shape& shape,
                                       kernel_arguments arguments, stream_handle stream) {
  entry e = enter("cuLaunchKernel", config_.costs.launch_call);
  stream_state* s = find(stream);
  if (!s || !kernel.run || !kernel.work) {
    leave(e);
    return fail(status::invalid_value, "cuLaunchKernel", !s ? "no such stream" : "the kernel has no host body",
                native_invalid);
  }
  const kernel_work work = kernel.work(shape, arguments);
  for (std::size_t i = 0; i < work.touch_count; ++i) {
    const kernel_touch& t = work.touches[i];
    if (t.bytes != 0 && !whole(t.address, t.bytes)) {
      leave(e);
      return fail(status::failed, "cuLaunchKernel",
                  std::string(kernel.name) + ": illegal address: an argument reaches outside live device memory",
                  native_illegal_address);
    }
  }
  const auto& c = config_.costs;
  std::int64_t duration =
      c.kernel_latency + std::max(simulated::cost_model::duration(work.bytes, c.device_memory),
                                  simulated::cost_model::duration(work.operations, c.device_operations));
  // Page faults happen while the kernel runs and make it longer.
  std::int64_t ready = std::max(e.end + c.enqueue_latency, tail_of(stream, *s));
  ready = simulated::timeline(compute_).book(ready, duration);
  std::int64_t arrived = ready;
  for (std::size_t i = 0; i < work.touch_count; ++i) {
    const kernel_touch& t = work.touches[i];
    if (t.bytes == 0 || space_locked(t.address) != memory_space::managed) continue;
    arrived = migrate(t.address, t.bytes, true, t.written, arrived, c.fault_rate_to_device, c.fault_latency,
                      trace::migration_cause::page_fault);
  }
  duration += arrived - ready;
  const span when =
      enqueue(e, stream, *s, &compute_, duration, [this, &kernel, work, shape, args = std::move(arguments)] {
        for (std::size_t i = 0; i < work.touch_count; ++i) {
          if (!alive(work.touches[i].address, work.touches[i].bytes)) return;
        }
        kernel.run(shape, args);
      });
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream));
  log_.ran(e.call, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), kernel, shape,
           key(stream), 0);
  if (arrived != ready) log_.memory(static_cast<std::uint64_t>(when.end), memory_now());
  leave(e);
  return {};
}

}  // namespace sluice::backend
