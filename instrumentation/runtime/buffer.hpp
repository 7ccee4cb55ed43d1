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

// Memory with an owner. Each buffer is a block of the user's layer in a recording, named by its tag. All are
// move-only, free in their destructors, and are empty (null, 0 bytes) after a move. Sizes are bytes; contents start
// undefined.

namespace sluice::runtime {

using backend::pinned_flags;

/// What all buffers share: a block from a resource, freed on the stream it was made for.
class buffer {
 public:
  buffer() = default;
  buffer(const resource_ptr& resource, const stream_ref& stream, std::size_t bytes, std::string_view tag);
  ~buffer() { reset(); }
  buffer(buffer&& other) noexcept;
  buffer& operator=(buffer&& other) noexcept;

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  /// The block as values of T, whole ones only.
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    return {static_cast<T*>(data_), bytes_ / sizeof(T)};
  }

  /// Frees now, or, in a capture, with the graph (see `graph_capture`); the buffer is empty afterwards. To a recording the user's
  /// block ends here, and the driver's where the driver frees it.
  void reset() noexcept;

  /// Where the block came from; null for a buffer that has been moved from.
  [[nodiscard]] const resource_ptr& resource() const noexcept { return resource_; }

 private:
  resource_ptr resource_;
  std::optional<stream_ref> stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t trace_address_ = 0;
  std::uint32_t recorded_ = 0;  // the recording that knows it, by number
};

/// Device memory from a resource, the device's current one unless told otherwise, usable on `stream` and freed on it.
/// Throws out_of_memory, error.
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

/// Device memory from the driver's own stream-ordered pool, freed on the stream given, which stays alive until then.
class async_buffer : public buffer {
 public:
  async_buffer() = default;
  explicit async_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                        std::string_view tag = "async_buffer")
      : buffer(std::make_shared<async_memory_resource>(stream.device()), stream, bytes, tag) {}
};

/// Page-locked host memory, from `current_pinned_resource` unless told otherwise: copies to and from it are asynchronous and run at
/// the link's speed. Freeing waits for the stream, if no pool keeps the memory.
class pinned_buffer : public buffer {
 public:
  pinned_buffer() = default;
  explicit pinned_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                         std::string_view tag = "pinned_buffer")
      : buffer(current_pinned_resource(stream.device()), stream, bytes, tag) {}
  pinned_buffer(std::size_t bytes, const stream_ref& stream, const resource_ptr& resource,
                std::string_view tag = "pinned_buffer")
      : buffer(resource, stream, bytes, tag) {}
  /// Memory made with these flags. Write-combined memory is for the host to write: reading it is many times slower.
  pinned_buffer(std::size_t bytes, pinned_flags flags, const stream_ref& stream = current_stream(),
                std::string_view tag = "pinned_buffer")
      : buffer(std::make_shared<pinned_memory_resource>(stream.device(), flags), stream, bytes, tag) {}
};

/// Memory that both sides may touch; its pages move on demand or by `prefetch`. Keep sizes below the device's free
/// memory.
class managed_buffer : public buffer {
 public:
  managed_buffer() = default;
  explicit managed_buffer(std::size_t bytes, const stream_ref& stream = current_stream(),
                          std::string_view tag = "managed_buffer")
      : buffer(std::make_shared<managed_memory_resource>(stream.device()), stream, bytes, tag),
        device_(stream.device()) {}

  /// Moves the pages of [offset, offset + bytes) to the device, in stream order. Throws error if the range leaves
  /// the buffer.
  void prefetch_to_device(const stream_ref& stream, std::size_t offset, std::size_t bytes) const;
  void prefetch_to_device(const stream_ref& stream) const { prefetch_to_device(stream, 0, size_bytes()); }
  void prefetch_to_host(const stream_ref& stream, std::size_t offset, std::size_t bytes) const;
  void prefetch_to_host(const stream_ref& stream) const { prefetch_to_host(stream, 0, size_bytes()); }
  /// A hint about the whole buffer.
  void advise(backend::memory_advice advice, backend::memory_location where = {}) const;

  /// The bytes, for the host to read and write. Say it each time the host comes back to them after the device's
  /// turn: on the simulated device nothing else tells that pages must come over. No work on the buffer may be in
  /// flight.
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

/// Page-locks host memory of the program's for a scope, so that copies from and to it are as fast as from a
/// pinned_buffer. However the scope is left, the destructor waits for the device and gives the pages back; while a `graph_capture`
/// forbids to wait, that is put off until the capture ends.
class host_registration {
 public:
  /// Throws error: a range that is registered already, or a writable shared file mapping. Cost: the driver touches
  /// every page.
  host_registration(void* address, std::size_t bytes, backend::registration_flags flags = {},
                    const device_ref& device = current_device());
  /// Several ranges: all of them, or, when it throws, none.
  explicit host_registration(std::initializer_list<std::span<std::byte>> ranges, backend::registration_flags flags = {},
                             const device_ref& device = current_device());
  ~host_registration() { reset(); }
  host_registration(host_registration&& other) noexcept;
  host_registration& operator=(host_registration&& other) noexcept;

  /// Unregisters now, or when the capture ends.
  void reset() noexcept;

 private:
  void add(void* address, std::size_t bytes, backend::registration_flags flags);

  device_ref device_;
  std::vector<void*> addresses_;
};

}  // namespace sluice::runtime
