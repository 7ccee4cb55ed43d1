#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// Enqueues a copy of `bytes` on `stream`; the direction follows from where the addresses live. Returns before the
/// copy is done if the host side is pinned or there is none; with pageable memory the driver stages it, and the host
/// waits, on a real device as on the simulated one. Source and destination must not overlap and must live until the
/// stream has passed. Throws error.
void copy_async(void* to, const void* from, std::size_t bytes, const stream_ref& stream);

using backend::copy_piece;
/// Enqueues many copies as one batch: one call of the driver's where it has that, which costs far less than so many calls. None
/// of them is ordered before another; the stream's next work comes after all. As for one copy otherwise. Throws error.
void copy_batch_async(std::span<const copy_piece> pieces, const stream_ref& stream);

/// Copies and waits for the stream. Throws error.
void copy(void* to, const void* from, std::size_t bytes, const stream_ref& stream = current_stream());

/// Enqueues setting `bytes` bytes to `value`. Throws error.
void set_async(void* address, std::uint8_t value, std::size_t bytes, const stream_ref& stream);

/// The same for spans of values; the destination must be at least as long as the source. Throws error.
template <class T>
void copy_async(std::span<T> to, std::span<const T> from, const stream_ref& stream) {
  if (to.size() < from.size()) {
    throw error({status::invalid_value, 0, "copy_async", "the destination is shorter than the source"});
  }
  copy_async(to.data(), from.data(), from.size_bytes(), stream);
}

}  // namespace sluice::runtime
