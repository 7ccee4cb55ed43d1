#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "instrumentation/runtime/buffer.hpp"

namespace sluice::runtime {

enum class file_access : std::uint8_t { read_only, read_write };

/// A file mapped into memory. The object is move-only.
///
/// The mapping has the length that the file had when it was opened. If another program truncates the file
/// later, accessing the mapping past the new end raises SIGBUS; no check can prevent that.
/// `read_at` does not use the mapping and throws error instead. `write_at` also throws error,
/// unless the file is truncated during the write itself. `chunk_pipeline` uses these two.
class mapped_file {
 public:
  /// Throws error if the file is missing, not a regular file, empty (cannot be mapped), or not accessible.
  explicit mapped_file(const std::filesystem::path& path, file_access access = file_access::read_only,
                       const device_ref& device = current_device());
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&&) = delete;

  /// Creates a file of `bytes` zeros, mapped for reading and writing. Replaces an existing
  /// file. If the file system supports it, the disk space is reserved now, so that a full
  /// disk is an error here and not later. Throws error for 0 bytes, insufficient space or missing permission.
  [[nodiscard]] static mapped_file create(const std::filesystem::path& path, std::uint64_t bytes,
                                          const device_ref& device = current_device());

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] file_access access() const noexcept { return access_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  /// The mapped contents. Valid while this object exists.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, bytes_}; }
  /// Throws error if the file was opened read-only.
  [[nodiscard]] std::span<std::byte> writable_bytes();
  /// The file as values of T. Throws error if the file size is not a multiple of sizeof(T).
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    require_multiple_of(sizeof(T));
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  void require_multiple_of(std::size_t unit) const;

  /// Reads exactly `to.size()` bytes at `offset` with pread.
  /// Throws error if the file is too short or the read fails.
  void read_at(std::uint64_t offset, std::span<std::byte> to) const;
  /// Writes all of `items` at `offset`, inside the file's size. Large pieces go through the mapping, after its
  /// pages are populated, because pwrite calls on one file run one at a time (on ext4, 16 of them reach 4 to 5
  /// GB/s in total). Small pieces use pwrite. Throws error if read-only, past the end, truncated or out of space.
  void write_at(std::uint64_t offset, std::span<const std::byte> items);
  /// Waits until the mapped range [offset, offset + bytes) and all data written so far are on disk. Throws error.
  void flush(std::uint64_t offset, std::size_t bytes);
  /// Flushes the whole file.
  void flush() { flush(0, bytes_); }
  /// Throws error if the file is now shorter than when it was opened.
  void require_whole() const;

  /// Page-locks the mapping of a read-only file while the registration lives. Copies from it then run at the
  /// speed of the link, without a CPU copy. Reads the whole file into memory and keeps it there. Throws error
  /// if the file is writable (drivers refuse that) or was truncated, or if the device does not support it.
  [[nodiscard]] host_registration pin() const;

 private:
  [[noreturn]] void fail(const char* call, const std::string& subject) const;
  [[nodiscard]] bool write_through_mapping(std::uint64_t offset, std::span<const std::byte> items);

  std::string path_;
  file_access access_;
  device_ref device_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::runtime
