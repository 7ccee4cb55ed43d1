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
  time_ns min_time = 0;            ///< Over the rows' times and ends; 0 for tables. For bins of tiles: their tile's.
  time_ns max_time = 0;
  /// Range of the rows' event ids; for attributes and links, of the events they refer to. 0: unknown (file not closed).
  std::uint64_t lowest_event = 0;
  std::uint64_t highest_event = 0;
};

class chunk_pages;

/// A list of chunks that is in memory, or in the index of a file and read as it is needed. Either way it is divided into
/// pages, of which is known what they list, so that a search looks at few of them. Immutable; thread-safe.
class chunk_list {
 public:
  /// A list in memory. Sorts summaries as an index has them. O(chunks), O(chunks * log chunks) for unsorted summaries.
  explicit chunk_list(std::vector<chunk_info> all = {});
  /// Pages [first, behind) of an index.
  chunk_list(std::shared_ptr<const chunk_pages> from, std::size_t first, std::size_t behind);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// All chunks. Reads all pages of the index the first time.
  [[nodiscard]] std::span<const chunk_info> all() const;
  /// Chunk `index`, or one without rows if there is none. Reads one page at most.
  [[nodiscard]] chunk_info at(std::size_t index) const;

  /// Calls `use(index, chunk)` in order for the chunks of the types for which `wanted(type)` is true, of summaries for
  /// those that overlap [from, to]. Reads the pages that may list some. O(pages + chunks in these).
  template <class Wanted, class Use>
  void for_each(Wanted&& wanted, Use&& use, time_ns from = INT64_MIN, time_ns to = INT64_MAX) const;
  /// The chunks with rows of tiles whose span is [first, last], in order.
  [[nodiscard]] std::vector<chunk_info> of_tile(time_ns first, time_ns last) const;
  /// Bit n: there are chunks of tiles of 2^n ns; bit 0: of spans that no tile can have.
  [[nodiscard]] std::uint64_t tile_levels() const;
  /// The hull of the chunks' times but for tables, attributes and links: begin > end if there are none.
  [[nodiscard]] std::pair<time_ns, time_ns> times() const;
  /// What is said of damage in the index that was found so far: nothing if there was none.
  [[nodiscard]] std::string damage() const;

 private:
  struct page {
    index_page_row about;
    std::size_t first = 0;  ///< Number of its first chunk in the list.
  };
  /// The chunks of a page, and what keeps them in memory.
  struct held_page {
    std::span<const chunk_info> chunks;
    std::shared_ptr<const std::vector<chunk_info>> owner;
  };
  [[nodiscard]] held_page read(std::size_t page) const;
  void add_pages(std::span<const index_page_row> more);

  std::vector<page> pages_;
  std::size_t size_ = 0;
  std::shared_ptr<const chunk_pages> from_;  ///< Null if the list is in memory.
  std::size_t first_page_ = 0;               ///< In `from_`.
  mutable std::once_flag read_all_;
  mutable std::vector<chunk_info> all_;
};

template <class Wanted, class Use>
void chunk_list::for_each(Wanted&& wanted, Use&& use, time_ns from, time_ns to) const {
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    const index_page_row& about = pages_[p].about;
    if (about.min_time > to || about.max_time < from || !lists_any(about, wanted)) continue;
    const held_page held = read(p);
    for (std::size_t i = 0; i < held.chunks.size(); ++i) {
      const chunk_info& chunk = held.chunks[i];
      if (wanted(chunk.type) && chunk.min_time <= to && chunk.max_time >= from) use(pages_[p].first + i, chunk);
    }
  }
}

}  // namespace sluice::trace
