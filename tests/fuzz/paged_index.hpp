#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/trace/columns/codec.hpp"
#include "core/trace/file/checksum.hpp"
#include "core/trace/file/index_pages.hpp"
#include "core/trace/file/layout.hpp"
#include "tests/fuzz/target.hpp"

/// Makes short recordings with a paged index. The writer splits an index into pages only if the recording is longer
/// than a fuzz input may be.
namespace sluice::fuzz {

namespace paged_index {

/// Appends an index chunk. Returns the size of its payload.
template <class Row>
inline std::size_t put_chunk(bytes& file, std::span<const Row> rows) {
  std::vector<std::byte> stored;
  const auto encoded = trace::row_encoder().encode(rows, stored);
  trace::chunk_header header;
  header.type = static_cast<std::uint16_t>(trace::row_type::index);
  header.rows = static_cast<std::uint32_t>(rows.size());
  header.raw_bytes = static_cast<std::uint32_t>(encoded.decoded_bytes);
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.flags = trace::chunk_flag_columns;
  header.payload_checksum = XXH3_64bits(stored.data(), stored.size());
  header.checksum = trace::header_checksum(header);
  const auto put = [&](const void* source, std::size_t count) {
    const auto* begin = static_cast<const std::uint8_t*>(source);
    file.insert(file.end(), begin, begin + count);
  };
  put(&header, sizeof header);
  put(stored.data(), stored.size());
  return stored.size();
}

/// The chunks that the index of `file` lists: events first, then tables.
inline std::vector<trace::index_row> get_chunks(const bytes& file, std::size_t index_at) {
  std::vector<trace::index_row> chunks;
  for (std::size_t at = index_at; at + sizeof(trace::trailer) < file.size();) {
    trace::chunk_header header;
    std::memcpy(&header, file.data() + at, sizeof header);
    std::vector<trace::index_row> some;
    const auto payload = std::as_bytes(std::span(file)).subspan(at + sizeof header, header.stored_bytes);
    if (!trace::decode_rows<trace::index_row>(payload, header.rows, some)) return {};
    chunks.insert(chunks.end(), some.begin(), some.end());
    at += sizeof header + header.stored_bytes;
  }
  const auto is_of_events = [](const trace::index_row& chunk) { return !trace::is_summary(chunk.type); };
  const auto summaries = std::stable_partition(chunks.begin(), chunks.end(), is_of_events);
  std::stable_sort(summaries, chunks.end(), trace::before_in_index{});
  return chunks;
}

}  // namespace paged_index

/// Converts the short index of a closed `file` to pages of `a_page` chunks each.
inline bytes with_index_in_pages(const bytes& file, std::size_t a_page) {
  trace::trailer end;
  if (file.size() < sizeof end) return file;
  std::memcpy(&end, file.data() + file.size() - sizeof end, sizeof end);
  const std::vector<trace::index_row> chunks = paged_index::get_chunks(file, end.index_offset);
  const std::span<const trace::index_row> rows(chunks);
  const auto of_events = static_cast<std::size_t>(
      std::count_if(chunks.begin(), chunks.end(), [](const auto& chunk) { return !trace::is_summary(chunk.type); }));
  std::vector<trace::index_page_row> list;
  bytes pages;
  for (std::size_t at = 0; at < rows.size(); at += list.back().rows) {
    const std::size_t behind = at < of_events ? of_events : rows.size();
    const auto page = rows.subspan(at, std::min(a_page, behind - at));
    list.push_back(trace::find_page(page));
    list.back().offset = pages.size();
    list.back().stored_bytes = static_cast<std::uint32_t>(paged_index::put_chunk(pages, page));
  }
  bytes output(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(end.index_offset));
  paged_index::put_chunk(output, std::span<const trace::index_page_row>(list));
  trace::chunk_header mark;
  mark.type = static_cast<std::uint16_t>(trace::row_type::index);
  mark.flags = trace::chunk_flag_columns;
  mark.stored_bytes = 1;
  mark.min_time = static_cast<trace::time_ns>(end.index_offset);
  const std::uint8_t no_columns = 0;
  mark.payload_checksum = XXH3_64bits(&no_columns, 1);
  mark.checksum = trace::header_checksum(mark);
  end.index_offset = output.size();
  end.checksum = trace::header_checksum(end);
  output.insert(output.end(), pages.begin(), pages.end());
  const auto put = [&](const auto& object) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&object);
    output.insert(output.end(), begin, begin + sizeof object);
  };
  put(mark);
  put(no_columns);
  put(end);
  return output;
}

}  // namespace sluice::fuzz
