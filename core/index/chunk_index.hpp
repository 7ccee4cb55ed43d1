#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/summary_rows.hpp"

/// What each chunk of events of a recording is about, so that who asks about a short time, or for one event, reads few of them.
namespace sluice::analysis {

using chunk_reach = trace::chunk_reach_row;  ///< Its times are bounded; `time` > `end`: of none.

/// Either known, as a recording is read through, or those that its file keeps: these are read where somebody looks, so that what it
/// takes to open a recording does not grow with it. Once filled it is immutable, and many threads may look at once.
class chunk_index {
 public:
  chunk_index() = default;
  /// Those that the file of `from` keeps. O(its chunks).
  explicit chunk_index(std::shared_ptr<const trace::snapshot> from);

  /// The next of a recording that is read through, in order of the file, and what its rows are.
  void add(const chunk_reach& next, trace::row_type type);

  /// In order of the file; empty if they are read from it.
  [[nodiscard]] std::span<const chunk_reach> known() const { return known_; }

  /// The chunks that are wanted, in order of the file. `wanted(reach)` is asked of a reach that spans others, too, and must hold there if
  /// it may for one of them. Of a reach it may look at what is in `looks_at`. O(reaches / 64 + those beside what is wanted). Errors: io,
  /// corrupt; none where they are known.
  template <class Wanted>
  [[nodiscard]] result<std::vector<std::size_t>> find(Wanted&& wanted,
                                                      trace::column_set<chunk_reach> looks_at = {}) const;
  [[nodiscard]] result<std::vector<std::size_t>> all() const {
    return find([](const chunk_reach&) { return true; });
  }

  /// Those that questions about `run` read, in order: with something in it, and of kinds that matter everywhere
  /// (`matters_everywhere`). Cost and errors as of `find`.
  [[nodiscard]] result<std::vector<std::size_t>> in(time_range run, bool samples_known) const;

 private:
  static constexpr std::size_t known_a_page = 64;
  /// Neighbours.
  struct page {
    chunk_reach all;           ///< Spans them.
    trace::chunk_info stored;  ///< That has their rows, unless they are known.
  };
  struct far_chunk {
    std::size_t chunk = 0;
    trace::row_type type{};
  };

  std::shared_ptr<const trace::snapshot> from_;  ///< Null: they are known.
  std::vector<page> pages_;
  std::vector<chunk_reach> known_;
  std::vector<far_chunk> far_;  ///< Chunks of kinds that may matter everywhere.
};

template <class Wanted>
result<std::vector<std::size_t>> chunk_index::find(Wanted&& wanted, trace::column_set<chunk_reach> looks_at) const {
  const auto columns =
      looks_at | trace::column_set<chunk_reach>::of(&chunk_reach::time, &chunk_reach::end, &chunk_reach::chunk);
  std::vector<std::size_t> found;
  const auto look = [&](const chunk_reach& each) {
    // What comes again, or too early, is of a file that tells anything; so no more is found than there is.
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
      if (each.chunk >= from_->chunks().size()) continue;  // Whoever wrote it was wrong.
      each.time = bounded(each.time);
      each.end = bounded(each.end);
      look(each);
    }
  }
  return found;
}

}  // namespace sluice::analysis
