#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "core/base/error.hpp"

namespace sluice {

/// An open regular file whose path is not trusted (from a recording, a setting, the environment or the command line).
/// Opening never blocks on a pipe or acquires a terminal; devices and endless files are refused. Owns its descriptor.
class regular_file {
 public:
  static constexpr std::uint64_t any_size = ~std::uint64_t{0};

  /// Opens `path` for reading. Errors: not_found, io, foreign ("is not a regular file"; or larger than `most_bytes`).
  [[nodiscard]] static result<regular_file> open(const std::string& path, std::uint64_t most_bytes = any_size);
  /// Takes over `descriptor`, opened with `flags`, and closes it on failure. `path`: for messages. Errors as of `open`.
  [[nodiscard]] static result<regular_file> of(int descriptor, const std::string& path,
                                               std::uint64_t most_bytes = any_size);
  /// The flags that the descriptor passed to `of` must have been opened with.
  static const int flags;

  regular_file(regular_file&& other) noexcept;
  regular_file& operator=(regular_file&& other) noexcept;
  ~regular_file();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Hands the descriptor over to the caller.
  [[nodiscard]] int release();
  /// Size of the file in bytes, when it was opened.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] timespec changed() const { return changed_; }

  /// Returns the first `bytes()` bytes, or fewer if the file has been truncated since. Errors: io.
  [[nodiscard]] result<std::string> read() const;

 private:
  regular_file(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t bytes_ = 0;
  timespec changed_{};
};

/// Returns the content of a file of at most `most_bytes`. Errors: those of `regular_file::open` and `read`.
[[nodiscard]] result<std::string> read_regular_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace sluice
