#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/trace/file/index_pages.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

namespace sluice::trace {

/// Position and extent of a chunk. Chunks may overlap in time, because events can arrive arbitrarily late.
struct chunk_info {
  row_type type{};
  std::uint32_t rows = 0;
  std::uint64_t offset = 0;        ///< Offset of the chunk's header in the file.
  std::uint32_t stored_bytes = 0;  ///< Size of the payload in the file.
  std::uint32_t raw_bytes = 0;     ///< Size of the decoded payload.
  time_ns min_time = 0;            ///< Range of the rows' times and ends; 0 for tables. For tile bins, the time range
                                   ///< of their tile.
  time_ns max_time = 0;
  /// Range of the rows' event ids; for attributes and links, range of the ids of the events that they refer to. 0:
  /// unknown, because the file is not closed.
  std::uint64_t lowest_event = 0;
  std::uint64_t highest_event = 0;
};

class chunk_pages;

/// A list of chunks, either in memory or in the index of a file, which is read on demand. The list is divided into
/// pages, and a summary of each page makes it possible to read only a few pages in a search. Immutable and thread-safe.
class chunk_list {
 public:
  /// Creates a list in memory. Sorts summary chunks into index order. O(chunks), or O(chunks * log chunks) if they are
  /// not in that order.
  explicit chunk_list(std::vector<chunk_info> infos = {});
  /// Creates a list of the chunks in the pages [first, behind) of an index.
  chunk_list(std::shared_ptr<const chunk_pages> pages, std::size_t first, std::size_t behind);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// All chunks. The first call reads all pages of the index.
  [[nodiscard]] std::span<const chunk_info> all() const;
  /// Returns chunk number `index`; a chunk without rows if there is no such chunk. Reads at most one page.
  [[nodiscard]] chunk_info at(std::size_t index) const;

  /// Calls `use(index, chunk)`, in order, for each chunk whose type satisfies `wanted(type)`. If `begin` and `to` are
  /// given, only summary chunks that overlap [from, to] are wanted. Reads only the pages that may list such chunks.
  /// O(pages + chunks in the pages read).
  template <class Wanted, class Use>
  void for_each(Wanted&& wanted, Use&& use, time_ns begin = INT64_MIN, time_ns to = INT64_MAX) const;
  /// Returns the chunks with rows of tiles that span [first, last], in order.
  [[nodiscard]] std::vector<chunk_info> of_tile(time_ns first, time_ns last) const;
  /// Returns a bit mask of tile lengths. Bit n is set if there are chunks of tiles of 2^n ns. Bit 0 is set if there are
  /// chunks with spans that no tile can have.
  [[nodiscard]] std::uint64_t tile_levels() const;
  /// Returns the range of the chunks' times. Chunks of tables, attributes and links are not considered. begin > end if
  /// there are no other chunks.
  [[nodiscard]] std::pair<time_ns, time_ns> times() const;
  /// Describes the damage found in the index so far; empty if there is none.
  [[nodiscard]] std::string damage() const;

 private:
  struct page {
    index_page_row about;
    std::size_t first = 0;  ///< The number, in the list, of the page's first chunk.
  };
  /// The chunks of a page, and the object that owns their memory.
  struct held_page {
    std::span<const chunk_info> chunks;
    std::shared_ptr<const std::vector<chunk_info>> owner;
  };
  [[nodiscard]] held_page read(std::size_t page) const;
  void add_pages(std::span<const index_page_row> more);

  std::vector<page> pages_;
  std::size_t size_ = 0;
  std::shared_ptr<const chunk_pages> from_;  ///< Null if the list is in memory.
  std::size_t first_page_ = 0;               ///< The number, in `from_`, of this list's first page.
  mutable std::once_flag read_all_;
  mutable std::vector<chunk_info> all_;
};

template <class Wanted, class Use>
void chunk_list::for_each(Wanted&& wanted, Use&& use, time_ns begin, time_ns to) const {
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    const index_page_row& about = pages_[p].about;
    if (about.min_time > to || about.max_time < begin || !lists_any(about, wanted)) continue;
    const held_page held = read(p);
    for (std::size_t i = 0; i < held.chunks.size(); ++i) {
      const chunk_info& chunk = held.chunks[i];
      if (wanted(chunk.type) && chunk.min_time <= to && chunk.max_time >= begin) use(pages_[p].first + i, chunk);
    }
  }
}

}  // namespace sluice::trace
