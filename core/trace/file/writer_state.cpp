#include "core/trace/file/writer_state.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/files/full_disk.hpp"
#include "core/trace/file/index_pages.hpp"

namespace sluice::trace {

file_header file_writer::state::own_header() const {
  file_header header;
  header.flags = options.simulated ? file_flag_simulated : 0;
  header.realtime_origin = options.realtime_origin;
  header.checksum = header_checksum(header);
  return header;
}

bool file_writer::state::write_file_header() {
  const file_header begin = own_header();
  say_origin(origin::stage::growing);
  return write_all(std::as_bytes(std::span(&begin, 1)));
}

void file_writer::state::say_origin(origin::stage now) const {
  const file_header begin = own_header();
  if (options.recorded_here) {
    origin::mark(fd, std::as_bytes(std::span(&begin, 1)), now);
  } else {
    origin::unmark(fd);
  }
}

bool file_writer::state::is_shorter_than_written() const {
  struct stat now {};
  return ::fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && static_cast<std::uint64_t>(now.st_size) < offset;
}

bool file_writer::state::has_own_header() const {
  const file_header wanted = own_header();
  file_header found{};
  return ::pread(fd, &found, sizeof found, 0) == sizeof found && std::memcmp(&found, &wanted, sizeof found) == 0;
}

bool file_writer::state::read_back(const index_row& chunk, std::vector<std::byte>& bytes) const {
  bytes.resize(sizeof(chunk_header) + chunk.stored_bytes);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(chunk.offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  chunk_header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header.checksum == header_checksum(header) &&
         header.payload_checksum == XXH3_64bits(bytes.data() + sizeof header, chunk.stored_bytes);
}

void file_writer::state::write_end() {
  trailer t;
  t.index_offset = offset;
  if (of<index_row>().size() > max_chunks_unpaged && of<index_row>().size() <= max_chunks_paged) {
    if (!failure) t.index_offset = write_pages();
  } else if (!failure) {
    flush_rows<index_row>();
  }
  t.checksum = header_checksum(t);
  if (!failure) write_all(std::as_bytes(std::span(&t, 1)));
  cut_tail();
  say_origin(origin::stage::closed);
}

std::uint64_t file_writer::state::write_pages() {
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
      list.push_back(find_page(page));
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
  stored.push_back(std::byte{0});  // The payload has no columns.
  put_header(row_type::index, 0, mark);
  static_assert(pages_mark_bytes == sizeof(chunk_header) + 1);
  write_all(stored);
  return begin;
}

void file_writer::state::cut_tail() {
  if (ragged) ragged = ::ftruncate(fd, static_cast<off_t>(offset)) != 0;
}

bool file_writer::state::write_all(std::span<const std::byte> bytes) {
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

bool file_writer::state::write_copy(index_row chunk, std::span<const std::byte> bytes) {
  chunk.offset = offset;
  if (!write_all(bytes)) return false;
  of<index_row>().push_back(chunk);
  return true;
}

template <class Row>
void file_writer::state::write_chunk(std::span<const Row> rows, std::optional<time_pair> over) {
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

template <class Row>
void file_writer::state::write_chunk(row_columns<Row>& rows) {
  static_assert(max_chunk_rows * field_count<Row> * sizeof(std::uint64_t) < max_chunk_bytes / 2);
  stored.assign(sizeof(chunk_header), std::byte{});
  const row_encoder::outcome encoded = encoder.encode(rows.cut(), stored);
  write_stored(type_of_row<Row>, rows.size(), encoded);
}

template <class Row>
void file_writer::state::encode_chunk(std::span<const Row> rows) {
  stored.assign(sizeof(chunk_header), std::byte{});
  put_header(type_of_row<Row>, rows.size(), encoder.encode(rows, stored));
}

chunk_header file_writer::state::put_header(row_type type, std::size_t rows, const row_encoder::outcome& encoded) {
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

void file_writer::state::write_stored(row_type type, std::size_t rows, const row_encoder::outcome& encoded) {
  const chunk_header header = put_header(type, rows, encoded);
  const std::uint64_t at = offset;
  cut_off = cut_off || is_shorter_than_written();  // Check now: the next write makes the file long again.
  if (!write_all(stored) || type == row_type::index) return;
  of<index_row>().push_back({type, header.rows, at, header.stored_bytes, header.raw_bytes, header.min_time,
                             header.max_time, encoded.extent.lowest_event, encoded.extent.highest_event});
}

template <class Row>
void file_writer::state::wait_longer(std::vector<Row>& rows, std::size_t written) {
  constexpr std::size_t most_waiting = (std::size_t{64} << 20) / sizeof(Row);
  rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(written));
  if (rows.size() <= most_waiting) return;
  dropped.take_definitions(type_of_row<Row>, rows.size() - most_waiting);
  rows.resize(most_waiting);
}

template <class Row>
void file_writer::state::flush_rows(std::size_t most) {
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

void file_writer::state::flush_tables() {
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_table(row_type::kind)) flush_rows<row>();
  SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
}

void file_writer::state::flush_what_explains() {
  flush_tables();
  flush_rows<loss_event>();
}

void file_writer::state::flush_all() {
  flush_what_explains();
#define SLUICE_FLUSH(row, kind) \
  if constexpr (is_event(row_type::kind)) flush_rows<row>();
  SLUICE_FOR_EACH_ROW(SLUICE_FLUSH)
#undef SLUICE_FLUSH
}

void file_writer::state::write_flush_mark() {
  if (failure || offset == marked_until) return;
  stored.assign(sizeof(chunk_header), std::byte{});
  write_stored(row_type::index, 0, {});
  if (!failure) marked_until = offset;
}

void file_writer::state::write_to(replacement output) {
  path = output.path();
  fd = output.take_descriptor();
  unpublished.emplace(std::move(output));
}

result<void> file_writer::state::publish() {
  if (!unpublished) return {};
  if (auto placed = unpublished->commit(); !placed) return placed;
  unpublished.reset();
  path = named;
  return {};
}

#define SLUICE_INSTANTIATE(row, kind) template void file_writer::state::flush_rows<row>(std::size_t);
SLUICE_FOR_EACH_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

#define SLUICE_INSTANTIATE(row, kind) \
  template void file_writer::state::write_chunk(std::span<const row>, std::optional<time_pair>);
SLUICE_INSTANTIATE(free_event, free)
SLUICE_INSTANTIATE(loss_event, loss)
SLUICE_FOR_EACH_SUMMARY_ROW(SLUICE_INSTANTIATE)
#undef SLUICE_INSTANTIATE

}  // namespace sluice::trace
