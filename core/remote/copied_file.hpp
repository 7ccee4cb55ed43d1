#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/error.hpp"
#include "core/base/system/unique_descriptor.hpp"
#include "core/remote/copy_room.hpp"

namespace sluice::remote {

/// A scratch file for received bytes. It takes disk space only for bytes that have been added. Reading is thread-safe.
class copied_file {
 public:
  /// `generation`: the number of the copied file (protocol.md). Errors: io, no_space.
  [[nodiscard]] static result<std::shared_ptr<copied_file>> make(std::uint64_t generation,
                                                                 std::shared_ptr<copy_room> room);
  ~copied_file() { room_->give_back(bytes_); }
  copied_file(const copied_file&) = delete;
  copied_file& operator=(const copied_file&) = delete;

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// The number of bytes that have been added.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  /// Appends bytes. Only one thread at a time may call it. Errors: no_space, io. Bytes written before an error stay.
  result<void> add(std::span<const std::byte> more);
  /// Truncates the copy. Call it when the recorder removed the file's last bytes because its disk was full.
  void cut(std::uint64_t to);
  /// Reads as `trace::byte_source::read_at` does. Errors: io.
  [[nodiscard]] result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const;

 private:
  copied_file(std::uint64_t generation, unique_descriptor opened, std::shared_ptr<copy_room> room)
      : generation_(generation), descriptor_(std::move(opened)), room_(std::move(room)) {}

  const std::uint64_t generation_;
  const unique_descriptor descriptor_;
  const std::shared_ptr<copy_room> room_;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace sluice::remote
