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

namespace sluice::analysis {

struct summing_up_options {
  bool several_cores = true;  ///< See `stored_figures_options`.
  /// Called after each chunk, from any thread; once it returns false, the result is the error cancelled.
  std::function<bool()> goes_on = [] { return true; };
  /// Called after each section with the share that is done, 0..1. Stops like `goes_on`.
  std::function<bool(double)> look = [](double) { return true; };
};

/// Sums up a recording: all of it when it ends, or while it is written what will not change any more, and the rest when
/// it ends. First a pass over the sections writes what they must know; then indexes of the sections, which read that, give
/// tiles and figures.
///
/// What was summed up early is used if it says what summing up all at the end says: it is compared with steps, categories, late
/// rows and uses of memory that show only later, and if one differs, all is summed up at the end. (Means may differ in their last
/// digits.) Use from one thread at a time.
class summing_up {
 public:
  /// `known`, the scan of the recording, must outlive this.
  explicit summing_up(recording_scan& known);
  ~summing_up();
  summing_up(const summing_up&) = delete;
  summing_up& operator=(const summing_up&) = delete;

  /// Sums up, into a scratch file, the sections of the recording as `known` has it that will not change: that ended two steps
  /// ago, and whose steps are settled. Goes through the others each time; so it does nothing before there is about as much to
  /// settle. `sections` are those of the recording, the first as before. `wanted` is called after each section; once it returns
  /// false, this stops, and a later call goes on from there. After an error, all is left to the end. One thread.
  /// Memory: as `section_pass`. O(new events + live blocks + sections + chunks).
  void go_on(std::span<const trace::section_row> sections, const std::function<bool()>& wanted);
  /// True if `go_on` would do something.
  [[nodiscard]] bool is_due(std::size_t sections) const { return !failed_ && sections >= due_; }
  /// How many sections are summed up early; after `end` none, if that had to begin anew.
  [[nodiscard]] std::size_t settled() const;
  /// Leaves all to the end, and frees the scratch file.
  void give_up();

  /// Adds the summary of the recording, which `known` has all of by now, to `file`, which may be the file with its events or another.
  /// Call once. If it fails, the summary is incomplete, and readers ignore it. Errors: corrupt, if the recording cannot be read
  /// again or contradicts itself; invalid_argument, if the figures cannot be stored; io, no_space; cancelled.
  [[nodiscard]] result<void> end(trace::file_writer& file, std::span<const trace::section_row> sections,
                                 const summing_up_options& how);

 private:
  class part;
  class early_part;

  [[nodiscard]] bool begin_early();

  recording_scan& known_;
  std::unique_ptr<early_part> early_;                           ///< Null: nothing.
  std::optional<std::chrono::steady_clock::time_point> begun_;  ///< The last early beginning.
  bool failed_ = false;
  std::size_t due_ = 1;  ///< With so many sections.
};

}  // namespace sluice::analysis
