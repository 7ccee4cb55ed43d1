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

/// Reads the index of a large file page by page. The index, at the end of the file, lists the file's chunks. Private to
/// core/trace/file.
namespace sluice::trace {

class chunk_pages {
 public:
  using page = std::vector<chunk_info>;

  /// Reads the list of pages of a file of `file_size` bytes. Returns null if the file has no list that this version can
  /// use; the caller must then read the index as a whole, or find the chunks without an index. O(pages).
  [[nodiscard]] static std::shared_ptr<const chunk_pages> open(const chunk_source& source, std::uint64_t file_size);

  /// Describes the contents of each page. Pages of tables and events come first.
  [[nodiscard]] std::span<const index_page_row> pages() const { return pages_; }
  [[nodiscard]] std::size_t pages_of_events() const { return pages_of_events_; }

  /// Returns the chunks listed by page `number`, and keeps them for later calls. If a page is damaged, its chunks are
  /// found by walking through the whole file.
  [[nodiscard]] std::shared_ptr<const page> read(std::size_t number) const;
  /// Appends the chunks listed by the pages [first, end) to `infos`. Does not keep the pages.
  void read_all(std::size_t first, std::size_t end, std::vector<chunk_info>& infos) const;
  /// Describes the damage in the pages read so far; empty if there is none.
  [[nodiscard]] std::string damage() const;
  /// Reads the chunks of all tables. Returns false if a page that lists tables is damaged.
  [[nodiscard]] bool read_tables(std::vector<chunk_info>& tables) const;

 private:
  chunk_pages(const chunk_source& source, std::uint64_t file_size) : from_(source), file_size_(file_size) {}
  [[nodiscard]] bool load();
  [[nodiscard]] result<void> decode(std::size_t number, page& into) const;
  /// Returns the chunks of a page that could not be read. If the file can be read, a walk finds them.
  [[nodiscard]] page without_index(std::size_t number, const error& why) const;
  void walk() const;

  const chunk_source from_;
  const std::uint64_t file_size_;
  std::uint64_t begin_ = 0;  ///< File offset of the first page.
  std::vector<index_page_row> pages_;
  std::vector<std::size_t> first_;  ///< The number of each page's first chunk. The last element is the number of all
                                    ///< chunks.
  std::size_t pages_of_events_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const page>> kept_;
  mutable std::once_flag walked_;
  mutable std::vector<chunk_info> walked_chunks_;  ///< The chunks found by walking through the file: tables and events,
                                                   ///< then summaries.
  mutable std::string damage_;                     ///< Guarded by `mutex_`.
};

}  // namespace sluice::trace
