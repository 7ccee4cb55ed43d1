#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "core/query/engine/block_list.hpp"
#include "core/query/engine/prefetcher.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/sections/section_cache.hpp"
#include "core/summary/tiles/stored_tiles.hpp"

namespace sluice::query {

/// The three sources of answers in a file with summaries: bins, figures and rows (../README.md). Private to core/query.
struct stored_sources {
  std::shared_ptr<const analysis::stored_tiles> tiles;      ///< Bins of curves and slices.
  std::shared_ptr<const analysis::stored_figures> figures;  ///< Figures of the whole recording.
  std::shared_ptr<analysis::section_cache> sections;    ///< Rows, by section; null if the file describes no sections.
  std::shared_ptr<const analysis::tensor_facts> facts;  ///< The steps of the program; no categories.
  std::shared_ptr<block_list> blocks;  ///< All blocks, listed on first use; null if `sections` is null.
  std::shared_ptr<prefetcher> ahead;   ///< Reads ahead; null if `sections` is null.
  /// Returns the indexes of those sections that are in memory, null for the others. Empty if `sections` is null.
  decltype(analysis::bin_sources::sections) in_memory;
};

/// Opens the summaries of a file; null if it has none, or lacks a needed one. Reads the disk: O(what is stored about
/// the whole recording). `memory_bytes`: see engine_options.
[[nodiscard]] std::shared_ptr<stored_sources> open_stored_sources(const std::shared_ptr<const trace::snapshot>& trace,
                                                                  std::size_t memory_bytes);

/// Keeps in memory what is there of `before`, an earlier summary of the same growing recording, of which the first `settled` sections are
/// the same here.
void take_over(const stored_sources& before, std::size_t settled, const stored_sources& now);

}  // namespace sluice::query
