#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/import/byte_source.hpp"

namespace sluice::importing {

/// A foreign file, which another tool wrote, as a stream of bytes. A gzip file is inflated. Uses `pread` and `read`
/// instead of a mapping, so that a file that is truncated while it is read causes an error, not a signal. Use from one
/// thread.
class input {
 public:
  /// Opens a file. Errors: not_found; io, also if it is not a regular file.
  [[nodiscard]] static result<input> open(const std::string& path);
  /// Opens a file whose content the caller converts: `read` returns the converted bytes, and `share` the fraction of
  /// the file that has been read for them. Errors: those of `open`.
  [[nodiscard]] static result<input> open_as(const std::string& path, byte_source read, std::function<double()> share);
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  ~input();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] bool compressed() const;
  /// The size of the file on disk.
  [[nodiscard]] std::uint64_t file_bytes() const;
  /// The first bytes of the content, at most 4 KiB. Empty if the file is empty or is a corrupt gzip file.
  [[nodiscard]] std::span<const std::byte> head() const;

  /// Reads the next bytes of the content into `into`. Returns their number, or 0 at the end. The content of a gzip file
  /// that is damaged or truncated ends at the damage, which `damage` describes. Errors: io.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);
  /// The error of a damaged gzip file; null until `read` reaches the damage.
  [[nodiscard]] const error* damage() const;
  /// The share of the file that has been read, 0..1.
  [[nodiscard]] double share_read() const;

 private:
  struct state;
  explicit input(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::importing
