#include "instrumentation/runtime/buffer.hpp"

#include <fmt/format.h>

#include <utility>

#include "instrumentation/runtime/graph/past_capture.hpp"
#include "instrumentation/runtime/state/layer_log.hpp"

namespace sluice::runtime {

buffer::buffer(const resource_ptr& resource, const stream_ref& stream, std::size_t bytes, std::string_view tag)
    : resource_(resource), stream_(stream) {
  layer_log::block record{trace::layer::user, resource->space(), 0, bytes};
  record.name = tag;
  if (layer_log::on()) record.begin = layer_log::now();
  try {
    data_ = resource->allocate(stream, bytes);
  } catch (const error& failure) {
    layer_log::failed(stream, record, failure.native() != 0 ? failure.native() : static_cast<int>(failure.code()));
    throw;
  }
  bytes_ = bytes;
  if (!data_ || !layer_log::on()) return;
  trace_address_ = record.address = record.parent = stream.device().backend().trace_address(data_);
  recorded_ = layer_log::generation();
  layer_log::allocated(stream, record);
}

buffer::buffer(buffer&& other) noexcept
    : resource_(std::move(other.resource_)),
      stream_(std::move(other.stream_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      trace_address_(std::exchange(other.trace_address_, 0)),
      recorded_(other.recorded_) {}

buffer& buffer::operator=(buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  resource_ = std::move(other.resource_);
  stream_ = std::move(other.stream_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  trace_address_ = std::exchange(other.trace_address_, 0);
  recorded_ = other.recorded_;
  return *this;
}

void buffer::reset() noexcept {
  if (data_) {
    // A buffer from before the current recording has no block in it.
    if (trace_address_ != 0 && layer_log::on() && recorded_ + 1 >= layer_log::generation()) {
      layer_log::block record{trace::layer::user, resource_->space(), trace_address_, bytes_};
      record.begin = layer_log::now();
      layer_log::freed(*stream_, record);
    }
    resource_->deallocate(*stream_, data_, bytes_);
  }
  data_ = nullptr;
  bytes_ = 0;
  trace_address_ = 0;
  stream_.reset();
  resource_.reset();
}

// --- managed -----------------------------------------------------------------------------------------------

std::byte* managed_buffer::at(std::size_t offset, std::size_t bytes) const {
  if (offset > size_bytes() || bytes > size_bytes() - offset) {
    throw error(
        {status::invalid_value, 0, "managed_buffer",
         fmt::format("range [{}, {} + {}) exceeds the buffer of {} bytes", offset, offset, bytes, size_bytes())});
  }
  return static_cast<std::byte*>(data()) + offset;
}

void managed_buffer::prefetch_to_device(const stream_ref& stream, std::size_t offset, std::size_t bytes) const {
  value_or_throw(stream.device().backend().prefetch(at(offset, bytes), bytes, {false}, stream.handle()));
}

void managed_buffer::prefetch_to_host(const stream_ref& stream, std::size_t offset, std::size_t bytes) const {
  value_or_throw(stream.device().backend().prefetch(at(offset, bytes), bytes, {true}, stream.handle()));
}

void managed_buffer::advise(backend::memory_advice advice, backend::memory_location where) const {
  if (!empty()) value_or_throw(device_->backend().advise(data(), size_bytes(), advice, where));
}

void managed_buffer::touch(std::size_t offset, std::size_t bytes) const {
  if (bytes != 0) device_->backend().touch_on_host(at(offset, bytes), bytes);
}

// --- registration ------------------------------------------------------------------------------------------

host_registration::host_registration(void* address, std::size_t bytes, backend::registration_flags flags,
                                     const device_ref& device)
    : device_(device) {
  add(address, bytes, flags);
}

host_registration::host_registration(std::initializer_list<std::span<std::byte>> ranges,
                                     backend::registration_flags flags, const device_ref& device)
    : device_(device) {
  try {
    for (const auto& range : ranges) add(range.data(), range.size(), flags);
  } catch (...) {
    reset();  // the destructor does not run if a constructor throws
    throw;
  }
}

void host_registration::add(void* address, std::size_t bytes, backend::registration_flags flags) {
  addresses_.reserve(addresses_.size() + 1);
  value_or_throw(device_.backend().register_host(address, bytes, flags));
  addresses_.push_back(address);
}

host_registration::host_registration(host_registration&& other) noexcept
    : device_(other.device_), addresses_(std::exchange(other.addresses_, {})) {}

host_registration& host_registration::operator=(host_registration&& other) noexcept {
  if (this == &other) return *this;
  reset();
  device_ = other.device_;
  addresses_ = std::exchange(other.addresses_, {});
  return *this;
}

void host_registration::reset() noexcept {
  if (addresses_.empty()) return;
  past_capture(device_, put_off::until_capture_ends, [device = device_, addresses = std::exchange(addresses_, {})] {
    (void)device.backend().synchronize();
    for (void* address : addresses) (void)device.backend().unregister_host(address);
  });
}

}  // namespace sluice::runtime
