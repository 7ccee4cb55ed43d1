#include "instrumentation/runtime/state/layer_log.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/backend/own_stacks.hpp"
#include "instrumentation/backend/simulated/clock.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/tags.hpp"

namespace sluice::runtime::layer_log {

namespace {

std::uint64_t intern(std::string_view text) noexcept { return ring::intern(text.data(), text.size()); }

/// Interns a block's name, prefixed with the names of the current tag scopes.
std::uint64_t intern_in_scope(const block& b) noexcept {
  const std::string_view scope = scoped_tag::current();
  if (scope.empty() || b.born_before) return intern(b.name);
  if (b.layer != trace::layer::user || b.name.empty()) return scoped_tag::current_key();
  constexpr std::size_t longest = 512;
  char text[longest];
  const auto end = fmt::format_to_n(text, sizeof text, "{}/{}", scope, b.name);
  return intern({text, std::min(end.size, sizeof text)});
}

std::uint8_t byte(trace::layer layer) noexcept { return static_cast<std::uint8_t>(layer); }
std::uint8_t byte(memory_space space) noexcept { return static_cast<std::uint8_t>(backend::trace_kind(space)); }

}  // namespace

std::uint64_t now_otherwise() noexcept {
  const backend::simulated_clock* clock = recording_clock.load(std::memory_order_acquire);
  return clock == nullptr ? ring::now() : static_cast<std::uint64_t>(clock->now());
}

std::uint64_t simulated_latest(const backend::simulated_clock& clock) noexcept {
  return static_cast<std::uint64_t>(clock.latest());
}

void recording_comes() noexcept { recordings.fetch_add(1, std::memory_order_relaxed); }
void recording_is_here() noexcept { recordings.fetch_add(1, std::memory_order_relaxed); }

void use_clock(backend::simulated_clock* clock) noexcept { recording_clock.store(clock, std::memory_order_release); }

void allocated(const stream_ref& stream, const block& b) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::alloc_record>(now());
  r.address = b.address;
  r.bytes = b.bytes;
  r.reserved_bytes = b.reserved;
  r.call_begin = b.begin;
  r.pool = b.pool;
  r.stream = stream.device().backend().trace_stream(stream.handle());
  r.name = intern_in_scope(b);
  r.parent = b.parent;
  r.device = stream.device().description().ordinal;
  r.context = static_cast<std::uint32_t>(r.stream >> 32);
  r.layer = byte(b.layer);
  r.kind = byte(b.space);
  r.stack = backend::find_own_stack();
  if (b.born_before) r.header.flags |= ring::flag_born_before;
  ring::emit(r);
}

void freed(const stream_ref& stream, const block& b) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::free_record>(b.begin);
  r.address = b.address;
  r.stream = stream.device().backend().trace_stream(stream.handle());
  r.layer = byte(b.layer);
  r.kind = byte(b.space);
  ring::emit(r);
}

void failed(const stream_ref& stream, const block& b, int status) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::alloc_failed_record>(now());
  r.bytes = b.bytes;
  r.pool = b.pool;
  r.stream = stream.device().backend().trace_stream(stream.handle());
  r.name = intern_in_scope(b);
  r.status = status;
  r.device = stream.device().description().ordinal;
  r.layer = byte(b.layer);
  r.kind = byte(b.space);
  ring::emit(r);
}

namespace {

/// A hash of the name of the file that contains this copy of the runtime.
std::uint64_t number_of_copy() noexcept {
  static constexpr char here = 0;
  Dl_info file{};
  if (dladdr(&here, &file) == 0 || file.dli_fname == nullptr) return 0;
  const std::string_view path = file.dli_fname;
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char c : path.substr(path.rfind('/') + 1)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash >> 40;
}

}  // namespace

/// Layout: | 0x7274 | copy 24 | number 24 |. Never equals an address or a key of a driver pool.
std::uint64_t next_pool_key() noexcept {
  static const std::uint64_t copy = (std::uint64_t{0x7274} << 48) | (number_of_copy() << 24);
  static std::atomic<std::uint64_t> last{0};
  return copy | ((last.fetch_add(1, std::memory_order_relaxed) + 1) & 0xff'ffffU);
}

void define_pool(const device_ref& device, std::uint64_t pool, memory_space space, std::string_view name) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::pool_record>(now());
  r.pool = pool;
  r.device = device.description().ordinal;
  r.layer = byte(trace::layer::pool);
  r.kind = byte(space);
  r.name = intern(name);
  ring::emit(r);
}

void pool_state(std::uint64_t pool, std::uint64_t reserved, std::uint64_t used,
                trace::pool_operation operation) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::pool_state_record>(now());
  r.pool = pool;
  r.reserved_bytes = reserved;
  r.used_bytes = used;
  r.operation = static_cast<std::uint64_t>(operation);
  ring::emit(r);
}

void file_io(trace::file_operation operation, std::string_view file, std::uint64_t offset, std::uint64_t bytes,
             std::uint64_t begin) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::file_io_record>(begin);
  r.end = now();
  r.file = intern(file);
  r.offset = offset;
  r.bytes = bytes;
  r.operation = static_cast<std::uint64_t>(operation);
  ring::emit(r);
}

void range(std::string_view name, std::uint64_t begin) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::range_record>(begin);
  r.end = now();
  r.name = intern(name);
  ring::emit(r);
}

void marker(std::string_view name, std::int64_t step) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::marker_record>(now());
  r.name = intern(name);
  r.step = step;
  ring::emit(r);
}

void define_counter(std::uint64_t counter, std::string_view name, trace::counter_unit unit) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::counter_record>(now());
  r.counter = counter;
  r.name = intern(name);
  r.unit = static_cast<std::uint32_t>(unit);
  r.device = ring::no_device;
  ring::emit(r);
}

void counter(std::uint64_t counter, double value) noexcept {
  if (!on()) return;
  auto r = ring::record_at<ring::counter_value_record>(now());
  r.counter = counter;
  r.value = value;
  ring::emit(r);
}

}  // namespace sluice::runtime::layer_log
