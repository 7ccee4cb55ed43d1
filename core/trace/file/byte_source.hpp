#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/files/regular_file.hpp"

namespace sluice::trace {

/// The source of a recording's bytes: a local file (`open_local_source`), or a file that another process sends
/// (core/remote). Thread-safe. Bytes that `poll` has counted never change; a growing recording only gets more.
class byte_source {
 public:
  /// The part of the recording that can be read at one moment.
  struct extent {
    std::uint64_t bytes = 0;
    bool growing =
        false;  ///< True if a writer is adding bytes. This is determined before `bytes`, so that `bytes` includes the
                ///< last bytes of a writer that closes the file.
    std::string remark;  ///< A note for the user, to be shown once. Usually empty.
  };

  explicit byte_source(std::string name) : name_(std::move(name)) {}
  virtual ~byte_source() = default;
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;

  /// The path or address under which the user knows the recording. Used in error messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns how many bytes can be read now. Errors: io.
  [[nodiscard]] virtual result<extent> poll() = 0;
  /// Reads `into.size()` bytes from `offset` on, or fewer if the recording ends earlier. Errors: io.
  [[nodiscard]] virtual result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// True if this user made the recording on this machine (core/base/files/origin.hpp). `header`: its first 64 bytes.
  [[nodiscard]] virtual bool is_recorded_here(std::span<const std::byte> /*header*/) const { return false; }
  /// Returns the recording that has replaced this one; null if none has. Errors: those of opening that recording.
  [[nodiscard]] virtual result<std::shared_ptr<byte_source>> successor() const { return nullptr; }

 private:
  const std::string name_;
};

/// Opens a local file, which is read with `pread`. Errors: not_found, io, foreign (an empty file, or not a regular
/// file).
[[nodiscard]] result<std::shared_ptr<byte_source>> open_local_source(const std::string& path);
/// Like `open_local_source`, but takes a file that is already open. `path`: see `byte_source::name`.
[[nodiscard]] std::shared_ptr<byte_source> make_local_source(regular_file opened, std::string path);

/// Writes all bytes that are available now to the open file `descriptor`. Errors: io, no_space.
[[nodiscard]] result<void> copy_bytes(byte_source& source, int descriptor);

/// True if another process, or another part of this process, has the file of `descriptor` open for writing.
[[nodiscard]] bool has_writer(int descriptor);

}  // namespace sluice::trace
