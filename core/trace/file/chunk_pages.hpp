#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/trace/file/chunk_source.hpp"
#include "core/trace/file/index_pages.hpp"

/// The index of a large file, read in pages. Private to core/trace/file.
namespace sluice::trace {

class chunk_pages {
 public:
  using page = std::vector<chunk_info>;

  /// Reads the list of pages of a file of `file_size` bytes; null if there is none that this version can use. Then the
  /// index is read as a whole, or the chunks are found without it. O(pages).
  [[nodiscard]] static std::shared_ptr<const chunk_pages> open(const chunk_source& from, std::uint64_t file_size);

  /// What the pages list. Those of tables and events come first.
  [[nodiscard]] std::span<const index_page_row> pages() const { return pages_; }
  [[nodiscard]] std::size_t pages_of_events() const { return pages_of_events_; }

  /// The chunks that page `number` lists, kept for the next time. What a damaged page should list is found by a walk
  /// through the whole file.
  [[nodiscard]] std::shared_ptr<const page> read(std::size_t number) const;
  /// Appends the chunks of pages [first, behind) to `all`, and keeps none.
  void read_all(std::size_t first, std::size_t behind, std::vector<chunk_info>& all) const;
  /// What is said of damaged pages that were read so far: nothing if there was none.
  [[nodiscard]] std::string damage() const;
  /// False if a page that lists tables is damaged.
  [[nodiscard]] bool read_tables(std::vector<chunk_info>& tables) const;

 private:
  chunk_pages(const chunk_source& from, std::uint64_t file_size) : from_(from), file_size_(file_size) {}
  [[nodiscard]] bool load();
  [[nodiscard]] result<void> decode(std::size_t number, page& into) const;
  [[nodiscard]] page found_by_walk(std::size_t number) const;
  void walk() const;

  const chunk_source from_;
  const std::uint64_t file_size_;
  std::uint64_t begin_ = 0;  ///< Where the pages begin.
  std::vector<index_page_row> pages_;
  std::vector<std::size_t> first_;  ///< Number of the first chunk of each page, and of all.
  std::size_t pages_of_events_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const page>> kept_;
  mutable std::once_flag walked_;
  mutable std::vector<chunk_info> walked_chunks_;  ///< By a walk: tables and events, then summaries.
  mutable std::string damage_;                     ///< Guarded by `mutex_`.
};

}  // namespace sluice::trace
