#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/summary_rows.hpp"

namespace sluice::summary {

struct summing_up_options {
  bool several_cores = true;  ///< See `stored_metrics_options`.
  /// This is called after each chunk, from any thread. Once it returns false, the result is the error cancelled.
  std::function<bool()> goes_on = [] { return true; };
  /// This is called after each section with the share of the work completed, 0..1. It cancels in the same way as
  /// `goes_on`.
  std::function<bool(double)> on_progress = [](double) { return true; };
};

/// Sums up a recording. Either all of it is summed up at the end, or the part that will not change any more is summed
/// up while the recording is written, and the rest at the end. A first pass over the sections writes what is needed to
/// read each section alone. Then event stores of the sections, which are built from that data, provide tiles and
/// metrics.
///
/// Early results are used only if summing up everything at the end would give the same results. They are compared with
/// steps, categories, late rows and uses of memory that become known only later. If one of these differs, everything is
/// summed up at the end. Means may differ in their last digits. The object must be used from one thread at a time.
class summing_up {
 public:
  /// `known`, the scan of the recording, must outlive this object.
  explicit summing_up(recording_scan& known);
  ~summing_up();
  summing_up(const summing_up&) = delete;
  summing_up& operator=(const summing_up&) = delete;

  /// Sums up, into a scratch file, the sections of the recording in `known` that will not change. These sections ended
  /// two steps ago, and their steps are settled. Each call also has to process the sections that may still change, so
  /// it does nothing until there are about as many sections to settle. `sections` are the sections of the recording.
  /// Sections that were passed earlier must not change. `wanted` is called after each section. Once it returns false,
  /// `go_on` stops, and a later call continues from there. After an error, everything is left to the end. Uses one
  /// thread. For the memory that it takes, see `section_pass`. O(new events + live blocks + sections + chunks).
  void go_on(std::span<const trace::section_row> sections, const std::function<bool()>& wanted);
  /// True if `go_on` would do something, given this number of sections.
  [[nodiscard]] bool is_due(std::size_t sections) const { return !failed_ && sections >= due_; }
  /// The number of sections that are summed up early; 0 after `end` if `end` had to start from scratch.
  [[nodiscard]] std::size_t settled() const;
  /// Leaves everything to the end, and frees the scratch file.
  void give_up();

  /// Adds the summary of the recording to `file`, which may be the recording itself or another file. `known` must have
  /// seen all of the recording. Must be called once. If the call fails, the summary is incomplete, and readers ignore
  /// it. Errors: corrupt, if the recording cannot be read again or contradicts itself; invalid_argument, if the metrics
  /// cannot be stored; io, no_space; cancelled.
  [[nodiscard]] result<void> end(trace::file_writer& file, std::span<const trace::section_row> sections,
                                 const summing_up_options& options);

 private:
  class part;
  class early_part;

  [[nodiscard]] bool begin_early();

  recording_scan& known_;
  std::unique_ptr<early_part> early_;                           ///< Null if nothing has been summed up early.
  std::optional<std::chrono::steady_clock::time_point> begun_;  ///< When summing up early last started from scratch.
  bool failed_ = false;
  std::size_t due_ = 1;  ///< The number of sections from which `go_on` is due.
};

}  // namespace sluice::summary
