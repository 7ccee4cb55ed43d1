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

/// A foreign file as a stream of bytes, inflated if it is gzip. Uses `pread` and `read`, so a file that gets truncated
/// gives an error, not a signal. Use from one thread.
class input {
 public:
  /// Errors: not_found; io, also if it is not a regular file.
  [[nodiscard]] static result<input> open(const std::string& path);
  /// The content of `path` as another format: `read` gives its bytes, and `share` the share of the file that was read for
  /// them. Errors: those of `open`.
  [[nodiscard]] static result<input> open_as(const std::string& path, byte_source read, std::function<double()> share);
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  ~input();

  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] bool compressed() const;
  /// The size on disk.
  [[nodiscard]] std::uint64_t file_bytes() const;
  /// The first bytes of the content, at most 4 KiB. Empty for an empty file or a corrupt gzip file.
  [[nodiscard]] std::span<const std::byte> head() const;

  /// Reads the next bytes of the content into `into`. Returns how many, 0 at the end. A gzip file that is damaged or
  /// cut off ends at the damage: see `damage`. Errors: io.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> into);
  /// What is wrong with the gzip file, once `read` has reached the damage. Null: nothing so far.
  [[nodiscard]] const error* damage() const;
  /// The share of the file that has been read, 0..1.
  [[nodiscard]] double share_read() const;

 private:
  struct state;
  explicit input(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::importing
