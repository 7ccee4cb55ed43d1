#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "core/base/error.hpp"
#include "core/base/system/unique_descriptor.hpp"

namespace sluice {

/// An open regular file whose path is not trusted: the path comes from a recording, a setting, the environment or the
/// command line. Opening never blocks on a pipe and never acquires a terminal. Devices and endless files are rejected.
/// Owns its descriptor.
class regular_file {
 public:
  static constexpr std::uint64_t any_size = ~std::uint64_t{0};

  /// Opens `path` for reading. Errors: not_found, io, foreign (not a regular file, or larger than `max_bytes`).
  [[nodiscard]] static result<regular_file> open(const std::string& path, std::uint64_t max_bytes = any_size);
  /// Takes ownership of `descriptor`, which must have been opened with `flags`; closes it on failure. `path` is used in
  /// messages. Errors: those of `open`.
  [[nodiscard]] static result<regular_file> of(int descriptor, const std::string& path,
                                               std::uint64_t max_bytes = any_size);
  /// The flags with which the descriptor passed to `of` must have been opened.
  static const int flags;

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// Transfers ownership of the descriptor to the caller.
  [[nodiscard]] int release();
  /// The size of the file when it was opened, in bytes.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// The file's modification time when it was opened.
  [[nodiscard]] timespec changed() const { return changed_; }

  /// Returns the first `bytes()` bytes, or fewer if the file has been truncated since. Errors: io.
  [[nodiscard]] result<std::string> read() const;

 private:
  regular_file(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  unique_descriptor descriptor_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  timespec changed_{};
};

/// Returns the content of the file at `path`, which may have at most `max_bytes`. Errors: those of `regular_file::open`
/// and `read`.
[[nodiscard]] result<std::string> read_regular_file(const std::string& path, std::uint64_t max_bytes);

}  // namespace sluice
