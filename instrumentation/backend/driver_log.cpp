#include "instrumentation/backend/driver_log.hpp"

#include <cstring>

#include "instrumentation/backend/own_stacks.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::backend {

namespace {

std::uint64_t half_of_uuid(const std::array<std::uint8_t, 16>& uuid, std::size_t begin) {
  std::uint64_t value = 0;
  for (std::size_t i = begin; i < begin + 8; ++i) value = (value << 8) | uuid[i];
  return value;
}

/// A block's layer. Blocks of the driver's stream-ordered pools are in the pool layer, as in the capture library.
std::uint8_t get_level(std::uint64_t pool) {
  return static_cast<std::uint8_t>(pool != 0 ? trace::layer::pool : trace::layer::driver);
}

}  // namespace

trace::memory_kind trace_kind(memory_space space) noexcept {
  switch (space) {
    case memory_space::pageable:
      return trace::memory_kind::host;
    case memory_space::pinned:
      return trace::memory_kind::pinned;
    case memory_space::device:
      return trace::memory_kind::device;
    case memory_space::managed:
      return trace::memory_kind::managed;
  }
  return trace::memory_kind::unknown;
}

trace::direction copy_direction(memory_space space, memory_space to) noexcept {
  if (on_host(space)) return on_host(to) ? trace::direction::h2h : trace::direction::h2d;
  return on_host(to) ? trace::direction::d2h : trace::direction::d2d;
}

bool driver_log::on() noexcept { return ring::active(); }

void driver_log::define_device(std::uint64_t now, const device_description& d) const {
  if (!on()) return;
  auto r = ring::record_at<ring::device_record>(now);
  r.device = device_;
  r.kind = static_cast<std::uint32_t>(d.kind == backend_kind::cuda ? trace::device_kind::cuda
                                                                   : trace::device_kind::simulated);
  r.uuid_high = half_of_uuid(d.uuid, 0);
  r.uuid_low = half_of_uuid(d.uuid, 8);
  r.name = ring::intern(d.name.c_str());
  r.memory_bytes = d.memory_bytes;
  r.link_peak = static_cast<std::uint64_t>(d.link_peak);
  r.link_generation = d.link_generation;
  r.link_width = d.link_width;
  r.compute_major = d.compute_major;
  r.compute_minor = d.compute_minor;
  r.attainable_h2d = static_cast<std::uint64_t>(d.attainable_h2d);
  r.attainable_d2h = static_cast<std::uint64_t>(d.attainable_d2h);
  ring::emit(r);
  auto c = ring::record_at<ring::context_record>(now);
  c.context = context_key();
  c.device = device_;
  ring::emit(c);
}

void driver_log::define_stream(std::uint64_t now, std::uint32_t stream, std::uint64_t handle, int priority,
                               bool is_default) const {
  if (!on()) return;
  auto r = ring::record_at<ring::stream_record>(now, is_default ? ring::flag_default_stream : 0u);
  r.stream = stream_key(stream);
  r.handle = handle;
  r.priority = priority;
  ring::emit(r);
}

void driver_log::define_pool(std::uint64_t now, std::uint64_t pool, const char* name) const {
  if (!on()) return;
  auto r = ring::record_at<ring::pool_record>(now);
  r.pool = pool;
  r.device = device_;
  r.layer = static_cast<std::uint8_t>(trace::layer::driver);
  r.kind = static_cast<std::uint8_t>(trace::memory_kind::device);
  r.name = ring::intern(name);
  ring::emit(r);
}

void driver_log::api_call(const call& c, std::uint64_t end, std::uint64_t stream, std::uint64_t bytes,
                          std::uint64_t source, std::uint64_t destination, std::int64_t status) const {
  if (!on()) return;
  auto r = ring::record_at<ring::api_call_record>(c.begin);
  r.end = end;
  r.name = ring::intern(c.name);
  r.source = source;
  r.destination = destination;
  r.bytes = bytes;
  r.stream = stream;
  r.status = status;
  r.correlation = c.correlation;
  r.context = context_key();
  r.stack = find_own_stack();
  ring::emit(r);
}

void driver_log::allocated(const call& c, std::uint64_t now, const alloc& subject) const {
  if (!on()) return;
  auto r = ring::record_at<ring::alloc_record>(now, subject.flags);
  r.address = subject.address;
  r.bytes = subject.bytes;
  r.reserved_bytes = subject.bytes;
  r.call_begin = c.begin;
  r.pool = subject.pool;
  r.stream = subject.stream;
  r.name = ring::intern(c.name);
  r.owner = subject.owner;
  r.device = device_;
  r.context = context_key();
  r.correlation = c.correlation;
  r.layer = get_level(subject.pool);
  r.kind = static_cast<std::uint8_t>(subject.kind);
  r.stack = find_own_stack();
  ring::emit(r);
}

void driver_log::freed(const call& c, const alloc& subject) const {
  if (!on()) return;
  auto r = ring::record_at<ring::free_record>(c.begin, subject.flags);
  r.address = subject.address;
  r.stream = subject.stream;
  r.correlation = c.correlation;
  r.layer = get_level(subject.pool);
  r.kind = static_cast<std::uint8_t>(subject.kind);
  if (subject.kind == trace::memory_kind::mapping) r.bytes = subject.bytes;  // all mappings in the range end
  ring::emit(r);
}

void driver_log::free_completed(const call& c, std::uint64_t now, std::uint64_t address, std::uint64_t pool) const {
  if (!on()) return;
  auto r = ring::record_at<ring::free_completed_record>(now);
  r.address = address;
  r.correlation = c.correlation;
  r.layer = get_level(pool);
  ring::emit(r);
}

void driver_log::failed(const call& c, std::uint64_t now, const alloc& subject, std::int64_t status) const {
  if (!on()) return;
  auto r = ring::record_at<ring::alloc_failed_record>(now);
  r.bytes = subject.bytes;
  r.pool = subject.pool;
  r.stream = subject.stream;
  r.name = ring::intern(c.name);
  r.status = status;
  r.device = device_;
  r.layer = get_level(subject.pool);
  r.kind = static_cast<std::uint8_t>(subject.kind);
  ring::emit(r);
}

void driver_log::pool_state(std::uint64_t now, std::uint64_t pool, std::uint64_t reserved, std::uint64_t used,
                            trace::pool_operation operation, std::uint64_t threshold) const {
  if (!on()) return;
  const bool sampled = operation == trace::pool_operation::sample;
  auto r = ring::record_at<ring::pool_state_record>(now, sampled ? ring::flag_sampled : 0u);
  r.pool = pool;
  r.reserved_bytes = reserved;
  r.used_bytes = used;
  r.operation = static_cast<std::uint64_t>(operation);
  r.threshold = threshold;
  ring::emit(r);
}

void driver_log::shared(std::uint64_t now, std::uint64_t address, std::uint64_t key, bool imported) const {
  if (!on()) return;
  auto r = ring::record_at<ring::share_record>(now);
  r.key = key;
  r.object = address;
  r.kind = static_cast<std::uint32_t>(ring::shared_thing::block);
  r.imported = imported ? 1 : 0;
  ring::emit(r);
}

void driver_log::memory(std::uint64_t now, const memory_info& info) const {
  if (!on()) return;
  auto r = ring::record_at<ring::device_memory_record>(now, ring::flag_sampled);
  r.free_bytes = info.free_bytes;
  r.total_bytes = info.total_bytes;
  r.device = device_;
  ring::emit(r);
}

void driver_log::copied(const call& c, const copy& subject) const {
  if (!on()) return;
  auto r = ring::record_at<ring::copy_record>(subject.begin, subject.flags);
  r.end = subject.end;
  r.bytes = subject.bytes;
  r.stream = subject.stream;
  r.source = subject.source;
  r.destination = subject.destination;
  r.graph_node = subject.graph_node;
  r.device = device_;
  r.peer = ring::no_device;
  r.correlation = c.correlation;
  r.direction = static_cast<std::uint8_t>(copy_direction(subject.from, subject.to));
  r.source_kind = static_cast<std::uint8_t>(trace_kind(subject.from));
  r.destination_kind = static_cast<std::uint8_t>(trace_kind(subject.to));
  ring::emit(r);
}

void driver_log::set(const call& c, std::uint64_t begin, std::uint64_t end, std::uint64_t address, std::uint64_t bytes,
                     std::uint8_t value, memory_space where, std::uint64_t stream, std::uint32_t flags,
                     std::uint64_t graph_node) const {
  if (!on()) return;
  auto r = ring::record_at<ring::memset_record>(begin, flags);
  r.end = end;
  r.bytes = bytes;
  r.stream = stream;
  r.address = address;
  r.graph_node = graph_node;
  r.value = value;
  r.device = device_;
  r.correlation = c.correlation;
  r.kind = static_cast<std::uint8_t>(trace_kind(where));
  ring::emit(r);
}

void driver_log::ran(const call& c, std::uint64_t begin, std::uint64_t end, const kernel_definition& kernel,
                     const launch_config& shape, std::uint64_t stream, std::uint32_t flags,
                     std::uint64_t graph_node) const {
  if (!on()) return;
  auto r = ring::record_at<ring::kernel_record>(begin, flags);
  r.end = end;
  r.name = ring::intern(kernel.name.data(), kernel.name.size());
  r.stream = stream;
  r.graph_node = graph_node;
  r.device = device_;
  r.correlation = c.correlation;
  for (std::size_t i = 0; i < 3; ++i) {
    r.grid[i] = shape.grid[i];
    r.block[i] = shape.block[i];
  }
  r.dynamic_shared = shape.shared_bytes;
  ring::emit(r);
}

void driver_log::migrated(std::uint64_t begin, std::uint64_t end, std::uint64_t address, std::uint64_t bytes,
                          trace::direction direction, trace::migration_cause cause) const {
  if (!on()) return;
  auto r = ring::record_at<ring::migration_record>(begin);
  r.end = end;
  r.bytes = bytes;
  r.address = address;
  r.device = device_;
  r.direction = static_cast<std::uint8_t>(direction);
  r.cause = static_cast<std::uint8_t>(cause);
  ring::emit(r);
}

void driver_log::synced(std::uint64_t begin, std::uint64_t end, std::uint64_t stream, trace::sync_kind kind) const {
  if (!on()) return;
  auto r = ring::record_at<ring::sync_record>(begin);
  r.end = end;
  r.stream = stream;
  r.kind = static_cast<std::uint64_t>(kind);
  r.stack = find_own_stack();
  ring::emit(r);
}

void driver_log::event_recorded(std::uint64_t now, std::uint64_t event, std::uint64_t stream) const {
  if (!on()) return;
  auto r = ring::record_at<ring::event_edge_record>(now);
  r.event = event;
  r.stream = stream;
  ring::emit_bytes(&r.header, ring::record_type::event_record, sizeof(r));
}

void driver_log::event_waited(std::uint64_t now, std::uint64_t event, std::uint64_t stream) const {
  if (!on()) return;
  auto r = ring::record_at<ring::event_edge_record>(now);
  r.event = event;
  r.stream = stream;
  ring::emit_bytes(&r.header, ring::record_type::event_wait, sizeof(r));
}

void driver_log::watermark(std::uint64_t now) const {
  if (on()) ring::emit(ring::record_at<ring::watermark_record>(now));
}

}  // namespace sluice::backend
