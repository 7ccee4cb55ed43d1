#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time/time_range.hpp"
#include "core/index/event_store.hpp"
#include "core/metrics/report/report.hpp"
#include "core/summary/sections/section_reader.hpp"
#include "core/summary/stored/stored_metrics.hpp"
#include "core/trace/file/reader.hpp"

namespace sluice::summary {

/// Reads all events of a recording into one event store. Calls `goes_on`, if set, after every few chunks. If `only` is
/// set, reads the events of that process alone. Chunks that cannot be read are warnings of the event store. Returns null
/// once `goes_on` returns false. Takes some 100 bytes of memory per event.
[[nodiscard]] std::shared_ptr<const index::event_store> read_all_events(
    const trace::snapshot& recording, const std::function<bool()>& goes_on = {},
    trace::process_id only = trace::process_id::none);

/// A recording as a sequence of runs, over which SQL, exports and the command line compute their results: each run has
/// an event store. A run is a few consecutive sections of the file. A recording without sections, such as a small one,
/// is a single run. Memory holds a few runs at most. Not thread-safe.
class recording_sections {
 public:
  static constexpr std::uint64_t usual_run = 300'000;  ///< The most events in a run of several sections.

  /// Opens the sections of a recording. Summarizes a large unfinished recording first. `goes_on`, if set, is called
  /// between chunks, from any thread, by this function and by the members. Once it returns false, they fail with
  /// `cancelled`. Larger runs take more memory, some 100 bytes per event; smaller runs read long-lived blocks more
  /// often. Errors: cancelled.
  [[nodiscard]] static result<std::unique_ptr<recording_sections>> open(
      std::shared_ptr<const trace::snapshot> recording, std::function<bool()> goes_on = {},
      std::uint64_t events_in_a_run = usual_run);

  /// The metrics of the whole recording, if the file stores them, else null.
  [[nodiscard]] const std::shared_ptr<const stored_metrics>& stored() const { return stored_; }
  /// Returns the steps of all processes. Errors: cancelled.
  [[nodiscard]] result<std::shared_ptr<const index::step_facts>> steps();

  /// The number of runs, at least 1.
  [[nodiscard]] std::size_t runs() const { return reader_ ? first_.size() : 1; }
  /// The time range of a run. The first run has no start, and the last run has no end.
  [[nodiscard]] time_range range_of(std::size_t run) const;
  /// Returns the run that contains `time`.
  [[nodiscard]] std::size_t run_at(time_ns time) const;
  /// Returns the event store of a run. Keeps the last few that were requested. Errors: cancelled, io, corrupt.
  [[nodiscard]] result<std::shared_ptr<const index::event_store>> get(std::size_t run, index::section_scope scope);
  /// Returns an event store that has the whole lifetime of a block; null if the block is unknown. Prefers the event
  /// stores of everything that `get` keeps. O(1) for a block in one of them, else O(events of a run). Errors: those of `get`.
  [[nodiscard]] result<std::shared_ptr<const index::event_store>> find(trace::block_id block);
  /// Returns the times and ids that each chunk of the file has. Errors: those of `get`.
  [[nodiscard]] result<std::shared_ptr<const index::chunk_index>> chunks();

  /// Calls `add` for each run that overlaps `range`, in order of time, with the run's event store and the part of
  /// `range` that it covers. These parts together are `range`. `add` returns false to skip the remaining runs. Errors:
  /// those of `get`.
  using operation = std::function<bool(const index::event_store& store, time_range part)>;
  [[nodiscard]] result<void> for_each(index::section_scope scope, time_range range, const operation& add);

  /// Returns the metrics of `range`, or of the whole recording. Errors: those of `get`.
  [[nodiscard]] result<metrics::range_statistics> statistics(std::optional<time_range> range);
  /// Returns the metrics of the report on `range`, or on the whole recording. Keeps the last result. Reads the whole
  /// recording, unless the file stores the metrics. Errors: those of `get`.
  [[nodiscard]] result<metrics::report_metrics> report(std::optional<time_range> range);

 private:
  recording_sections(std::shared_ptr<const trace::snapshot> recording, std::function<bool()> goes_on)
      : recording_(std::move(recording)), goes_on_(std::move(goes_on)) {}
  void plan_runs(std::uint64_t events_in_a_run);
  [[nodiscard]] std::size_t last_section(std::size_t run) const {
    return (run + 1 < first_.size() ? first_[run + 1] : reader_->sections().size()) - 1;
  }
  [[nodiscard]] result<std::shared_ptr<const index::event_store>> read(std::size_t run,
                                                                       index::section_scope scope) const;
  [[nodiscard]] result<metrics::report_metrics> compute_report(std::optional<time_range> range);

  struct kept_run {
    std::size_t run = 0;
    index::section_scope scope{};
    std::shared_ptr<const index::event_store> store;
  };
  std::shared_ptr<const trace::snapshot> recording_;
  std::function<bool()> goes_on_;
  std::shared_ptr<const stored_metrics> stored_;
  std::shared_ptr<const index::step_facts> steps_;
  std::shared_ptr<const section_reader> reader_;  ///< Null if the recording has no sections.
  std::vector<std::size_t> first_;                ///< The first section of each run.
  std::vector<kept_run> kept_;                    ///< The last used is at the front.
  std::optional<std::pair<time_range, metrics::report_metrics>> reported_;
};

}  // namespace sluice::summary
