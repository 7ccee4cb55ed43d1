#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/error.hpp"

namespace sluice::importing {

/// All of a file's content in memory, with eight zero bytes behind it that readers may look at.
class content {
 public:
  static constexpr std::size_t padding = 8;

  content() = default;
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  friend class input;
  struct release {
    void operator()(std::byte* memory) const;
  };
  /// Room for `capacity` bytes and the padding; false without memory.
  bool reserve(std::size_t capacity);

  std::unique_ptr<std::byte[], release> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// A foreign file as a stream of bytes, inflated if it is gzip. Reads are `pread` and `read`: a file cut short is an error, not a
/// signal. One thread owns it.
class input {
 public:
  /// Errors: not_found, io, also for what is no regular file.
  [[nodiscard]] static result<input> open(const std::string& path);
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  ~input();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] bool compressed() const;
  /// On disk.
  [[nodiscard]] std::uint64_t file_bytes() const;
  /// The first bytes of the content, at most 4 KiB. Empty for an empty file, and for a gzip file that does not inflate.
  [[nodiscard]] std::span<const std::byte> head() const;

  /// The next bytes of the content into `into`; how many, 0 at the end. Errors: io, corrupt (gzip).
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);
  /// The share of the file that `read` has used up, 0..1.
  [[nodiscard]] double share_read() const;

  /// All of the content, from its beginning, whatever was read before. Errors: as `read`; corrupt when it is longer than `limit`
  /// bytes, which a small gzip file can be.
  [[nodiscard]] result<content> read_all(std::size_t limit);

 private:
  struct state;
  explicit input(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::importing
