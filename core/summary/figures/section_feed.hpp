#pragma once

#include <cstddef>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/threads/crew.hpp"
#include "core/summary/figures/build_stored_figures.hpp"
#include "core/summary/figures/stored_figures_builder.hpp"
#include "core/summary/sections/section_reader.hpp"

namespace sluice::analysis {

/// Gives indexes of sections to builders of figures, in order of time, while threads read the next ones. A part of
/// `build_stored_figures`, and of `growing_figures`. Use from one thread.
class section_feed {
 public:
  /// `from` and `goes_on` must outlive this.
  section_feed(const section_reader& from, const stored_figures_options& options, const std::function<bool()>& goes_on);

  /// Adds the sections from number `first` on, those before number `behind`. `also`, and errors: see `build_stored_figures`.
  [[nodiscard]] result<void> add(stored_figures_builder& to, std::size_t first, std::size_t behind,
                                 const run_visitor& also = {});
  /// The most sections, those before a number of at most `behind`, that `add` takes from number `first` on in the same indexes as
  /// if all followed.
  [[nodiscard]] std::size_t end_of_runs(std::size_t first, std::size_t behind) const;
  /// Shows it the sections with its moments once more. Each rank has its own peak, so they may be many.
  [[nodiscard]] result<void> look(stored_figures_builder& at);

 private:
  /// The last of the sections that go into one index with the section `first`.
  [[nodiscard]] std::size_t last_of(std::size_t first, std::size_t behind) const;

  const section_reader& from_;
  const stored_figures_options options_;
  const std::function<bool()>& goes_on_;
  std::size_t ahead_;  ///< Indexes that are read while the figures of another are made.
  /// The first read and find what an index tells alone, the others do what must go in order.
  crew threads_;
};

}  // namespace sluice::analysis
