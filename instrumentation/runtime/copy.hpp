#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/runtime/stream.hpp"

namespace sluice::runtime {

/// Enqueues a copy of `bytes` bytes on `stream`. The addresses determine the direction. The
/// call is asynchronous if no pageable host memory is involved. With pageable memory, the
/// driver stages the data and the host waits (also on the simulated device). Source and
/// destination must not overlap, and must stay valid until the copy is done. Throws error on failure.
void copy_async(void* to, const void* source, std::size_t bytes, const stream_ref& stream);

using backend::copy_piece;
/// Enqueues many copies as one batch, with one driver call if the driver supports that, which is far cheaper. The
/// copies run in no particular order; later work on the stream waits for all of them. Apart from that, this is like
/// copy_async.
void copy_batch_async(std::span<const copy_piece> pieces, const stream_ref& stream);

/// Copies `bytes` bytes like copy_async, then waits for all work enqueued on the stream so far.
void copy(void* to, const void* source, std::size_t bytes, const stream_ref& stream = current_stream());

/// Sets `bytes` bytes at `address` to `value`, in stream order. Throws error on failure.
void set_async(void* address, std::uint8_t value, std::size_t bytes, const stream_ref& stream);

/// Copies a span of values. Throws error if the destination is shorter than the source.
template <class T>
void copy_async(std::span<T> to, std::span<const T> items, const stream_ref& stream) {
  if (to.size() < items.size()) {
    throw error({status::invalid_value, 0, "copy_async", "the destination is shorter than the source"});
  }
  copy_async(to.data(), items.data(), items.size_bytes(), stream);
}

}  // namespace sluice::runtime
