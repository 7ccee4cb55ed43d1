#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/error.hpp"
#include "core/metrics/metrics_builder.hpp"
#include "core/summary/passes/finalize.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/file/reader.hpp"

/// Builds the summary of a recording that is still being written, for a live view. Each call takes time only for new
/// events, not for events summed up before.
namespace sluice::summary {

struct growing_summary_options {
  double section_events = finalize_options{}.section_events;
  /// A section is settled once the recording has events this many ns after the section's end. Its tiles are then built
  /// and no longer change. Rows that arrive even later appear only where single events are drawn. To include them in
  /// tiles, the summary starts from scratch when that takes at most a tenth of the time.
  trace::time_ns settles_after = 1'000'000'000;
};

/// Sums up a growing recording repeatedly. Finished sections are processed once. The other sections, about the last
/// second of the recording, are processed in each call. If a block is still live when its section settles, it keeps the
/// category that is known at that time. In thirteen recorded programs, 5,705 blocks were live for two steps; 8 of them
/// had another category later.
///
/// Uses two scratch files. One file grows, and the other is rewritten in each call. For the memory that it takes, see
/// `section_pass`. The object must be used from one thread.
class growing_summary {
 public:
  explicit growing_summary(const growing_summary_options& options = {});
  ~growing_summary();
  growing_summary(const growing_summary&) = delete;
  growing_summary& operator=(const growing_summary&) = delete;

  class rest_file;
  /// The result of `sum_up`.
  struct outcome {
    /// The input of `build_stored_metrics`. The metrics may be built on another thread, at any later time.
    std::shared_ptr<const section_reader> sections;
    std::shared_ptr<const metrics::unsectioned_facts> unsectioned;
    std::shared_ptr<rest_file> rest;
    /// Number of leading sections that will not change unless the summary starts from scratch.
    std::size_t settled = 0;
    std::size_t beginning = 0;  ///< The number of times that the summary has started from scratch.
    /// Number of chunks with rows of sections that were already settled. Tiles do not include these rows.
    std::size_t late_chunks = 0;
    /// The snapshot that was summed up, with its summary but without stored metrics.
    [[nodiscard]] const trace::snapshot& trace() const { return sections->snapshot(); }
  };
  /// Sums up `now`, which is a later snapshot of the same file as in the last call, or a snapshot of another file.
  /// `now` must have events. `goes_on` is called often and from any thread. Once it returns false, the result is the
  /// error cancelled. Other errors: io, no_space, corrupt. After an error, the next call starts from scratch. O(new
  /// events + live blocks + sections + chunks).
  [[nodiscard]] result<outcome> sum_up(std::shared_ptr<const trace::snapshot> now,
                                       const std::function<bool()>& goes_on);

  /// Returns the snapshot of `output`, the outcome of the last call, with `metrics`. These are the metrics built from
  /// `output` or, until these are built, the metrics of an earlier snapshot. Errors: io, no_space; invalid_argument if
  /// the metrics cannot be stored.
  [[nodiscard]] result<std::shared_ptr<const trace::snapshot>> with_metrics(const outcome& output,
                                                                            const stored_metrics& metrics);

 private:
  class state;

  const growing_summary_options options_;
  std::unique_ptr<state> state_;  ///< Null if the next call starts from scratch.
  std::size_t beginnings_ = 0;
};

}  // namespace sluice::summary
