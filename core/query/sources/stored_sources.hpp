#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/query/sources/block_list.hpp"
#include "core/query/sources/prefetcher.hpp"
#include "core/summary/sections/section_cache.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

namespace sluice::query {

/// The three kinds of data in a file with summaries: bins, metrics and rows. ../README.md explains them. Private to
/// core/query.
struct stored_sources {
  std::shared_ptr<const summary::stored_tiles> tiles;      ///< Bins of curves and slices.
  std::shared_ptr<const summary::stored_metrics> metrics;  ///< Metrics of the whole recording.
  std::shared_ptr<summary::section_cache> sections;        ///< The rows, section by section; null without sections.
  std::shared_ptr<const index::tensor_facts> facts;        ///< The steps of the program. Has no categories.
  std::shared_ptr<block_list> blocks;  ///< All blocks, listed when first needed; null if `sections` is null.
  std::shared_ptr<prefetcher> ahead;   ///< Reads ahead; null if `sections` is null.
  /// A function that returns the index of a section if it is in memory, otherwise null. Empty if `sections` is null.
  decltype(summary::bin_sources::sections) in_memory;
};

/// Opens the summaries of a file. Returns null if the file lacks any summary that is needed. Reads the disk: O(data
/// stored about the whole recording). `memory_bytes`: see `engine_options`.
[[nodiscard]] std::shared_ptr<stored_sources> open_stored_sources(const std::shared_ptr<const trace::snapshot>& trace,
                                                                  std::size_t memory_bytes);

/// Gives the tiles and sections that `before`, an earlier summary of the same growing recording, has in memory to
/// `now`. The first `settled` sections are the same in both summaries.
void take_over(const stored_sources& before, std::size_t settled, const stored_sources& now);

}  // namespace sluice::query
