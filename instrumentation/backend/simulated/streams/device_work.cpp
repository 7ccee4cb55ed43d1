#include "instrumentation/backend/simulated/streams/device_work.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "instrumentation/backend/simulated/state/numbers.hpp"

namespace sluice::backend::simulated {

double device_work::copy_rate(const void* destination, const void* source, memory_space destination_space,
                              memory_space source_space) const {
  if (on_host(source_space) && on_host(destination_space)) return calls_.costs().copy_memory;
  if (source_space == memory_space::pinned) return calls_.costs().pinned_h2d;
  if (destination_space == memory_space::pinned) return calls_.costs().pinned_d2h;
  if (source_space == memory_space::pageable)
    return host_.find_file_mapping(source) ? calls_.costs().file_mapping_h2d : calls_.costs().pageable_h2d;
  if (destination_space == memory_space::pageable)
    return host_.find_file_mapping(destination) ? calls_.costs().file_mapping_d2h : calls_.costs().pageable_d2h;
  return calls_.costs().device_copy;
}

// --- copies and sets ---------------------------------------------------------------------------------------

device_result<work_item> device_work::copy_item(void* destination, const void* source, std::uint64_t bytes) {
  const memory_space source_space = addresses_.space(source), destination_space = addresses_.space(destination);
  if (!destination || !source || !addresses_.valid(source, bytes) || !addresses_.valid(destination, bytes)) {
    return fail(status::invalid_value, "cuMemcpyAsync", "source and destination must each be in one live block",
                native_invalid);
  }
  work_item item;
  item.call = "cuMemcpyAsync";
  switch (copy_direction(source_space, destination_space)) {
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
  if (source_space == memory_space::managed) item.managed.push_back({source, bytes, false});
  if (destination_space == memory_space::managed) item.managed.push_back({destination, bytes, true});
  item.duration = calls_.costs().copy_latency +
                  cost_model::duration(bytes, copy_rate(destination, source, destination_space, source_space));
  item.pageable = source_space == memory_space::pageable || destination_space == memory_space::pageable;
  item.source = source;
  item.destination = destination;
  item.names = {source, destination};
  item.bytes = bytes;
  item.run = [=, this] {
    if (scheduler_.alive(destination, bytes) && scheduler_.alive(source, bytes))
      std::memmove(destination, source, bytes);
  };
  const driver_log::copy record{0,
                                0,
                                bytes,
                                0,
                                addresses_.name(source),
                                addresses_.name(destination),
                                source_space,
                                destination_space,
                                item.pageable ? 0u : ring::flag_asynchronous};
  item.log = [this, record](const driver_log::call& c, span when, std::uint64_t stream, std::uint64_t node) {
    driver_log::copy out = record;
    out.begin = static_cast<std::uint64_t>(when.begin);
    out.end = static_cast<std::uint64_t>(when.end);
    out.stream = stream;
    out.graph_node = node;
    calls_.log().copied(c, out);
  };
  return item;
}

device_result<void> device_work::copy_async(void* destination, const void* source, std::uint64_t bytes,
                                            stream_handle stream) {
  if (bytes == 0) return {};
  driver_call call = calls_.begin("cuMemcpyAsync", calls_.costs().copy_call);
  return scheduler_.enqueue(call, stream, copy_item(destination, source, bytes));
}

device_result<void> device_work::copy_one_by_one(std::span<const copy_piece> pieces, stream_handle stream) {
  for (const copy_piece& piece : pieces) {
    if (auto copied = copy_async(piece.to, piece.from, piece.bytes, stream); !copied) return copied;
  }
  return {};
}

device_result<void> device_work::copy_batch_async(std::span<const copy_piece> pieces, stream_handle stream) {
  if (!batches_copies_) return copy_one_by_one(pieces, stream);
  driver_call call = calls_.begin("cuMemcpyBatchAsync_v2", calls_.costs().copy_call);
  stream_state* s = streams_.find(stream);
  device_result<std::vector<work_item>> items;
  for (const copy_piece& piece : pieces) {
    if (piece.bytes == 0 || !items) continue;
    auto item = copy_item(piece.to, piece.from, piece.bytes);
    if (!item) items = tl::unexpected(std::move(item.error()));
    if (items) items->push_back(std::move(*item));
  }
  if (!s || !items || items->empty()) {
    calls_.finish(call);
    if (!s) return fail(status::invalid_value, call.name, "no such stream", native_invalid);
    if (!items) return tl::unexpected(std::move(items.error()));
    return {};
  }
  if (auto allowed = captures_.permitted_on(stream, *s, call.name); !allowed || s->capturing) {
    calls_.finish(call);
    return allowed ? copy_one_by_one(pieces, stream) : allowed;
  }
  call.end += calls_.costs().batched_copy * static_cast<std::int64_t>(items->size() - 1);
  for (work_item& item : *items) {
    // Consecutive copies keep an engine busy; only the first has the start latency.
    if (&item != &items->front()) item.duration -= calls_.costs().copy_latency - calls_.costs().batched_copy;
  }
  std::vector<span> times;
  for (const work_item& item : *items) times.push_back(scheduler_.enqueue(call, stream, *s, item));
  calls_.log().api_call(call, call.recorded_end(), streams_.key(stream));
  for (std::size_t i = 0; i < items->size(); ++i) (*items)[i].log(call, times[i], streams_.key(stream), 0);
  calls_.finish(call);
  return {};
}

device_result<work_item> device_work::set_item(void* address, std::uint8_t value, std::uint64_t bytes) {
  if (!memory_.whole(address, bytes)) {
    return fail(status::invalid_value, "cuMemsetD8Async", "the range must be in one live block", native_invalid);
  }
  const memory_space space = addresses_.space(address);
  work_item item;
  item.call = "cuMemsetD8Async";
  item.on = engine::compute;
  if (space == memory_space::managed) item.managed.push_back({address, bytes, true});
  item.duration = calls_.costs().kernel_latency + cost_model::duration(bytes, calls_.costs().device_set);
  item.destination = address;
  item.names = {address};
  item.bytes = bytes;
  item.run = [=, this] {
    if (scheduler_.alive(address, bytes)) std::memset(address, value, bytes);
  };
  item.log = [=, this, name = addresses_.name(address)](const driver_log::call& c, span when, std::uint64_t stream,
                                                        std::uint64_t node) {
    calls_.log().set(c, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), name, bytes,
                     value, space, stream, ring::flag_asynchronous, node);
  };
  return item;
}

device_result<void> device_work::set_async(void* address, std::uint8_t value, std::uint64_t bytes,
                                           stream_handle stream) {
  if (bytes == 0) return {};
  driver_call call = calls_.begin("cuMemsetD8Async", calls_.costs().set_call);
  return scheduler_.enqueue(call, stream, set_item(address, value, bytes));
}

// --- kernels and host functions ----------------------------------------------------------------------------

device_result<work_item> device_work::launch_item(const kernel_definition& kernel, const launch_config& shape,
                                                  kernel_arguments arguments) {
  if (!kernel.run || !kernel.work) {
    return fail(status::invalid_value, "cuLaunchKernel", "the kernel has no host body", native_invalid);
  }
  const kernel_work work = kernel.work(shape, arguments);
  work_item item;
  std::int64_t link = 0;  // time to access pinned memory over the link
  for (std::size_t i = 0; i < work.touch_count; ++i) {
    const kernel_touch& t = work.touches[i];
    if (t.bytes == 0) continue;
    if (!addresses_.reachable(t.address, t.bytes)) {
      return fail(status::failed, "cuLaunchKernel",
                  std::string(kernel.name) + ": illegal address: an argument reaches outside live device memory",
                  native_illegal_address);
    }
    const memory_space space = addresses_.space(t.address);
    item.names.push_back(t.address);
    if (space == memory_space::managed) item.managed.push_back(t);
    if (space == memory_space::pinned) {
      link += cost_model::duration(t.bytes, t.written ? calls_.costs().pinned_d2h : calls_.costs().pinned_h2d);
    }
  }
  item.call = "cuLaunchKernel";
  item.kernel = &kernel;
  item.on = engine::compute;
  item.faults_inside = true;
  item.duration = calls_.costs().kernel_latency +
                  std::max({cost_model::duration(work.bytes, calls_.costs().device_memory),
                            cost_model::duration(work.operations, calls_.costs().device_operations), link});
  item.run = [this, &kernel, work, shape, args = std::move(arguments)] {
    for (std::size_t i = 0; i < work.touch_count; ++i) {
      if (!scheduler_.alive(work.touches[i].address, work.touches[i].bytes)) return;
    }
    kernel.run(shape, args);
  };
  item.log = [this, &kernel, shape](const driver_log::call& call, span when, std::uint64_t stream, std::uint64_t node) {
    calls_.log().ran(call, static_cast<std::uint64_t>(when.begin), static_cast<std::uint64_t>(when.end), kernel, shape,
                     stream, 0, node);
  };
  return item;
}

device_result<void> device_work::launch(const kernel_definition& kernel, const launch_config& shape,
                                        kernel_arguments arguments, stream_handle stream) {
  driver_call call = calls_.begin("cuLaunchKernel", calls_.costs().launch_call);
  return scheduler_.enqueue(call, stream, launch_item(kernel, shape, std::move(arguments)));
}

device_result<void> device_work::launch_host(host_function function, void* data, stream_handle stream) {
  driver_call call = calls_.begin("cuLaunchHostFunc", calls_.costs().launch_host_call);
  if (!function)
    return scheduler_.enqueue(call, stream,
                              fail(status::invalid_value, "cuLaunchHostFunc", "no function", native_invalid));
  work_item item;
  item.call = "cuLaunchHostFunc";
  item.duration = calls_.costs().host_function;
  // noexcept, because an exception on a driver thread cannot be caught either.
  item.run = [function, data]() noexcept { function(data); };
  return scheduler_.enqueue(call, stream, std::move(item));
}

}  // namespace sluice::backend::simulated
