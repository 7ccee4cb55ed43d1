#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/thread_scratch.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/chunk_list.hpp"
#include "core/trace/file/layout.hpp"

/// Reads the chunks of a file whose contents are not trusted. Private to core/trace/file.
namespace sluice::trace {

/// True if the header's magic number and checksum are correct and its sizes are within the limits.
[[nodiscard]] bool is_sound(const chunk_header& header);
/// True for the types of tables and events that this version knows.
[[nodiscard]] bool is_known(row_type type);

/// Reads a file as a sequence of chunks. Immutable and thread-safe.
class chunk_source {
 public:
  explicit chunk_source(std::shared_ptr<byte_source> bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] byte_source& bytes() const { return *bytes_; }
  [[nodiscard]] const std::shared_ptr<byte_source>& shared_bytes() const { return bytes_; }
  [[nodiscard]] const std::string& path() const { return bytes_->name(); }

  /// Fills `bytes` from the file. Error `corrupt` if the file ends earlier.
  result<void> read_exactly(std::uint64_t offset, std::span<std::byte> bytes) const;

  template <class Object>
  result<Object> read_object(std::uint64_t offset) const {
    Object object;
    if (auto got = read_exactly(offset, std::as_writable_bytes(std::span(&object, 1))); !got) {
      return tl::unexpected<error>(got.error());
    }
    return object;
  }

  /// Reads the payload of a chunk into `memory`.
  result<std::span<const std::byte>> payload(const chunk_info& chunk, std::vector<std::byte>& memory) const;

  /// Calls `decode` with the chunk's payload. If `decode` fails, adds the file's path and offset to the error.
  template <class Decode>
  result<void> decode_chunk(const chunk_info& chunk, Decode&& decode) const {
    thread_scratch<std::byte> memory;
    const auto stored = payload(chunk, *memory);
    if (!stored) return tl::unexpected<error>(stored.error());
    result<void> decoded = decode(*stored);
    if (!decoded) {
      decoded.error().file = path();
      decoded.error().offset = chunk.offset;
    }
    return decoded;
  }

  template <class Row>
  result<void> rows(const chunk_info& chunk, std::vector<Row>& into, column_set<Row> wanted = {}) const {
    return decode_chunk(
        chunk, [&](std::span<const std::byte> stored) { return decode_rows<Row>(stored, chunk.rows, into, wanted); });
  }

  template <class Row>
  result<void> values(const chunk_info& chunk, row_values<Row>& into, column_set<Row> wanted) const {
    return decode_chunk(
        chunk, [&](std::span<const std::byte> stored) { return decode_values<Row>(stored, chunk.rows, into, wanted); });
  }

  /// Adds the chunks that an index page lists to `into`. Errors: those of `rows`; corrupt.
  result<void> read_index_page(const chunk_info& page, std::vector<chunk_info>& into) const;

  /// Reads the trailer of a file of `file_size` bytes. Error `corrupt` if there is none.
  result<trailer> read_trailer(std::uint64_t file_size) const;

  /// Receives the results of a walk from chunk to chunk.
  struct walk_events {
    virtual ~walk_events() = default;
    virtual void found(const chunk_info& chunk) = 0;
    /// Damaged bytes were skipped.
    virtual void skipped(std::uint64_t at, std::uint64_t bytes) = 0;
    /// All chunks found so far belong to complete flushes. `next` is the offset of the next chunk.
    virtual void flushed(std::uint64_t next) = 0;
  };
  /// Walks from chunk header to chunk header, starting at `at`, and sets `at` to the end of the last complete chunk.
  /// Returns true if it reaches the trailer. Damage followed by valid chunks is skipped. Damage at the end of the file
  /// is ignored, because those bytes may just be incomplete.
  bool walk(std::uint64_t& at, std::uint64_t file_size, walk_events& to) const;

 private:
  /// Returns the offset of the first valid chunk header at or after `begin`; `file_size` if there is none.
  [[nodiscard]] std::uint64_t find_chunk(std::uint64_t begin, std::uint64_t file_size) const;
  [[nodiscard]] bool is_trailer(std::uint64_t at) const;

  std::shared_ptr<byte_source> bytes_;
};

}  // namespace sluice::trace
