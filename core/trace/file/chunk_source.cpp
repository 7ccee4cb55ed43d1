#include "core/trace/file/chunk_source.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "core/trace/file/checksum.hpp"

namespace sluice::trace {
namespace {

constexpr std::size_t max_stored = ZSTD_COMPRESSBOUND(max_chunk_bytes);
/// If a chunk is larger than this according to its index entry, its header is checked before memory is allocated for
/// the rest.
constexpr std::size_t read_at_once = std::size_t{64} << 10;

}  // namespace

bool is_sound(const chunk_header& header) {
  return header.magic == chunk_magic && header.checksum == header_checksum(header) && header.rows <= max_chunk_rows &&
         header.raw_bytes <= max_chunk_bytes && header.stored_bytes <= max_stored;
}

bool is_known(row_type type) {
#define SLUICE_KNOWN(row, kind) \
  if (type == row_type::kind) return true;
  SLUICE_FOR_EACH_ROW(SLUICE_KNOWN)
#undef SLUICE_KNOWN
  return false;
}

result<void> chunk_source::read_exactly(std::uint64_t offset, std::span<std::byte> bytes) const {
  const auto got = bytes_->read_at(offset, bytes);
  if (!got) return tl::unexpected<error>(got.error());
  if (*got < bytes.size()) {
    return fail(error_code::corrupt, "the file ends in the middle of a chunk", path(), {}, offset + *got);
  }
  return {};
}

result<std::span<const std::byte>> chunk_source::payload(const chunk_info& chunk,
                                                         std::vector<std::byte>& memory) const {
  chunk_header header;
  const std::size_t first = sizeof header + std::min<std::size_t>(chunk.stored_bytes, read_at_once);
  memory.resize(first);
  if (auto got = read_exactly(chunk.offset, memory); !got) return tl::unexpected<error>(got.error());
  std::memcpy(&header, memory.data(), sizeof header);
  if (!is_sound(header) || header.type != static_cast<std::uint16_t>(chunk.type) || header.rows != chunk.rows ||
      header.stored_bytes != chunk.stored_bytes) {
    return fail(error_code::corrupt, "the index lists a chunk that is not in the file", path(), {}, chunk.offset);
  }
  memory.resize(sizeof header + header.stored_bytes);
  if (auto got = read_exactly(chunk.offset + first, std::span(memory).subspan(first)); !got)
    return tl::unexpected<error>(got.error());
  const std::span<const std::byte> stored = std::span(memory).subspan(sizeof header);
  if (XXH3_64bits(stored.data(), stored.size()) != header.payload_checksum) {
    return fail(error_code::corrupt, "a chunk's checksum is wrong", path(), "the file was damaged", chunk.offset);
  }
  if ((header.flags & chunk_flag_columns) == 0)
    return fail(error_code::corrupt, "a chunk's payload has an unknown form", path(), {}, chunk.offset);
  return stored;
}

result<void> chunk_source::read_index_page(const chunk_info& page, std::vector<chunk_info>& into) const {
  thread_scratch<index_row> lines;
  if (auto got = rows<index_row>(page, *lines); !got) return got;
  for (const index_row& line : *lines) {
    if (line.offset < sizeof(file_header) || line.offset >= page.offset || line.rows > max_chunk_rows) {
      return fail(error_code::corrupt, "the index lists a chunk outside the file", path(), {}, page.offset);
    }
    into.push_back({line.type, line.rows, line.offset, line.stored_bytes, line.raw_bytes, line.min_time, line.max_time,
                    line.lowest_event, line.highest_event});
  }
  return {};
}

result<trailer> chunk_source::read_trailer(std::uint64_t file_size) const {
  if (file_size < sizeof(file_header) + sizeof(trailer)) return fail(error_code::corrupt, "has no index", path());
  const std::uint64_t at = file_size - sizeof(trailer);
  auto end_mark = read_object<trailer>(at);
  if (!end_mark) return tl::unexpected<error>(end_mark.error());
  if (end_mark->magic != trailer_magic || end_mark->checksum != header_checksum(*end_mark))
    return fail(error_code::corrupt, "has no index", path());
  return end_mark;
}

std::uint64_t chunk_source::find_chunk(std::uint64_t begin, std::uint64_t file_size) const {
  std::vector<std::byte> window(std::size_t{1} << 20);
  while (begin + sizeof(chunk_header) <= file_size) {
    const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(window.size(), file_size - begin));
    if (!read_exactly(begin, std::span(window).first(length))) return file_size;
    for (std::size_t i = 0; i + sizeof(chunk_header) <= length; ++i) {
      chunk_header header;
      std::memcpy(&header.magic, window.data() + i, sizeof header.magic);
      if (header.magic != chunk_magic) continue;
      std::memcpy(&header, window.data() + i, sizeof header);
      if (is_sound(header)) return begin + i;
    }
    if (begin + length == file_size) return file_size;
    begin += length - sizeof(chunk_header) + 1;
  }
  return file_size;
}

bool chunk_source::is_trailer(std::uint64_t at) const {
  const auto end_mark = read_object<trailer>(at);
  return end_mark && end_mark->magic == trailer_magic && end_mark->checksum == header_checksum(*end_mark);
}

bool chunk_source::walk(std::uint64_t& at, std::uint64_t file_size, walk_events& to) const {
  while (at + sizeof(chunk_header) <= file_size) {
    const auto header = read_object<chunk_header>(at);
    if (!header) return false;
    if (!is_sound(*header)) {
      if (is_trailer(at)) return true;
      const std::uint64_t next = find_chunk(at, file_size);
      if (next == file_size) return false;
      to.skipped(at, next - at);
      at = next;
      continue;
    }
    const std::uint64_t next = at + sizeof(chunk_header) + header->stored_bytes;
    if (next > file_size) return false;
    const auto type = static_cast<row_type>(header->type);
    if (type != row_type::index) {
      to.found(
          {type, header->rows, at, header->stored_bytes, header->raw_bytes, header->min_time, header->max_time, 0, 0});
    }
    at = next;
    if (is_flush_mark(header->type, header->rows)) to.flushed(at);
  }
  return at + sizeof(trailer) <= file_size && is_trailer(at);
}

}  // namespace sluice::trace
