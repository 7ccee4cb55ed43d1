#include "instrumentation/runtime/pool/pool_records.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/ring/producer_emit.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"
#include "instrumentation/runtime/tags.hpp"

namespace sluice::runtime::pooling {

void pool_records::define() const noexcept { layer_log::define_pool(device_, key_, space_, name_); }

namespace {

/// True if the pool_stream belongs to `stream` and the current recording knows it.
SLUICE_INLINE bool is_announced(const pool_stream& l, std::uint64_t stream) noexcept {
  return l.names.generation == layer_log::generation() && l.is_of(stream);
}

}  // namespace

pool_stream_names pool_records::names(const stream_ref& stream) const noexcept {
  const std::uint64_t on = stream.identity();
  pool_stream* own = fronts_.own_pool_stream(on);
  const bool remembered = own != nullptr && own->is_of(on);
  if (remembered && is_announced(*own, on)) return own->names;
  pool_stream_names spare;
  pool_stream_names& found = remembered ? own->names : spare;
  find_names(stream, remembered, found);
  return found;
}

SLUICE_RARE void pool_records::find_names(const stream_ref& stream, bool introduce,
                                          pool_stream_names& found) const noexcept {
  const std::uint32_t generation = layer_log::generation();
  found.stream = stream.device().backend().trace_stream(stream.handle());
  found.pool = ring::intern(name_.data(), name_.size());
  found.pool_stream = 0;
  // If the stream has no name yet, ask again next time.
  if (!introduce || found.stream == 0) return;
  ring::pool_stream_record pool_stream{};
  pool_stream.header.time = layer_log::now();
  pool_stream.pool = key_;
  pool_stream.stream = found.stream;
  pool_stream.name = found.pool;
  pool_stream.device = ordinal_;
  pool_stream.context = static_cast<std::uint32_t>(found.stream >> 32);
  pool_stream.layer = static_cast<std::uint8_t>(trace::layer::pool);
  pool_stream.kind = static_cast<std::uint8_t>(backend::trace_kind(space_));
  found.pool_stream = ring::introduce_pool_stream(pool_stream);
  found.generation = found.pool_stream != 0 ? generation : 0;
}

/// For hits, whose pool_stream belongs to `stream`. Contains only the usual case, so it saves no registers.
SLUICE_HOT void* pool_records::note_taken_from_front(const pool_stream& own, const stream_ref& stream,
                                                     block& b) const noexcept {
  const bool usual =
      own.names.generation == layer_log::generation() && b.parent == 0 && !scoped_tag::any() && layer_log::by_counter();
  if (usual) [[likely]] {
    b.recorded = own.names.generation;
    ring::emit_pool_stream_alloc(ring::read_tsc(), own.names.pool_stream, b.trace_address, b.requested, b.bytes);
  } else {
    note_taken_in_full(own, stream, b);
  }
  return b.pointer();
}

[[gnu::noinline]] void pool_records::note_taken_in_full(const pool_stream& own, const stream_ref& stream,
                                                        block& b) const noexcept {
  if (own.names.generation != layer_log::generation()) return note_allocated(stream, b, 0);
  const std::uint64_t tag = scoped_tag::current_key();
  b.recorded = own.names.generation;
  const std::uint64_t now = layer_log::now();
  if ((tag | b.parent) == 0) {
    ring::emit_pool_stream_alloc(now, own.names.pool_stream, b.trace_address, b.requested, b.bytes);
  } else {
    ring::emit_pool_stream_alloc(now, own.names.pool_stream, b.trace_address, b.requested, b.bytes, tag, b.parent);
  }
}

void pool_records::note_allocated(const stream_ref& stream, block& b, std::uint64_t begin) const noexcept {
  const pool_stream_names keys = names(stream);
  const std::uint64_t tag = scoped_tag::current_key();
  ring::alloc_record r{};
  r.header.time = layer_log::now();
  r.address = b.trace_address;
  r.bytes = b.requested;
  r.reserved_bytes = b.bytes;
  r.call_begin = begin != 0 ? begin : r.header.time;
  r.pool = key_;
  r.stream = keys.stream;
  r.name = tag != 0 ? tag : keys.pool;
  r.parent = b.parent;
  r.device = ordinal_;
  r.context = static_cast<std::uint32_t>(keys.stream >> 32);
  r.layer = static_cast<std::uint8_t>(trace::layer::pool);
  r.kind = static_cast<std::uint8_t>(backend::trace_kind(space_));
  b.recorded = layer_log::generation();
  ring::emit(r);
}

SLUICE_HOT void pool_records::note_freed(const pool_stream& own, std::uint64_t on, const stream_ref& stream,
                                         const block& b, std::uint64_t now) const noexcept {
  if (!is_announced(own, on)) [[unlikely]]
    return note_freed_in_full(stream, b, now);
  ring::emit_pool_stream_free(now, own.names.pool_stream, b.trace_address);
}

SLUICE_RARE void pool_records::note_freed_in_full(const stream_ref& stream, const block& b,
                                                  std::uint64_t now) const noexcept {
  ring::free_record r{};
  r.header.time = now;
  r.address = b.trace_address;
  r.stream = names(stream).stream;
  r.layer = static_cast<std::uint8_t>(trace::layer::pool);
  r.kind = static_cast<std::uint8_t>(backend::trace_kind(space_));
  ring::emit(r);
}

void pool_records::note_failed(const stream_ref& stream, std::uint64_t bytes) const noexcept {
  layer_log::block record{trace::layer::pool, space_, 0, bytes};
  record.pool = key_;
  record.name = name_;
  layer_log::failed(stream, record, static_cast<int>(status::out_of_memory));
}

void pool_records::record_state(trace::pool_operation operation) noexcept {
  if (!layer_log::on()) return;
  recorded_used_ = fronts_.used_about();
  layer_log::pool_state(key_, heap_.reserved(), recorded_used_, operation);
}

void pool_records::record_state_if_changed() noexcept {
  if (!layer_log::on()) return;
  const std::uint64_t used = fronts_.used_about();
  const std::uint64_t change = used > recorded_used_ ? used - recorded_used_ : recorded_used_ - used;
  if (change * 64 >= heap_.reserved()) record_state(trace::pool_operation::sample);
}

void pool_records::announce() noexcept {
  const claim claimed(fronts_.fronts());
  define();
  heap_.for_each([&](block& b) {
    // Other threads may already have recorded blocks.
    const bool known = b.recorded != 0 && b.recorded + 1 >= layer_log::generation();
    if (!b.is_callers() || known) return;
    layer_log::block record{trace::layer::pool, space_, b.trace_address, b.requested, b.bytes};
    record.parent = b.parent;
    record.pool = key_;
    record.name = name_;
    record.born_before = true;
    layer_log::allocated(stream_ref(device_), record);
    b.recorded = layer_log::generation();
  });
  record_state(trace::pool_operation::sample);
}

std::optional<pool_live_set> pool_records::live_set(const look_limit& limit) const {
  pool_live_set set{.pool = key_, .time = layer_log::latest(), .words = {}};
  // Allocate before the claim, so that threads do not wait for this. The heap's count cannot change meanwhile.
  set.words.reserve(3 * heap_.taken_blocks());
  const std::uint64_t properties = static_cast<std::uint64_t>(trace::layer::pool) |
                                   static_cast<std::uint64_t>(backend::trace_kind(space_)) << 8 |
                                   std::uint64_t{ordinal_} << 16;
  const claim claimed(fronts_.fronts(), limit);
  if (!claimed.held()) return std::nullopt;
  heap_.for_each([&](const block& b) {
    if (!b.is_callers()) return;
    set.words.insert(set.words.end(), {b.trace_address, b.requested, properties});
  });
  return set;
}

void pool_records::refuse_free(const void* address) noexcept {
  refused_frees_.fetch_add(1, std::memory_order_relaxed);
  if (!layer_log::on()) return;
  constexpr std::size_t line_bytes = 256;
  char line[line_bytes];
  const auto end = fmt::format_to_n(line, sizeof line - 1,
                                    "pool '{}': ignored a free of {}, which is not an allocated block of this pool",
                                    name_, fmt::ptr(address));
  *end.out = '\0';
  ring::message(static_cast<unsigned>(trace::severity::warning), line);
}

void pool_records::note_withheld(std::uint64_t bytes) const noexcept {
  if (!layer_log::on()) return;
  constexpr std::size_t line_bytes = 256;
  char line[line_bytes];
  const auto end = fmt::format_to_n(
      line, sizeof line - 1, "pool '{}': {} free bytes are withheld because the pool could not wait for their stream",
      name_, bytes);
  *end.out = '\0';
  ring::message(static_cast<unsigned>(trace::severity::warning), line);
}

}  // namespace sluice::runtime::pooling
