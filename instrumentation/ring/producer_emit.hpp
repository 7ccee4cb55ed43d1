#pragma once

#include <atomic>
#include <cstdint>

#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer_state.hpp"

/// The fast path of `emit`. It is inlined into callers for which a function call would take about as long as writing
/// the record. Only the producer, pools and the capture library's most frequent events use it.
namespace sluice::ring {

namespace detail {

#define SLUICE_OF_THIS_COPY [[gnu::visibility("hidden")]]  // Access without the dynamic linker's table.

SLUICE_OF_THIS_COPY extern std::atomic<std::atomic<std::uint32_t>*> epoch_in_force;
SLUICE_OF_THIS_COPY SLUICE_THREAD_LOCAL extern thread_state this_thread;

#undef SLUICE_OF_THIS_COPY

struct outgoing {
  record_header* record;
  record_type type;
  std::size_t bytes;
  const void* extra;
  std::size_t extra_bytes;
};

/// Replaces the whole emit if the calling thread has no ring, needs a new one, or is already inside an emit.
SLUICE_RARE bool emit_slowly(const outgoing& out) noexcept;
/// Replaces `put_simply` and `end_emit` if the ring is full or at its end, or if the reader must be woken.
SLUICE_RARE bool finish_slowly(std::uint32_t in_force, const outgoing& out) noexcept;

// Each emit consists of begin_emit, a simple put and end_emit. Slow cases are tail calls, so that the caller need not
// save registers.

/// Returns false if the caller must use `emit_slowly`: the thread has no ring of the current connection, or this is a
/// signal handler that interrupted an emit.
[[nodiscard]] SLUICE_INLINE bool begin_emit(std::uint32_t& in_force) noexcept {
  in_force = epoch_in_force.load(std::memory_order_relaxed)->load(std::memory_order_relaxed);
  if (this_thread.epoch != in_force) [[unlikely]]
    return false;
  // A signal handler that interrupts this emit sees an epoch that is not in force. So one check covers both cases.
  this_thread.epoch = thread_state::in_emit;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return true;
}

SLUICE_INLINE void end_emit(std::uint32_t in_force) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  this_thread.epoch = in_force;
}

/// A record that consists of words only, as a struct in memory. The slow functions need this form.
template <class... Words>
struct words_in_memory {
  record_header header{};
  std::uint64_t words[sizeof...(Words)];
  words_in_memory(std::uint64_t time, Words... rest) : words{rest...} { header.time = time; }
  [[nodiscard]] outgoing as(record_type type) { return {&header, type, sizeof header, words, sizeof words}; }
};

template <class... Words>
SLUICE_RARE bool finish_words_slowly(std::uint32_t in_force, record_type type, std::uint64_t time,
                                     Words... rest) noexcept {
  return finish_slowly(in_force, words_in_memory<Words...>(time, rest...).as(type));
}

template <class... Words>
SLUICE_RARE bool emit_words_slowly(record_type type, std::uint64_t time, Words... rest) noexcept {
  return emit_slowly(words_in_memory<Words...>(time, rest...).as(type));
}

template <class... Words>
SLUICE_INLINE bool emit_words(record_type type, std::uint64_t time, Words... rest) noexcept {
  std::uint32_t in_force = 0;
  if (!begin_emit(in_force)) [[unlikely]]
    return emit_words_slowly(type, time, rest...);
  if (!this_thread.slot->ring.put_words_simply(type, time, rest...)) [[unlikely]]
    return finish_words_slowly(in_force, type, time, rest...);
  end_emit(in_force);
  return true;
}

/// Handles the cases that the fast path of `emit_touch` does not.
SLUICE_RARE bool emit_touch_slowly(touch_record record, const std::uint64_t* words) noexcept;

}  // namespace detail

/// Emits a `touch_record` of `record.count` words. Like `emit_with`, but faster.
SLUICE_INLINE bool emit_touch(const touch_record& record, const std::uint64_t* words) noexcept {
  static_assert(sizeof record == sizeof(record_header) + 3 * sizeof(std::uint64_t));
  std::uint32_t in_force = 0;
  if (!detail::begin_emit(in_force)) [[unlikely]]
    return detail::emit_touch_slowly(record, words);
  const std::uint64_t last = record.correlation | std::uint64_t{record.count} << 32;
  const bool done = detail::this_thread.slot->ring.put_words_and_more_simply(
      record_type::touch, record.header.time, words, record.count, record.stream, record.name, last);
  detail::end_emit(in_force);
  return done || detail::emit_touch_slowly(record, words);
}

/// These two emit the short records of a framework's block. Like `emit_bytes`, but faster.
SLUICE_INLINE bool emit_framework_alloc(std::uint64_t time, std::uint64_t address, std::uint64_t bytes,
                                        std::uint64_t name, std::uint64_t stack, std::uint32_t device) noexcept {
  return detail::emit_words(record_type::framework_alloc, time, address, bytes, name, stack, std::uint64_t{device});
}
SLUICE_INLINE bool emit_framework_free(std::uint64_t time, std::uint64_t address) noexcept {
  return detail::emit_words(record_type::framework_free, time, address);
}

/// These two emit short records that use the key of a pool_stream, which `introduce_pool_stream` must have sent on this
/// thread. Like `emit_bytes`, but faster.
SLUICE_INLINE bool emit_pool_stream_alloc(std::uint64_t time, std::uint64_t pool_stream, std::uint64_t address,
                                          std::uint64_t bytes, std::uint64_t reserved_bytes) noexcept {
  return detail::emit_words(record_type::pool_stream_alloc, time, address, bytes, reserved_bytes, pool_stream);
}
SLUICE_INLINE bool emit_pool_stream_alloc(std::uint64_t time, std::uint64_t pool_stream, std::uint64_t address,
                                          std::uint64_t bytes, std::uint64_t reserved_bytes, std::uint64_t name,
                                          std::uint64_t parent) noexcept {
  return detail::emit_words(record_type::pool_stream_alloc, time, address, bytes, reserved_bytes, pool_stream, name,
                            parent);
}
SLUICE_INLINE bool emit_pool_stream_free(std::uint64_t time, std::uint64_t pool_stream,
                                         std::uint64_t address) noexcept {
  return detail::emit_words(record_type::pool_stream_free, time, address, pool_stream);
}

}  // namespace sluice::ring
