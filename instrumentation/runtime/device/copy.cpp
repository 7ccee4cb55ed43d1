#include "instrumentation/runtime/copy.hpp"

namespace sluice::runtime {

void copy_async(void* to, const void* source, std::size_t bytes, const stream_ref& stream) {
  value_or_throw(stream.device().backend().copy_async(to, source, bytes, stream.handle()));
}

void copy_batch_async(std::span<const copy_piece> pieces, const stream_ref& stream) {
  value_or_throw(stream.device().backend().copy_batch_async(pieces, stream.handle()));
}

void copy(void* to, const void* source, std::size_t bytes, const stream_ref& stream) {
  copy_async(to, source, bytes, stream);
  stream.sync();
}

void set_async(void* address, std::uint8_t value, std::size_t bytes, const stream_ref& stream) {
  value_or_throw(stream.device().backend().set_async(address, value, bytes, stream.handle()));
}

}  // namespace sluice::runtime
