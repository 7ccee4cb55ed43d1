#pragma once

#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/files/origin.hpp"
#include "core/base/files/replacement.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/checksum.hpp"
#include "core/trace/file/dropped_rows.hpp"
#include "core/trace/file/writer_inline.hpp"

/// The internals of a writer: the waiting rows, the file, and the functions that write the rows (writer_state.cpp) and
/// that count the rows that are dropped when the disk is full (writer_losses.cpp). Private to core/trace/file.
namespace sluice::trace {

/// Hashes texts, so that a text can be looked up without being copied into a std::string.
struct transparent_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }
};

struct file_writer::state : file_writer::waiting_rows {
  std::string path;   ///< The current path.
  std::string named;  ///< The final path, used in error messages.
  std::optional<replacement> unpublished;
  writer_options options;
  int fd = -1;
  std::uint64_t offset = 0;  ///< The end of the last complete chunk.
  bool cut_off = false;      ///< Another program has truncated the file.
  bool ragged = false;       ///< An incomplete write may have left bytes after `offset`.
  std::uint64_t last_string = 0;
  std::uint64_t marked_until = sizeof(file_header);  ///< The end of the last flush mark.
  std::optional<error> failure;
  dropped_rows dropped;         ///< Rows dropped since a write failed.
  bool losses_reported = true;  ///< False if the closed file does not report the losses in `dropped`.
  std::unordered_map<std::string, string_id, transparent_hash, std::equal_to<>> strings;
  row_encoder encoder;
  std::vector<std::byte> stored;

  explicit state(const writer_options& method) : options(method), encoder(method.compression_level) {
    options.rows_per_chunk = std::clamp<std::size_t>(options.rows_per_chunk, 1, max_chunk_rows);
    const auto limit = [&](auto& rows) {
      if constexpr (requires { rows.limit(0); }) rows.limit(options.rows_per_chunk);
    };
    std::apply([&](auto&... each) { (limit(each), ...); }, buffers);
  }

  ~state() {
    if (fd >= 0) ::close(fd);
  }

  [[nodiscard]] file_header own_header() const;

  bool write_file_header();

  /// Marks the file as recorded by this user (core/base/files/origin.hpp), or else removes an existing mark.
  void say_origin(origin::stage now) const;

  [[nodiscard]] bool is_shorter_than_written() const;

  [[nodiscard]] bool has_own_header() const;

  /// Reads a chunk, including its header, from the file. Returns false if its bytes differ from those that were
  /// written.
  [[nodiscard]] bool read_back(const index_row& chunk, std::vector<std::byte>& bytes) const;

  /// Writes the index and the trailer. After a failed flush, neither is written. A reader then walks from chunk to
  /// chunk and reports that the end of the file is missing.
  void write_end();

  /// Writes the list of the index pages, then the index in pages. Returns the offset of the first page.
  std::uint64_t write_pages();

  /// Removes the bytes that an incomplete write has left at the end of the file.
  void cut_tail();

  /// Writes all bytes or none. After an incomplete write, removes the bytes that were written, and returns false.
  bool write_all(std::span<const std::byte> bytes);

  /// Returns advice for the user after a write of `bytes` failed because there was no space.
  [[nodiscard]] std::string full_disk_hint(std::size_t bytes) const;

  /// Adds a chunk of another file. `bytes` includes the chunk's header. Returns false if the chunk could not be
  /// written.
  bool write_copy(index_row chunk, std::span<const std::byte> bytes);

  using time_pair = std::pair<time_ns, time_ns>;

  /// Encodes and writes at most `max_chunk_rows` rows. `over`: the time range that is stored for the chunk.
  template <class Row>
  void write_chunk(std::span<const Row> rows, std::optional<time_pair> over = std::nullopt);

  /// Encodes columns and writes them as one chunk. Columns have no texts, so the chunk is never too large.
  template <class Row>
  void write_chunk(row_columns<Row>& rows);

  /// Encodes these rows as one chunk, in `stored`. The rows must be few and short enough to fit.
  template <class Row>
  void encode_chunk(std::span<const Row> rows);

  /// Writes the header of the chunk in `stored` at its start, and returns the header.
  chunk_header put_header(row_type type, std::size_t rows, const row_encoder::outcome& encoded);

  /// Writes the chunk in `stored`, which must start with space for the header.
  void write_stored(row_type type, std::size_t rows, const row_encoder::outcome& encoded);

  /// Writes the waiting rows of one type, unless a write has failed. `most`: the maximum number of rows per chunk, for
  /// types other than events.
  template <class Row>
  void flush_rows(std::size_t most = max_chunk_rows);

  /// Keeps table rows that could not be written in memory, at most 64 MiB, until writes succeed again, because later
  /// events refer to these rows.
  template <class Row>
  void wait_longer(std::vector<Row>& rows, std::size_t written);

  /// True if a write has failed, and rows are dropped and counted until `resume` succeeds.
  [[nodiscard]] bool is_stopped() const { return options.outlives_failures && failure; }

  /// Writes the frees that were kept. This may take more than one chunk.
  void write_kept_frees();

  /// Writes the frees that were kept, and rows that report the losses.
  void write_losses();

  /// Returns the rows of a chunk that was written, or nothing if the chunk cannot be read.
  template <class Row>
  std::optional<std::vector<Row>> read_back(const index_row& chunk) const;

  /// Finishes a file whose last write failed. Tries once more to write the waiting rows. If the disk is still full,
  /// removes the last chunks to make room for rows that report the losses. Any row that refers to a removed row comes
  /// after that row, so it is removed, too.
  void end_stopped();

  /// Replaces the last chunks by rows that report the losses. Removes at most about 1 MiB. If that is not enough, other
  /// programs are filling the disk and would fill the freed space, too.
  void write_losses_over_last_chunks();

  void flush_tables();

  [[nodiscard]] bool takes_rows() const { return fd >= 0 && (!failure || is_stopped()); }

  template <class Row>
  void write_if_full() {
    if (of<Row>().size() < options.rows_per_chunk) return;
    flush_what_explains();
    flush_rows<Row>();
  }

  /// Writes the rows that must precede later events in the file: names and losses. If the writer is then killed, every
  /// missing event is counted.
  void flush_what_explains();

  void flush_all();

  /// Tells the readers of the growing file that it contains all rows so far: see `is_flush_mark`.
  void write_flush_mark();

  /// Sets the file to write to. `publish` moves it to its final path.
  void write_to(replacement output);

  /// Moves the file to its final path.
  result<void> publish();

  result<void> outcome() const {
    if (failure) return tl::unexpected<error>(*failure);
    return {};
  }
};

}  // namespace sluice::trace
