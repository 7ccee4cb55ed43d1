#include <algorithm>
#include <cstring>

#include "instrumentation/backend/simulated/device.hpp"

// Copies, memsets and kernels.

namespace sluice::backend {

namespace {}  // namespace

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

// --- scheduling --------------------------------------------------------------------------------------------

simulated::timeline* simulated_device::timeline_of(engine which, int priority) {
  switch (which) {
    case engine::to_device:
      return &to_device_;
    case engine::to_host:
      return &to_host_;
    case engine::within:
      return &within_;
    case engine::compute:
      return &compute_[priority];
    case engine::none:
      break;
  }
  return nullptr;
}

simulated_device::span simulated_device::start(const work_item& item, std::int64_t faults_from, std::int64_t ready,
                                               int priority) {
  const auto& c = config_.costs;
  const auto bring = [&](std::int64_t from) {
    for (const kernel_touch& t : item.managed) {
      from = migrate(t.address, t.bytes, true, t.written, from, c.fault_rate_to_device, c.fault_latency,
                     trace::migration_cause::page_fault);
    }
    return from;
  };
  simulated::timeline* const on = timeline_of(item.on, priority);
  std::int64_t duration = item.duration;
  if (item.faults_inside && !item.managed.empty()) {
    // Page faults occur while the kernel runs, and make it longer.
    const std::int64_t begin = simulated::timeline(*on).book(ready, duration);
    duration += bring(begin) - begin;
  } else if (!item.managed.empty()) {
    ready = std::max(ready, bring(faults_from));
  }
  const std::int64_t begin = on ? on->book(ready, duration) : ready;
  pending_.emplace(std::pair{begin + duration, next_sequence_++}, item.run);
  return {begin, begin + duration};
}

simulated_device::span simulated_device::enqueue(entry& e, stream_handle stream, stream_state& state,
                                                 const work_item& item) {
  // Only enqueuing threads decide which times are past, so a thread that only waits, even ahead of them, has no effect.
  if (auto* on = timeline_of(item.on, state.priority)) on->forget_before(static_cast<std::int64_t>(e.call.begin));
  const std::int64_t tail = tail_of(stream, state);
  const span when =
      start(item, std::max(e.end, tail), std::max(e.end + config_.costs.enqueue_latency, tail), state.priority);
  state.tail = when.end;
  if (item.pageable) e.end = std::max(e.end, when.end);
  return when;
}

device_result<void> simulated_device::enqueue(entry& e, stream_handle stream, device_result<work_item> item) {
  stream_state* s = find(stream);
  if (!s || !item) {
    leave(e);
    if (!s) return fail(status::invalid_value, e.call.name, "no such stream", native_invalid);
    return tl::unexpected(std::move(item.error()));
  }
  e.call.name = item->call;
  if (auto allowed = permitted_on(stream, *s, item->call); !allowed) {
    leave(e);
    return allowed;
  }
  if (s->capturing) return capture_item(e, stream, *s, std::move(*item));
  const span when = enqueue(e, stream, *s, *item);
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream), item->bytes, name_locked(item->source),
                name_locked(item->destination));
  if (item->log) item->log(e.call, when, key(stream), 0);
  if (item->faults_inside && when.end - when.begin != item->duration)
    log_.memory(static_cast<std::uint64_t>(when.end), memory_now());
  leave(e);
  return {};
}

// --- copies and sets ---------------------------------------------------------------------------------------

device_result<simulated_device::work_item> simulated_device::copy_item(void* to, const void* from,
                                                                       std::uint64_t bytes) {
  const memory_space from_space = space_locked(from), to_space = space_locked(to);
  const bool from_ok = !memory_.contains(from) || whole(from, bytes);
  const bool to_ok = !memory_.contains(to) || whole(to, bytes);
  if (!to || !from || !from_ok || !to_ok) {
    return fail(status::invalid_value, "cuMemcpyAsync", "source and destination must each be in one live block",
                native_invalid);
  }
  work_item item;
  item.call = "cuMemcpyAsync";
  switch (copy_direction(from_space, to_space)) {
    case trace::direction::h2d:
      item.call = "cuMemcpyHtoDAsync_v2";
      item.on = engine::to_device;
      break;
    case trace::direction::d2h:
      item.call = "cuMemcpyDtoHAsync_v2";
      item.on = engine::to_host;
      break;
    case trace::direction::d2d:
      item.call = "cuMemcpyDtoDAsync_v2";
      item.on = engine::within;
      break;
    default:
      break;
  }
  // Managed memory is moved to the device first.
  if (from_space == memory_space::managed) item.managed.push_back({from, bytes, false});
  if (to_space == memory_space::managed) item.managed.push_back({to, bytes, true});
  item.duration =
      config_.costs.copy_latency + simulated::cost_model::duration(bytes, copy_rate(to, from, to_space, from_space));
  item.pageable = from_space == memory_space::pageable || to_space == memory_space::pageable;
  item.source = from;
  item.destination = to;
  item.names = {from, to};
  item.bytes = bytes;
  item.run = [=, this] {
    if (alive(to, bytes) && alive(from, bytes)) std::memmove(to, from, bytes);
  };
  const driver_log::copy record{0,
                                0,
                                bytes,
                                0,
                                name_locked(from),
                                name_locked(to),
                                from_space,
                                to_space,
                                item.pageable ? 0u : ring::flag_asynchronous};
  item.log = [this, record](const driver_log::call& c, span when, std::uint64_t stream, std::uint64_t node) {
    driver_log::copy out = record;
    out.begin = static_cast<std::uint64_t>(when.begin);
    out.end = static_cast<std::uint64_t>(when.end);
    out.stream = stream;
    out.graph_node = node;
    log_.copied(c, out);
  };
  return item;
}

device_result<void> simulated_device::copy_async(void* to, const void* from, std::uint64_t bytes,
                                                 stream_handle stream) {
  if (bytes == 0) return {};
  entry e = enter("cuMemcpyAsync", config_.costs.copy_call);
  return enqueue(e, stream, copy_item(to, from, bytes));
}

device_result<void> simulated_device::copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) {
  if (!config_.features.batches_copies) {
    for (const copy_piece& piece : pieces) {
      if (auto done = copy_async(piece.to, piece.from, piece.bytes, stream); !done) return done;
    }
    return {};
  }
  entry e = enter("cuMemcpyBatchAsync_v2", config_.costs.copy_call);
  stream_state* s = find(stream);
  device_result<std::vector<work_item>> items;
  for (const copy_piece& piece : pieces) {
    if (piece.bytes == 0 || !items) continue;
    auto item = copy_item(piece.to, piece.from, piece.bytes);
    if (!item) items = tl::unexpected(std::move(item.error()));
    if (items) items->push_back(std::move(*item));
  }
  if (!s || !items || items->empty()) {
    leave(e);
    if (!s) return fail(status::invalid_value, e.call.name, "no such stream", native_invalid);
    if (!items) return tl::unexpected(std::move(items.error()));
    return {};
  }
  if (auto allowed = permitted_on(stream, *s, e.call.name); !allowed || s->capturing) {
    leave(e);
    if (!allowed) return allowed;
    for (const copy_piece& piece : pieces) {
      if (auto done = copy_async(piece.to, piece.from, piece.bytes, stream); !done) return done;
    }
    return {};
  }
  e.end += config_.costs.batched_copy * static_cast<std::int64_t>(items->size() - 1);
  for (work_item& item : *items) {
    // Consecutive copies keep an engine busy; only the first has the start latency.
    if (&item != &items->front()) item.duration -= config_.costs.copy_latency - config_.costs.batched_copy;
  }
  std::vector<span> times;
  for (const work_item& item : *items) times.push_back(enqueue(e, stream, *s, item));
  log_.api_call(e.call, static_cast<std::uint64_t>(e.end), key(stream));
  for (std::size_t i = 0; i < items->size(); ++i) (*items)[i].log(e.call, times[i], key(stream), 0);
  leave(e);
  return {};
}

device_result<simulated_device::work_item> simulated_device::set_item(void* address, std::uint8_t value,
                                                                      std::uint64_t bytes) {
  if (!memory_.contains(address) || !whole(address, bytes)) {
    return fail(status::invalid_value, "cuMemsetD8Async", "the range must be in one live block", native_invalid);
  }
  const memory_space space = space_locked(address);
  work_item item;
  item.call = "cuMemsetD8Async";
  item.on = engine::compute;
  if (space == memory_space::managed) item.managed.push_back({address, bytes, true});
  item.duration = config_.costs.kernel_latency + simulated::cost_model::duration(bytes, config_.costs.device_set);
  item.destination = address;
  item.names = {address};
  item.bytes = bytes;
  item.run = [=, this] {
    if (alive(address, bytes)) std::memset(address, value, bytes);
  };
  item.log = [=, this, name = name_locked(address)](const driver_log::call& c, span when, std::uint64_t stream,
                                                    std::uint64_t node) {
    log_.set(c, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), name, bytes, value, space,
             stream, ring::flag_asynchronous, node);
  };
  return item;
}

device_result<void> simulated_device::set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                                stream_handle stream) {
  if (bytes == 0) return {};
  entry e = enter("cuMemsetD8Async", config_.costs.set_call);
  return enqueue(e, stream, set_item(address, value, bytes));
}

// --- kernels and host functions ----------------------------------------------------------------------------

device_result<simulated_device::work_item> simulated_device::launch_item(const kernel_definition& kernel,
                                                                         const launch_config& shape,
                                                                         kernel_arguments arguments) {
  if (!kernel.run || !kernel.work) {
    return fail(status::invalid_value, "cuLaunchKernel", "the kernel has no host body", native_invalid);
  }
  const kernel_work work = kernel.work(shape, arguments);
  const auto& c = config_.costs;
  work_item item;
  std::int64_t link = 0;  // time to access pinned memory over the link
  for (std::size_t i = 0; i < work.touch_count; ++i) {
    const kernel_touch& t = work.touches[i];
    if (t.bytes == 0) continue;
    if (!reachable(t.address, t.bytes)) {
      return fail(status::failed, "cuLaunchKernel",
                  std::string(kernel.name) + ": illegal address: an argument reaches outside live device memory",
                  native_illegal_address);
    }
    const memory_space space = space_locked(t.address);
    item.names.push_back(t.address);
    if (space == memory_space::managed) item.managed.push_back(t);
    if (space == memory_space::pinned) {
      link += simulated::cost_model::duration(t.bytes, t.written ? c.pinned_d2h : c.pinned_h2d);
    }
  }
  item.call = "cuLaunchKernel";
  item.kernel = &kernel;
  item.on = engine::compute;
  item.faults_inside = true;
  item.duration =
      c.kernel_latency + std::max({simulated::cost_model::duration(work.bytes, c.device_memory),
                                   simulated::cost_model::duration(work.operations, c.device_operations), link});
  item.run = [this, &kernel, work, shape, args = std::move(arguments)] {
    for (std::size_t i = 0; i < work.touch_count; ++i) {
      if (!alive(work.touches[i].address, work.touches[i].bytes)) return;
    }
    kernel.run(shape, args);
  };
  item.log = [this, &kernel, shape](const driver_log::call& call, span when, std::uint64_t stream, std::uint64_t node) {
    log_.ran(call, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), kernel, shape, stream,
             0, node);
  };
  return item;
}

device_result<void> simulated_device::launch(const kernel_definition& kernel, const launch_config& shape,
                                             kernel_arguments arguments, stream_handle stream) {
  entry e = enter("cuLaunchKernel", config_.costs.launch_call);
  return enqueue(e, stream, launch_item(kernel, shape, std::move(arguments)));
}

device_result<void> simulated_device::launch_host(host_function function, void* data, stream_handle stream) {
  entry e = enter("cuLaunchHostFunc", config_.costs.launch_host_call);
  if (!function)
    return enqueue(e, stream, fail(status::invalid_value, "cuLaunchHostFunc", "no function", native_invalid));
  work_item item;
  item.call = "cuLaunchHostFunc";
  item.duration = config_.costs.host_function;
  // noexcept, because an exception on a driver thread cannot be caught either.
  item.run = [function, data]() noexcept { function(data); };
  return enqueue(e, stream, std::move(item));
}

}  // namespace sluice::backend
