#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time/time_range.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The time and id ranges of each chunk of events, so that a query about a short time or one event reads few chunks.
namespace sluice::index {

using chunk_reach = trace::chunk_reach_row;  ///< Times are clamped (`bounded`). An empty chunk has `time` > `end`.

/// Lists the chunks of a recording. Entries are either collected while the recording is read, or read from the file on
/// demand, so that opening a file takes the same time at any size. Immutable once filled, and then thread-safe.
class chunk_index {
 public:
  chunk_index() = default;
  /// Reads the entries on demand from the file of `recording`. O(chunks that store entries).
  explicit chunk_index(std::shared_ptr<const trace::snapshot> recording);

  /// Adds the next chunk of a recording that is being read, in file order. `type` is the type of its rows.
  void add(const chunk_reach& next, trace::row_type type);

  /// The entries in file order; empty if they are read from the file.
  [[nodiscard]] std::span<const chunk_reach> known() const { return known_; }

  /// Returns the numbers of the chunks for which `wanted(reach)` is true, in file order. `wanted` is first called with
  /// the combined ranges of a group of chunks; it must return true if it may return true for any chunk of the group.
  /// `wanted` may read `time`, `end`, `chunk` and the members in `looks_at`. O(groups + chunks in wanted groups).
  /// Errors: io, corrupt; none if the entries are in memory.
  template <class Wanted>
  [[nodiscard]] result<std::vector<std::size_t>> find(Wanted&& wanted,
                                                      trace::column_set<chunk_reach> looks_at = {}) const;
  [[nodiscard]] result<std::vector<std::size_t>> all() const {
    return find([](const chunk_reach&) { return true; });
  }

  /// Returns the chunks that queries about the time range `run` must read, in file order: chunks that overlap `run`,
  /// and all chunks of row types for which `matters_everywhere` is true. Cost and errors as for `find`.
  [[nodiscard]] result<std::vector<std::size_t>> in(time_range run, bool samples_known) const;

 private:
  static constexpr std::size_t known_a_page = 64;
  /// A group of up to `known_a_page` consecutive entries.
  struct page {
    chunk_reach all;           ///< The combined ranges of all entries of the page.
    trace::chunk_info stored;  ///< The chunk that stores the entries; unused if they are in `known_`.
  };
  struct far_chunk {
    std::size_t chunk = 0;
    trace::row_type type{};
  };

  std::shared_ptr<const trace::snapshot> from_;  ///< Null if the entries are in `known_`.
  std::vector<page> pages_;
  std::vector<chunk_reach> known_;
  std::vector<far_chunk> far_;  ///< Chunks of row types for which `matters_everywhere` may be true; only used if the
                                ///< entries are in `known_`.
};

template <class Wanted>
result<std::vector<std::size_t>> chunk_index::find(Wanted&& wanted, trace::column_set<chunk_reach> looks_at) const {
  const auto columns =
      looks_at | trace::column_set<chunk_reach>::of(&chunk_reach::time, &chunk_reach::end, &chunk_reach::chunk);
  std::vector<std::size_t> found;
  const auto look = [&](const chunk_reach& each) {
    // A corrupt file may repeat or misorder entries. Skip these entries, so that the result is not longer than the list
    // of chunks.
    if (wanted(each) && (found.empty() || each.chunk > found.back())) found.push_back(each.chunk);
  };
  for (std::size_t p = 0; p < pages_.size(); ++p) {
    if (!wanted(pages_[p].all)) continue;
    if (from_ == nullptr) {
      const std::size_t behind = std::min(known_.size(), (p + 1) * known_a_page);
      for (std::size_t i = p * known_a_page; i < behind; ++i) look(known_[i]);
      continue;
    }
    const auto rows = from_->read_summary<chunk_reach>(pages_[p].stored, columns);
    if (!rows) return tl::unexpected(rows.error());
    for (chunk_reach each : **rows) {
      if (each.chunk >= from_->chunk_count()) continue;  // The file is corrupt.
      each.time = bounded(each.time);
      each.end = bounded(each.end);
      look(each);
    }
  }
  return found;
}

}  // namespace sluice::index
