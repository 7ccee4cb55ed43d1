#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "instrumentation/runtime/memory_resource.hpp"

// Buffers, which own memory. In a recording, each buffer is a block of the user layer, named by its tag. Buffers are
// move-only and free their memory in the destructor. A moved-from buffer is empty (null, 0 bytes). Sizes are in bytes.
// New memory is uninitialized.

namespace sluice::runtime {

using backend::pinned_flags;

/// The common base of all buffers: a block from a memory resource, freed on the stream for which it was allocated.
class buffer {
 public:
  /// An empty buffer: null, 0 bytes.
  buffer() = default;
  /// Allocates `bytes` from `resource` for `stream`. `tag` names the block in recordings.
  buffer(const resource_ptr& resource, const stream_ref& stream, std::size_t bytes, std::string_view tag);
  ~buffer() { reset(); }
  buffer(buffer&& other) noexcept;
  buffer& operator=(buffer&& other) noexcept;

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  /// Views the block as values of T. Bytes at the end that do not fill a value are ignored.
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }

  /// Frees the memory now, or with the graph if a capture holds it (see `graph_capture`). The buffer is then
  /// empty. In a recording, the user block ends at this call; the driver's block ends when the driver frees it.
  void reset() noexcept;

  /// The resource that the block came from; null for a moved-from buffer.
  [[nodiscard]] const resource_ptr& resource() const noexcept { return resource_; }

 private:
  resource_ptr resource_;
  std::optional<stream_ref> stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t trace_address_ = 0;
  std::uint32_t recorded_ = 0;  // number of the recording that contains this block
};

/// Device memory from a resource (default: the device's current resource). It is usable on `stream` and freed there.
/// The constructor throws out_of_memory or error.
class device_buffer : public buffer {
 public:
  device_buffer() = default;
  explicit device_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                         std::string_view tag = "device_buffer")
      : buffer(current_resource(stream.device()), stream, bytes, tag) {}
  device_buffer(std::size_t bytes, const stream_ref& stream, const resource_ptr& resource,
                std::string_view tag = "device_buffer")
      : buffer(resource, stream, bytes, tag) {}
};

/// Device memory from the driver's own stream-ordered pool. It is freed on the given stream. The buffer keeps that
/// stream alive until then.
class async_buffer : public buffer {
 public:
  async_buffer() = default;
  explicit async_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                        std::string_view tag = "async_buffer")
      : buffer(std::make_shared<async_memory_resource>(stream.device()), stream, bytes, tag) {}
};

/// Page-locked host memory from a resource (default: `current_pinned_resource`). Copies to and from the buffer are
/// asynchronous and run at the speed of the link. If the resource is not a pool, freeing the buffer waits for the
/// stream.
class pinned_buffer : public buffer {
 public:
  pinned_buffer() = default;
  explicit pinned_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                         std::string_view tag = "pinned_buffer")
      : buffer(current_pinned_resource(stream.device()), stream, bytes, tag) {}
  pinned_buffer(std::size_t bytes, const stream_ref& stream, const resource_ptr& resource,
                std::string_view tag = "pinned_buffer")
      : buffer(resource, stream, bytes, tag) {}
  /// Allocates directly from the driver with these flags. Use write-combined memory only for writing, because the host
  /// reads it very slowly.
  pinned_buffer(std::size_t bytes, pinned_flags flags, const stream_ref& stream = current_stream(),
                std::string_view tag = "pinned_buffer")
      : buffer(std::make_shared<pinned_memory_resource>(stream.device(), flags), stream, bytes, tag) {}
};

/// Managed memory, which host and device may both access. Its pages migrate on access or
/// by `prefetch_*`. Keep sizes below the device's free memory.
class managed_buffer : public buffer {
 public:
  managed_buffer() = default;
  explicit managed_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                          std::string_view tag = "managed_buffer")
      : buffer(std::make_shared<managed_memory_resource>(stream.device()), stream, bytes, tag),
        device_(stream.device()) {}

  /// Moves the pages of [offset, offset + bytes) to the device, in
  /// stream order. Throws error if the range is outside the buffer.
  void prefetch_to_device(const stream_ref& stream, std::size_t offset, std::size_t bytes) const;
  void prefetch_to_device(const stream_ref& stream) const { prefetch_to_device(stream, 0, size_bytes()); }
  /// Moves the pages of [offset, offset + bytes) to the host, in stream order. Errors as for `prefetch_to_device`.
  void prefetch_to_host(const stream_ref& stream, std::size_t offset, std::size_t bytes) const;
  void prefetch_to_host(const stream_ref& stream) const { prefetch_to_host(stream, 0, size_bytes()); }
  /// Gives the driver a hint about the use of the whole buffer. Throws error on failure.
  void advise(backend::memory_advice advice, backend::memory_location where = {}) const;

  /// The buffer's contents, for the host to read and write. Call this again each time the host accesses the buffer
  /// after the device did, because the simulated device uses this call to migrate the pages. No device work on the
  /// buffer may be running.
  template <class T>
  [[nodiscard]] std::span<T> host_view() const {
    touch(0, size_bytes());
    return as<T>();
  }

 private:
  void touch(std::size_t offset, std::size_t bytes) const;
  [[nodiscard]] std::byte* at(std::size_t offset, std::size_t bytes) const;

  std::optional<device_ref> device_;
};

/// Page-locks existing host memory for a scope, so that copies are as fast as with a
/// pinned_buffer. The destructor waits for the device and then unregisters the memory, also after
/// an exception. While a `graph_capture` forbids waiting, both are postponed until the capture ends.
class host_registration {
 public:
  /// Throws error if the range is already registered, or is a writable shared file mapping. The call is expensive,
  /// because the driver touches every page.
  host_registration(void* address, std::size_t bytes, backend::registration_flags flags = {},
                    const device_ref& device = current_device());
  /// Registers several ranges. If it throws, none of them stays registered.
  explicit host_registration(std::initializer_list<std::span<std::byte>> ranges, backend::registration_flags flags = {},
                             const device_ref& device = current_device());
  ~host_registration() { reset(); }
  host_registration(host_registration&& other) noexcept;
  host_registration& operator=(host_registration&& other) noexcept;

  /// Unregisters the memory now or, if a capture forbids waiting, at the end of that capture.
  void reset() noexcept;

 private:
  void add(void* address, std::size_t bytes, backend::registration_flags flags);

  device_ref device_;
  std::vector<void*> addresses_;
};

}  // namespace sluice::runtime
