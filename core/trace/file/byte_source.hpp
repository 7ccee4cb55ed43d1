#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/regular_file.hpp"

namespace sluice::trace {

/// Where the bytes of a recording come from: a file on this machine (`open_local_source`), or one that another process
/// sends (core/remote). Thread-safe. Bytes that `look` has counted never change; a growing recording gets more.
class byte_source {
 public:
  /// What there is to read at one moment.
  struct extent {
    std::uint64_t bytes = 0;
    bool growing =
        false;  ///< A writer is adding bytes. Found out before `bytes`: what a writer adds as it ends is there.
    std::string remark;  ///< Something that the user should know, to be shown once. Usually empty.
  };

  explicit byte_source(std::string name) : name_(std::move(name)) {}
  virtual ~byte_source() = default;
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;

  /// The path or address by which the user knows the recording; for error messages.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Looks how much there is. Errors: io.
  [[nodiscard]] virtual result<extent> look() = 0;
  /// Reads `into.size()` bytes from `offset` on, or fewer if the recording ends before. Errors: io.
  [[nodiscard]] virtual result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// True if this user recorded it on this machine (core/base/origin.hpp). `header`: its first 64 bytes.
  [[nodiscard]] virtual bool is_recorded_here(std::span<const std::byte> /*header*/) const { return false; }
  /// Another recording that has taken this one's place since; null if none has. Errors: those of opening it.
  [[nodiscard]] virtual result<std::shared_ptr<byte_source>> successor() const { return nullptr; }

 private:
  const std::string name_;
};

/// Opens a file on this machine. Reads it by `pread`. Errors: not_found, io, foreign (no regular file, or an empty one).
[[nodiscard]] result<std::shared_ptr<byte_source>> open_local_source(const std::string& path);
/// The same of a file that is open already. `path`: see `byte_source::name`.
[[nodiscard]] std::shared_ptr<byte_source> local_source_of(regular_file opened, std::string path);

/// Writes all bytes that there are now to the open file `descriptor`. Errors: io, no_space.
[[nodiscard]] result<void> copy_bytes(byte_source& from, int descriptor);

/// True if another process, or another part of this one, has the open file `descriptor` open as its writer.
[[nodiscard]] bool has_writer(int descriptor);

}  // namespace sluice::trace
