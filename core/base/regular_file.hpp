#pragma once

#include <cstdint>
#include <ctime>
#include <string>

#include "core/base/error.hpp"

namespace sluice {

/// An open file that was named by a recording, a setting, the environment or the command line, and may be anything: a pipe must not
/// keep us waiting, a terminal must not become ours, and a device or an endless file must not be read. Owns its descriptor.
class regular_file {
 public:
  static constexpr std::uint64_t any_size = ~std::uint64_t{0};

  /// Opens `path` for reading. Errors: not_found, io, foreign ("is not a regular file"; or larger than `most_bytes`).
  [[nodiscard]] static result<regular_file> open(const std::string& path, std::uint64_t most_bytes = any_size);
  /// The same of a descriptor that was opened with `flags`, which it owns from now on, also when it fails. `path` is for messages.
  [[nodiscard]] static result<regular_file> of(int descriptor, const std::string& path,
                                               std::uint64_t most_bytes = any_size);
  /// What such a file has to be opened with.
  static const int flags;

  regular_file(regular_file&& other) noexcept;
  regular_file& operator=(regular_file&& other) noexcept;
  ~regular_file();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Gives the descriptor away.
  [[nodiscard]] int release();
  /// When it was opened.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] timespec changed() const { return changed_; }

  /// The first `bytes()` bytes; fewer if the file is shorter by now. Errors: io.
  [[nodiscard]] result<std::string> read() const;

 private:
  regular_file(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t bytes_ = 0;
  timespec changed_{};
};

/// All of a file of at most `most_bytes`. Errors: those of `regular_file::open` and `read`.
[[nodiscard]] result<std::string> read_regular_file(const std::string& path, std::uint64_t most_bytes);

}  // namespace sluice
