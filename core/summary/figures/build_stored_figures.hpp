#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.hpp"
#include "core/figures/figures_builder.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::analysis {

/// Called with an index of consecutive sections, those numbered `first` to `last`. Returns false to cancel.
using run_visitor = std::function<bool(const index& from, std::size_t first, std::size_t last)>;

struct stored_figures_options {
  std::size_t sections_a_run = 2;  ///< At most so many sections are in one index, fewer large ones.
  /// Use the cores that there are, at most sixteen: read some indexes ahead, and make the figures of an index in
  /// several threads, at the same time as its tiles. Otherwise one thread reads ahead while another does the rest.
  bool several_cores = true;
  /// How many threads read indexes ahead, each one at a time. 0: half of the cores, at most six; without `several_cores` one.
  std::size_t readers = 0;
  bool one_thread = false;  ///< All on the calling thread.
};

/// Computes a recording's stored figures from indexes of its sections, then once more of the sections with a peak.
/// Threads read the next sections meanwhile: memory is two indexes (three to seven on `several_cores`), plus something per stack,
/// segment, step, repeated copy and live block. Equal to the figures from an index of the whole
/// recording but for the last digits of doubles (means, shares, bytes of transfers cut at a section or step boundary), and
/// for `report_figures::waste`, which is found within each index: what lies between two uses in different sections is not
/// seen, and launches are counted up to its end.
///
/// `also` is called with each index, in order of time and on the calling thread, for other work that needs all sections;
/// each section is in one index. Steps come from `from.whole()`. Errors: those of `section_reader::index_of`; invalid_argument without
/// sections; cancelled if `also` or `goes_on` returns false (`goes_on` is called after each chunk, from any thread).
[[nodiscard]] result<stored_figures> build_stored_figures(const section_reader& from,
                                                          const unsectioned_facts& unsectioned,
                                                          const stored_figures_options& options = {},
                                                          const run_visitor& also = {},
                                                          const std::function<bool()>& goes_on = {});

}  // namespace sluice::analysis
