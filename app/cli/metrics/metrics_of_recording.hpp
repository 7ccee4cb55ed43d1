#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options/recording_file.hpp"
#include "core/metrics/comparison/diff.hpp"
#include "core/metrics/report/report.hpp"
#include "core/summary/passes/recording_sections.hpp"
#include "core/symbols/attribution.hpp"

/// The metrics of a recording, for the verbs that print, compare or check them.
namespace sluice::cli {

/// An opened recording. A complete file, unless it is small, stores the metrics of the whole recording. Without stored
/// metrics, and for a range, the events are read section by section. Not thread-safe.
class metrics_of_recording {
 public:
  /// Opens `path` as `open_recording` does, with the same errors.
  [[nodiscard]] static result<metrics_of_recording> open(const std::string& path,
                                                         const std::vector<std::string>* sources_from = nullptr);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::shared_ptr<trace::file>& file() const { return file_; }
  [[nodiscard]] const trace::snapshot& snapshot() const { return *snapshot_; }
  [[nodiscard]] const trace::tables& tables() const { return snapshot_->tables(); }
  [[nodiscard]] symbols::frame_cache& names() { return *names_; }

  // The following functions describe `range`, or the whole recording. Errors: io, corrupt.

  /// The report. `by`: how to group the memory at the peak; null: by the attribution that splits the main peak most
  /// evenly.
  [[nodiscard]] result<metrics::report> report(std::optional<time_range> range = std::nullopt,
                                               std::optional<symbols::attribution> by = std::nullopt);
  /// The statistics, which need only the sections in the range.
  [[nodiscard]] result<metrics::range_statistics> statistics(std::optional<time_range> range);
  /// The input of `metrics::compare`.
  [[nodiscard]] result<metrics::compared_metrics> compared(std::optional<time_range> range = std::nullopt);

 private:
  metrics_of_recording(std::string path, std::shared_ptr<trace::file> file);
  [[nodiscard]] result<summary::recording_sections*> sections();

  std::string path_;
  std::shared_ptr<trace::file> file_;
  std::shared_ptr<const trace::snapshot> snapshot_;
  std::unique_ptr<symbols::frame_cache> names_;
  std::unique_ptr<summary::recording_sections> sections_;  ///< Null until needed.
};

}  // namespace sluice::cli
