#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "instrumentation/runtime/buffer.hpp"

namespace sluice::runtime {

enum class file_access : std::uint8_t { read_only, read_write };

/// A file mapped into memory. Move-only.
///
/// The mapping is as long as the file was when opened. If another program cuts the file short afterwards, touching
/// the mapping past the new end is a SIGBUS, which no check can exclude; `read_at` does not use the mapping, and reports
/// it as an error, and `write_at` does so unless it happens in the very moment of writing. `chunk_pipeline` reads and
/// writes that way.
class mapped_file {
 public:
  /// Throws error: missing, not a file, empty (nothing can be mapped), no permission.
  explicit mapped_file(const std::filesystem::path& path, file_access access = file_access::read_only,
                       const device_ref& device = current_device());
  ~mapped_file();
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&&) = delete;

  /// A new file of `bytes` zeros, mapped to read and write; an existing one is replaced. Its space is reserved at once,
  /// so that a full disk is an error here and not in the middle of the work (where the file system can reserve). Throws
  /// error: 0 bytes, no space, no permission.
  [[nodiscard]] static mapped_file create(const std::filesystem::path& path, std::uint64_t bytes,
                                          const device_ref& device = current_device());

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] file_access access() const noexcept { return access_; }
  [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_, bytes_}; }
  /// Throws error on a read-only file.
  [[nodiscard]] std::span<std::byte> writable_bytes();
  /// The file as whole values of T. Throws error if its size is no multiple of sizeof(T).
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    require_multiple_of(sizeof(T));
    return {reinterpret_cast<const T*>(data_), bytes_ / sizeof(T)};
  }
  void require_multiple_of(std::size_t unit) const;

  /// Reads exactly `to.size()` bytes at `offset`, with pread. Throws error if the file ends before, or the read
  /// fails.
  void read_at(std::uint64_t offset, std::span<std::byte> to) const;
  /// Writes all of `from` at `offset`, within the file's size: large pieces through the mapping, for threads that pwrite one
  /// file take turns (on ext4 16 of them make 4 to 5 GB/s together), after its pages have been asked for, small ones with
  /// pwrite. Throws error: read-only, past the end, cut short, no space.
  void write_at(std::uint64_t offset, std::span<const std::byte> from);
  /// Waits until [offset, offset + bytes) of the mapping, and everything written, is on disk. Throws error.
  void flush(std::uint64_t offset, std::size_t bytes);
  void flush() { flush(0, bytes_); }
  /// Throws error if the file has become shorter than it was when opened.
  void require_whole() const;

  /// Page-locks the mapping of a read-only file for as long as the registration lives: copies from it then run at the
  /// link's speed, without a copy by the CPU. It reads the file in, and holds that much memory. Throws error: a file
  /// opened to be written (drivers refuse its mapping), a file that has become shorter, a device that cannot.
  [[nodiscard]] host_registration pin() const;

 private:
  [[noreturn]] void fail(const char* call, const std::string& what) const;
  [[nodiscard]] bool write_through_mapping(std::uint64_t offset, std::span<const std::byte> from);

  std::string path_;
  file_access access_;
  device_ref device_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace sluice::runtime
