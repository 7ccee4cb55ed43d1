#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/format.hpp"
#include "core/base/origin.hpp"
#include "core/base/outputs/full_disk.hpp"
#include "core/base/replacement.hpp"
#include "core/trace/columns/codec.hpp"
#include "core/trace/file/checksum.hpp"
#include "core/trace/file/dropped_rows.hpp"
#include "core/trace/file/index_pages.hpp"
#include "core/trace/file/writer_inline.hpp"

/// The internals of a writer: the waiting rows, the file, and the code that writes the rows. Private to writer.cpp.
namespace sluice::trace {

struct transparent_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }
};

struct file_writer::state : file_writer::waiting_rows {
  std::string path;   ///< Current path.
  std::string named;  ///< Final path, for error messages.
  std::optional<replacement> unpublished;
  writer_options options;
  int fd = -1;
  std::uint64_t offset = 0;  ///< End of the last complete chunk.
  bool cut_off = false;      ///< The file was truncated from outside.
  bool ragged = false;       ///< Bytes of an incomplete write may stand behind `offset`.
  std::uint64_t last_string = 0;
  std::uint64_t marked_until = sizeof(file_header);  ///< End of the last flush mark.
  std::optional<error> failure;
  dropped_rows dropped;     ///< Since a write failed.
  bool losses_told = true;  ///< False: the closed file does not say what `dropped` counts.
  std::unordered_map<std::string, string_id, transparent_hash, std::equal_to<>> strings;
  row_encoder encoder;
  std::vector<std::byte> stored;

  explicit state(const writer_options& how) : options(how), encoder(how.compression_level) {
    options.rows_per_chunk = std::clamp<std::size_t>(options.rows_per_chunk, 1, max_chunk_rows);
    const auto limit = [&](auto& rows) {
      if constexpr (requires { rows.limit(0); }) rows.limit(options.rows_per_chunk);
    };
    std::apply([&](auto&... each) { (limit(each), ...); }, buffers);
  }
  ~state() {
    if (fd >= 0) ::close(fd);
  }

  [[nodiscard]] file_header own_header() const {
    file_header header;
    header.flags = options.simulated ? file_flag_simulated : 0;
    header.realtime_origin = options.realtime_origin;
    header.checksum = header_checksum(header);
    return header;
  }

  bool write_file_header() {
    const file_header begin = own_header();
    say_origin(origin::stage::growing);
    return write_all(std::as_bytes(std::span(&begin, 1)));
  }

  /// Marks the file as recorded by this user (core/base/origin.hpp), or removes an old mark if it was not.
  void say_origin(origin::stage now) const {
    const file_header begin = own_header();
    if (options.recorded_here) {
      origin::mark(fd, std::as_bytes(std::span(&begin, 1)), now);
    } else {
      origin::unmark(fd);
    }
  }

  [[nodiscard]] bool is_shorter_than_written() const {
    struct stat now {};
    return ::fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) < offset;
  }

  [[nodiscard]] bool has_own_header() const {
    const file_header wanted = own_header();
    file_header found{};
    return ::pread(fd, &found, sizeof found, 0) == sizeof found && std::memcmp(&found, &wanted, sizeof found) == 0;
  }

  /// Reads a chunk with its header from the file. Returns false if it differs from what was written.
  [[nodiscard]] bool read_back(const index_row& chunk, std::vector<std::byte>& bytes) const {
    bytes.resize(sizeof(chunk_header) + chunk.stored_bytes);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(chunk.offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<std::size_t>(got);
    }
    chunk_header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.checksum == header_checksum(header) &&
           header.payload_checksum == XXH3_64bits(bytes.data() + sizeof header, chunk.stored_bytes);
  }

  /// Writes the index and the trailer. After a failed flush both are missing: a reader then walks the chunks and
  /// reports that the end is missing.
  void write_end() {
    trailer t;
    t.index_offset = offset;
    if (of<index_row>().size() > most_chunks_unpaged && of<index_row>().size() <= most_chunks_paged) {
      if (!failure) t.index_offset = write_pages();
    } else if (!failure) {
      flush_rows<index_row>();
    }
    t.checksum = header_checksum(t);
    if (!failure) write_all(std::as_bytes(std::span(&t, 1)));
    cut_tail();
    say_origin(origin::stage::closed);
  }

  /// Writes the index in pages, in front of them the list of pages. Returns where the pages begin.
  std::uint64_t write_pages() {
    std::vector<index_row>& chunks = of<index_row>();
    const auto summaries = std::stable_partition(chunks.begin(), chunks.end(),
                                                 [](const index_row& chunk) { return !is_summary(chunk.type); });
    std::stable_sort(summaries, chunks.end(), before_in_index{});
    std::vector<index_page_row> list;
    std::vector<std::byte> pages;
    const auto put = [&](std::span<const index_row> part) {
      for (std::size_t at = 0; at < part.size(); at += chunks_a_page) {
        const auto page = part.subspan(at, std::min(chunks_a_page, part.size() - at));
        encode_chunk(page);
        list.push_back(page_of(page));
        list.back().offset = pages.size();
        list.back().stored_bytes = static_cast<std::uint32_t>(stored.size() - sizeof(chunk_header));
        pages.insert(pages.end(), stored.begin(), stored.end());
      }
    };
    const auto events = static_cast<std::size_t>(summaries - chunks.begin());
    put(std::span<const index_row>(chunks).first(events));
    put(std::span<const index_row>(chunks).subspan(events));
    const std::uint64_t list_at = offset;
    encode_chunk(std::span<const index_page_row>(list));
    if (!write_all(stored)) return offset;
    const std::uint64_t begin = offset;
    if (!write_all(pages)) return begin;
    row_encoder::outcome mark;
    mark.extent.min_time = static_cast<time_ns>(list_at);
    stored.assign(sizeof(chunk_header), std::byte{});
    stored.push_back(std::byte{0});  // No columns.
    put_header(row_type::index, 0, mark);
    static_assert(pages_mark_bytes == sizeof(chunk_header) + 1);
    write_all(stored);
    return begin;
  }

  /// Cuts off what an incomplete write left.
  void cut_tail() {
    if (ragged) ragged = ::ftruncate(fd, static_cast<off_t>(offset)) != 0;
  }

  /// Writes all bytes or none: an incomplete write is cut off again.
  bool write_all(std::span<const std::byte> bytes) {
    cut_tail();
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t wrote = ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        const int why = wrote < 0 ? errno : ENOSPC;
        failure = error{code_of_failed_write(why), "cannot write: " + describe_errno(why), named, offset,
                        is_full_disk(why) ? full_disk_hint(bytes.size()) : ""};
        ragged = true;
        cut_tail();
        return false;
      }
      done += static_cast<std::size_t>(wrote);
    }
    offset += bytes.size();
    return true;
  }

  /// What to do once a write of `bytes` found no room.
  [[nodiscard]] std::string full_disk_hint(std::size_t bytes) const {
    if (options.outlives_failures) return "free some space; what was recorded before is kept";
    return "it needs more than " + format_bytes(static_cast<double>(offset + bytes)) +
           ": free some space, or name a place with more room";
  }

  /// Adds a chunk of another file, with its header in `bytes`. False if it could not be written.
  bool write_copy(index_row chunk, std::span<const std::byte> bytes) {
    chunk.offset = offset;
    if (!write_all(bytes)) return false;
    of<index_row>().push_back(chunk);
    return true;
  }

  using time_pair = std::pair<time_ns, time_ns>;

  /// Encodes and writes at most `max_chunk_rows` rows. `over`: the time range to store for the chunk.
  template <class Row>
  void write_chunk(std::span<const Row> rows, std::optional<time_pair> over = std::nullopt) {
    stored.assign(sizeof(chunk_header), std::byte{});
    row_encoder::outcome encoded = encoder.encode(rows, stored);
    if (encoded.decoded_bytes > max_chunk_bytes && rows.size() > 1) {
      write_chunk(rows.first(rows.size() / 2), over);
      if (!failure) write_chunk(rows.subspan(rows.size() / 2), over);
      return;
    }
    if (over) std::tie(encoded.extent.min_time, encoded.extent.max_time) = *over;
    write_stored(type_of_row<Row>, rows.size(), encoded);
  }

  /// Encodes and writes rows held as columns, as one chunk, which without texts is never too large.
  template <class Row>
  void write_chunk(row_columns<Row>& rows) {
    static_assert(max_chunk_rows * field_count<Row> * sizeof(std::uint64_t) < max_chunk_bytes / 2);
    stored.assign(sizeof(chunk_header), std::byte{});
    const row_encoder::outcome encoded = encoder.encode(rows.cut(), stored);
    write_stored(type_of_row<Row>, rows.size(), encoded);
  }

  /// Leaves a chunk of these rows, which must be few and short enough for one, in `stored`.
  template <class Row>
  void encode_chunk(std::span<const Row> rows) {
    stored.assign(sizeof(chunk_header), std::byte{});
    put_header(type_of_row<Row>, rows.size(), encoder.encode(rows, stored));
  }

  /// Completes the chunk in `stored` by its header, and returns that.
  chunk_header put_header(row_type type, std::size_t rows, const row_encoder::outcome& encoded) {
    const row_extent& extent = encoded.extent;
    const std::size_t packed = stored.size() - sizeof(chunk_header);
    chunk_header header;
    header.type = static_cast<std::uint16_t>(type);
    header.rows = static_cast<std::uint32_t>(rows);
    header.raw_bytes = static_cast<std::uint32_t>(encoded.decoded_bytes);
    header.stored_bytes = static_cast<std::uint32_t>(packed);
    header.flags = chunk_flag_columns;
    header.min_time = extent.min_time;
    header.max_time = extent.max_time;
    header.payload_checksum = XXH3_64bits(stored.data() + sizeof header, packed);
    header.checksum = header_checksum(header);
    std::memcpy(stored.data(), &header, sizeof header);
    return header;
  }

  /// Writes the payload in `stored`, which begins with space for the header.
  void write_stored(row_type type, std::size_t rows, const row_encoder::outcome& encoded) {
    const chunk_header header = put_header(type, rows, encoded);
    const std::uint64_t at = offset;
    cut_off = cut_off || is_shorter_than_written();  // Check now: the next write makes the file long again.
    if (!write_all(stored) || type == row_type::index) return;
    of<index_row>().push_back({type, header.rows, at, header.stored_bytes, header.raw_bytes, header.min_time,
                               header.max_time, encoded.extent.lowest_event, encoded.extent.highest_event});
  }

  /// Writes the waiting rows of one type, unless a write has failed. `most`: rows per chunk, for types other than events.
  template <class Row>
  void flush_rows(std::size_t most = max_chunk_rows) {
    buffer<Row>& rows = of<Row>();
    if constexpr (is_event_row<Row>) {
      if (rows.size() != 0 && !failure) write_chunk(rows);
      if (rows.size() != 0 && is_stopped()) dropped.take(rows);
      rows.clear();
    } else {
      std::size_t written = 0;
      while (written < rows.size() && !failure) {
        const std::size_t next = std::min(most, rows.size() - written);
        write_chunk(std::span<const Row>(rows).subspan(written, next));
        if (!failure) written += next;
      }
      if (is_stopped()) {
        wait_longer(rows, written);
      } else {
        rows.clear();
      }
    }
  }

  /// Keeps unwritten table rows in memory, at most 64 MiB, until writes succeed again, as later events refer to them.
  template <class Row>
  void wait_longer(std::vector<Row>& rows, std::size_t written) {
    constexpr std::size_t most_waiting = (std::size_t{64} << 20) / sizeof(Row);
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(written));
    if (rows.size() <= most_waiting) return;
    dropped.take_definitions(type_of_row<Row>, rows.size() - most_waiting);
    rows.resize(most_waiting);
  }

  /// True if a write has failed, and the writer drops and counts rows until `resume` succeeds.
  [[nodiscard]] bool is_stopped() const { return options.outlives_failures && failure; }

  /// Writes the frees that were kept, which may be more than a chunk takes.
  void write_kept_frees() {
    std::vector<free_event>& frees = dropped.frees;
    std::size_t written = 0;
    while (written < frees.size() && !failure) {
      const std::size_t next = std::min(max_chunk_rows, frees.size() - written);
      write_chunk(std::span<const free_event>(frees).subspan(written, next));
      if (!failure) written += next;
    }
    frees.erase(frees.begin(), frees.begin() + static_cast<std::ptrdiff_t>(written));
  }

  /// Writes the kept frees, and rows that report what was lost.
  void write_losses() {
    write_kept_frees();
    if (failure) return;
    std::vector<loss_event> rows;
    for (const auto& [process, lost] : dropped.processes()) {
      loss_event row;
      row.id = static_cast<event_id>(++last_event);
      row.process = process;
      row.time = dropped.begin();
      row.end = dropped.end();
      row.events = lost.events;
      row.memory_events = lost.memory_events;
      rows.push_back(row);
    }
    if (!rows.empty()) write_chunk(std::span<const loss_event>(rows));
  }

  /// Returns the rows of a written chunk, or nothing if the chunk cannot be read.
  template <class Row>
  std::optional<std::vector<Row>> read_back(const index_row& chunk) const {
    std::vector<std::byte> bytes(chunk.stored_bytes);
    const auto at = static_cast<off_t>(chunk.offset + sizeof(chunk_header));
    if (::pread(fd, bytes.data(), bytes.size(), at) != static_cast<ssize_t>(bytes.size())) return std::nullopt;
    std::vector<Row> rows;
    if (!decode_rows<Row>(bytes, chunk.rows, rows)) return std::nullopt;
    return rows;
  }

  /// The rest of a file whose last write failed. Tries once more to write what waits. On a disk that stays full the last
  /// chunks make room for the report of the loss: rows that refer to a removed row come after it, so they are removed, too.
  void end_stopped() {
    const error why = *failure;
    failure.reset();
    flush_tables();
    if (!failure) write_losses();
    if (failure) dropped.give_up_frees();
    if (failure && failure->code == error_code::no_space) write_losses_over_last_chunks();
    losses_told = !failure || dropped.processes().empty();
    failure = why;
  }

  /// Removes a MiB or so at most: where even that room does not suffice, others fill the disk, and would take it, too.
  void write_losses_over_last_chunks() {
    constexpr std::uint64_t most_removed = std::uint64_t{1} << 20;
    auto& chunks = of<index_row>();
    const std::uint64_t end = offset;
    while (failure && !dropped.processes().empty() && !chunks.empty() && end - offset < most_removed) {
      const index_row last = chunks.back();
      const auto losses = last.type == row_type::loss ? read_back<loss_event>(last) : std::nullopt;
      const auto frees = last.type == row_type::free ? read_back<free_event>(last) : std::nullopt;
      if (::ftruncate(fd, static_cast<off_t>(last.offset)) != 0) break;
      chunks.pop_back();
      offset = last.offset;
      if (losses) {
        for (const loss_event& row : *losses) dropped.take(row);
      } else if (frees) {
        for (const free_event& row : *frees) dropped.take(row);
      } else {
        dropped.take(last.type, last.rows, last.min_time, last.max_time);
      }
      failure.reset();
      write_losses();
    }
  }

  void flush_tables() {
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_table(row_type::kind)) flush_rows<row>();
    SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
  }

  [[nodiscard]] bool takes_rows() const { return fd >= 0 && (!failure || is_stopped()); }

  template <class Row>
  void write_if_full() {
    if (of<Row>().size() < options.rows_per_chunk) return;
    flush_what_explains();
    flush_rows<Row>();
  }

  /// Writes the rows that must be in the file before the events that follow them: names, and losses. So in a file whose
  /// writer is killed no event is missing that nothing counts.
  void flush_what_explains() {
    flush_tables();
    flush_rows<loss_event>();
  }

  void flush_all() {
    flush_what_explains();
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_event(row_type::kind)) flush_rows<row>();
    SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
  }

  /// Tells readers of the growing file that all rows so far are in it: see `is_flush_mark`.
  void write_flush_mark() {
    if (failure || offset == marked_until) return;
    stored.assign(sizeof(chunk_header), std::byte{});
    write_stored(row_type::index, 0, {});
    if (!failure) marked_until = offset;
  }

  /// Sets the file to write, which `publish` moves to its final place.
  void write_to(replacement made) {
    path = made.path();
    fd = made.take_descriptor();
    unpublished.emplace(std::move(made));
  }

  /// Moves the file to its final place.
  result<void> publish() {
    if (!unpublished) return {};
    if (auto placed = unpublished->commit(); !placed) return placed;
    unpublished.reset();
    path = named;
    return {};
  }

  result<void> outcome() const {
    if (failure) return tl::unexpected<error>(*failure);
    return {};
  }
};

}  // namespace sluice::trace
