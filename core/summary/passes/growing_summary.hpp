#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/figures/figures_builder.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/trace/file/reader.hpp"

/// The summary of a recording that is still being written, for a live view: what is new costs time, what was summed up before
/// does not.
namespace sluice::analysis {

struct growing_summary_options {
  double section_events = finalize_options{}.section_events;
  /// A section is settled once the recording has events that are so many ns later: its tiles are made and do not change. What
  /// comes later still is drawn where single events are, and the summary begins anew when that takes a tenth of the time.
  trace::time_ns settles_after = 1'000'000'000;
};

/// Sums up what a growing recording has so far, again and again. Sections that are over are gone through once; the others, a second or
/// so of the recording, each time. Categories of blocks that live on when their section settles are judged by what is known then:
/// of 5,705 blocks of thirteen recorded programs that had lived for two steps, 8 were judged otherwise later.
///
/// It has two scratch files: one grows, the other is made anew each time. Memory: as `section_pass`. Use from one thread.
class growing_summary {
 public:
  explicit growing_summary(const growing_summary_options& options = {});
  ~growing_summary();
  growing_summary(const growing_summary&) = delete;
  growing_summary& operator=(const growing_summary&) = delete;

  class rest_file;
  struct outcome {
    /// What `build_stored_figures` needs; they may be built on another thread, at any later time.
    std::shared_ptr<const section_reader> sections;
    std::shared_ptr<const unsectioned_facts> unsectioned;
    std::shared_ptr<rest_file> rest;
    std::size_t settled = 0;    ///< So many sections, the first ones, will stay as they are until this begins anew.
    std::size_t beginning = 0;  ///< How many times it has begun anew.
    /// How many chunks have had rows that belong into sections settled before. Tiles are without them.
    std::size_t late_chunks = 0;
    /// The snapshot that was summed up, with its summary, but without stored figures.
    [[nodiscard]] const trace::snapshot& trace() const { return sections->snapshot(); }
  };
  /// Sums up `now`: a snapshot of the same file as the one before and later, or of another file. It must have events.
  /// `goes_on` is called often and from any thread; once it returns false, the result is the error cancelled. Other errors: io, no_space,
  /// corrupt. After an error, the next call begins anew. O(new events + live blocks + sections + chunks).
  [[nodiscard]] result<outcome> sum_up(std::shared_ptr<const trace::snapshot> now,
                                       const std::function<bool()>& goes_on);

  /// Returns the snapshot of `made`, the outcome of the last call, with `figures`: its own, or those of an earlier snapshot, until its
  /// own are built. Errors: io, no_space; invalid_argument if they cannot be stored.
  [[nodiscard]] result<std::shared_ptr<const trace::snapshot>> with_figures(const outcome& made,
                                                                            const stored_figures& figures);

 private:
  class state;

  const growing_summary_options options_;
  std::unique_ptr<state> state_;  ///< Null: the next call begins anew.
  std::size_t beginnings_ = 0;
};

}  // namespace sluice::analysis
