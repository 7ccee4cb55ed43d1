#include <fmt/format.h>

#include <cstddef>
#include <cstring>

#include "instrumentation/backend/driver_log.hpp"
#include "instrumentation/collector/producer.hpp"
#include "instrumentation/runtime/layer_log.hpp"
#include "instrumentation/runtime/pool_core.hpp"
#include "instrumentation/runtime/tags.hpp"

// What a pool says in recordings. An operation's record carries keys that are made once a recording and lane. Bytes in use
// follow from the blocks: the pool's state is told when it grows or shrinks, and now and then.

namespace sluice::runtime::pooling {

namespace {

/// Small fields side by side, as one word: a record is copied word by word at once, and a load that spans several stores waits
/// for them.
void fill(void* first, std::uint64_t word) noexcept { std::memcpy(first, &word, sizeof word); }

using collector::alloc_record;
using collector::free_record;
static_assert(offsetof(alloc_record, context) == offsetof(alloc_record, device) + 4 &&
              offsetof(alloc_record, device) % 8 == 0);
static_assert(offsetof(alloc_record, level) == offsetof(alloc_record, correlation) + 4 &&
              offsetof(alloc_record, kind) == offsetof(alloc_record, correlation) + 5 &&
              offsetof(alloc_record, correlation) % 8 == 0);
static_assert(offsetof(free_record, level) == offsetof(free_record, correlation) + 4 &&
              offsetof(free_record, kind) == offsetof(free_record, correlation) + 5 &&
              offsetof(free_record, correlation) % 8 == 0);

}  // namespace

void pool_core::define() noexcept { layer_log::define_pool(device_, trace_key_, space_, options_.name); }

pool_core::trace_names pool_core::names(const stream_ref& stream) const noexcept {
  const std::uint32_t generation = layer_log::generation();
  const lane_entry& here = lane_here(this, stream.get());
  const bool remembered = here.core == this && here.place->is_of(stream.get());
  if (remembered && here.place->generation == generation) [[likely]]
    return {here.place->trace_stream, here.place->pool_name};
  const trace_names fresh{device_.backend().trace_stream(stream.handle()),
                          collector::intern(options_.name.data(), options_.name.size())};
  if (remembered) {
    here.place->trace_stream = fresh.stream;
    here.place->pool_name = fresh.pool;
    here.place->generation = generation;
  }
  return fresh;
}

void pool_core::note_allocated(const stream_ref& stream, block& b, std::uint64_t begin) noexcept {
  const trace_names keys = names(stream);
  const std::uint64_t tag = scoped_tag::current_key();
  collector::alloc_record r{};
  r.header.time = layer_log::now();
  r.address = b.trace_address;
  r.bytes = b.requested;
  r.reserved_bytes = b.bytes;
  r.call_begin = begin != 0 ? begin : r.header.time;
  r.pool = trace_key_;
  r.stream = keys.stream;
  r.name = tag != 0 ? tag : keys.pool;
  r.parent = b.parent;
  fill(&r.device, std::uint64_t{ordinal_} | (keys.stream >> 32 << 32));  // and the context
  fill(&r.correlation, level_and_kind_);
  b.recorded = layer_log::generation();
  collector::emit_bytes(&r.header, collector::record_type::alloc, sizeof r);
}

void pool_core::note_freed(const stream_ref& stream, const block& b) noexcept {
  collector::free_record r{};
  r.header.time = layer_log::now();
  r.address = b.trace_address;
  r.stream = names(stream).stream;
  fill(&r.correlation, level_and_kind_);
  collector::emit_bytes(&r.header, collector::record_type::free, sizeof r);
}

void pool_core::note_failed(const stream_ref& stream, std::uint64_t bytes) noexcept {
  layer_log::block record{trace::layer::pool, space_, 0, bytes};
  record.pool = trace_key_;
  record.name = options_.name;
  layer_log::failed(stream, record, static_cast<int>(status::out_of_memory));
}

void pool_core::state(trace::pool_operation operation) const noexcept {
  if (!layer_log::on()) return;
  told_used_ = used_about();
  layer_log::pool_state(trace_key_, heap_.reserved(), told_used_, operation);
}

/// After a miss, when what is used has changed by a 64th of the pool since it was last told.
void pool_core::sample() const noexcept {
  if (!layer_log::on()) return;
  const std::uint64_t used = used_about();
  const std::uint64_t change = used > told_used_ ? used - told_used_ : told_used_ - used;
  if (change * 64 >= heap_.reserved()) state(trace::pool_operation::sample);
}

void pool_core::announce() noexcept {
  const std::lock_guard lock(mutex_);
  const claim all(fronts_);
  define();
  heap_.for_each([&](block& b) {
    // Other threads may have been recorded for a moment already.
    const bool known = b.recorded != 0 && b.recorded + 1 >= layer_log::generation();
    if (b.state.load(std::memory_order_relaxed) != block_state::used || known) return;
    layer_log::block record{trace::layer::pool, space_, b.trace_address, b.requested, b.bytes};
    record.parent = b.parent;
    record.pool = trace_key_;
    record.name = options_.name;
    record.born_before = true;
    layer_log::allocated(stream_ref(device_), record);
    b.recorded = layer_log::generation();
  });
  state(trace::pool_operation::sample);
}

void pool_core::refuse_free(const void* address) noexcept {
  refused_frees_.fetch_add(1, std::memory_order_relaxed);
  if (!layer_log::on()) return;
  constexpr std::size_t line_bytes = 256;
  char line[line_bytes];
  const auto end = fmt::format_to_n(line, sizeof line - 1,
                                    "pool '{}': free of {}, where no allocated block of it begins; nothing was done",
                                    options_.name, fmt::ptr(address));
  *end.out = '\0';
  collector::message(static_cast<unsigned>(trace::severity::warning), line);
}

}  // namespace sluice::runtime::pooling
