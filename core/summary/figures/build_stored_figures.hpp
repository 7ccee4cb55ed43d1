#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.hpp"
#include "core/figures/figures_builder.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::analysis {

/// Shown the index of a run of sections, [first, last]. Whether to go on.
using run_visitor = std::function<bool(const index& from, std::size_t first, std::size_t last)>;

/// The stored figures of a recording from indexes of its parts: each of some sections (`sections_a_run`, fewer large ones), one after another, then again those that hold the moments
/// of a peak. While one is looked at a thread of its own reads the next: it takes the memory of two of them, and what the figures take: something for each stack, segment, step, repeated copy,
/// and block that was never freed. What it says is what `make_stored_figures` says of an index of all, but for the last digits of doubles
/// (means, shares, bytes of transfers cut by the begin of a section or a step).
///
/// `also` is shown the index of each run on the way, in order, each section in one of them: what else is to be made of all parts need
/// not read them again. The steps are those of `from.whole()`. Errors: as of `section_reader::index_of`; invalid_argument without
/// sections; cancelled, if `also` says so, or `goes_on`, which is asked after each chunk, from two threads at a time.
[[nodiscard]] result<stored_figures> build_stored_figures(const section_reader& from, const beside_parts& beside,
                                                          std::size_t sections_a_run = 2, const run_visitor& also = {},
                                                          const std::function<bool()>& goes_on = {});

}  // namespace sluice::analysis
