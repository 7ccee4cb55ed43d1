#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "core/trace/model/schema.hpp"

/// The index at the end of a file lists the file's chunks. This header defines the order and the pages of a long index,
/// for code that writes, reads or searches it.
namespace sluice::trace {

/// An index of more chunks than this is written in pages, with a list of the pages, so that parts of it can be read.
inline constexpr std::size_t max_chunks_unpaged = 2048;
/// Number of chunks per page. Decoding a page takes about 0.1 ms.
inline constexpr std::size_t chunks_a_page = 1024;
/// The list of pages must fit in one chunk. An index of more chunks than this has no list and is read as a whole.
inline constexpr std::size_t max_chunks_paged = 65'000 * chunks_a_page;
/// The first number in each of the three groups of row types. An `index_page_row` has one bit for each type.
inline constexpr unsigned first_event_type = 64;
inline constexpr unsigned first_summary_type = 1024;

/// Returns the level of a tile with this span, which is 2^level ns long; 0 for a span that no tile can have.
[[nodiscard]] constexpr unsigned level_of_span(time_ns first, time_ns last) {
  const auto length = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
  if (last < first || !std::has_single_bit(length)) return 0;
  return static_cast<unsigned>(std::countr_zero(length));
}

/// Returns the position of a summary type in the index. Types with few chunks come first, because every reader needs
/// them. Tiles come last, in order of level and time.
[[nodiscard]] constexpr unsigned get_rank(row_type type) {
  switch (type) {
    case row_type::section:
    case row_type::curve:
    case row_type::lane:
    case row_type::saved:
      return 0;
    case row_type::chunk_reach:
      return 1;
    case row_type::step:
      return 2;
    default:
      return is_of_tile(type) ? UINT32_MAX : static_cast<unsigned>(type);
  }
}

/// True if summary chunk `a` comes before `b` in the index. Chunks that compare equal stay in file order.
struct before_in_index {
  template <class A, class B>
  [[nodiscard]] bool operator()(const A& a, const B& b) const {
    const unsigned left = get_rank(a.type), right = get_rank(b.type);
    if (left != right) return left < right;
    if (!is_of_tile(a.type)) return false;
    const unsigned upper = level_of_span(a.min_time, a.max_time), lower = level_of_span(b.min_time, b.max_time);
    return upper != lower ? upper > lower : a.min_time < b.min_time;
  }
};

/// Returns the list entry of a page that lists these chunks (`index_row` or `chunk_info`). The entry's offset is not
/// set.
template <class Chunk>
[[nodiscard]] index_page_row find_page(std::span<const Chunk> chunks) {
  index_page_row row;
  row.rows = static_cast<std::uint32_t>(chunks.size());
  for (const Chunk& chunk : chunks) {
    const auto type = static_cast<unsigned>(chunk.type);
    const auto bit = [&](unsigned first) { return type - first < 64 ? std::uint64_t{1} << (type - first) : 0; };
    if (is_table(chunk.type)) row.tables |= bit(0);
    if (is_event(chunk.type)) row.events |= bit(first_event_type);
    if (is_summary(chunk.type)) row.summaries |= bit(first_summary_type);
    if (is_of_tile(chunk.type)) row.levels |= std::uint64_t{1} << level_of_span(chunk.min_time, chunk.max_time);
    if (is_table(chunk.type) || chunk.type == row_type::attribute || chunk.type == row_type::link) continue;
    row.min_time = std::min(row.min_time, chunk.min_time);
    row.max_time = std::max(row.max_time, chunk.max_time);
  }
  return row;
}

/// True if the page lists chunks of a type for which `wanted(type)` is true.
template <class Wanted>
[[nodiscard]] bool lists_any(const index_page_row& page, Wanted&& wanted) {
  const auto any = [&](std::uint64_t types, unsigned first) {
    for (; types != 0; types &= types - 1) {
      const auto bit = static_cast<unsigned>(std::countr_zero(types));
      if (wanted(static_cast<row_type>(first + bit))) return true;
    }
    return false;
  };
  return any(page.tables, 0) || any(page.events, first_event_type) || any(page.summaries, first_summary_type);
}

}  // namespace sluice::trace
