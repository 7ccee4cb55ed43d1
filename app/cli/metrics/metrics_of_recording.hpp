#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/options/recording_file.hpp"
#include "core/index/growing_index.hpp"
#include "core/metrics/diff.hpp"
#include "core/metrics/report.hpp"
#include "core/symbols/attribution.hpp"

/// The metrics of a recording, for the verbs that print, compare or check them.
namespace sluice::cli {

/// An opened recording. A complete file, unless it is small, stores the metrics of the whole recording. Without stored
/// metrics, and for a range, all events are read once. Not thread-safe.
class metrics_of_recording {
 public:
  /// Opens `path` as `open_recording` does, with the same errors. `whole`: the caller needs only metrics of the whole
  /// recording.
  [[nodiscard]] static result<metrics_of_recording> open(const std::string& path, bool whole,
                                                         const std::vector<std::string>* sources_from = nullptr);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::shared_ptr<trace::file>& file() const { return file_; }
  [[nodiscard]] const trace::snapshot& snapshot() const { return *snapshot_; }
  [[nodiscard]] const trace::tables& tables() const { return snapshot_->tables(); }
  [[nodiscard]] symbols::frame_cache& names() { return *names_; }

  /// The report on the whole recording, or on `range`. `by`: how to group the memory at the peak; null: by the
  /// attribution that splits the main peak most evenly.
  [[nodiscard]] metrics::report report(std::optional<time_range> range = std::nullopt,
                                       std::optional<symbols::attribution> by = std::nullopt);

  /// The input of `metrics::compare`, for the whole recording or for `range`.
  [[nodiscard]] metrics::compared_metrics compared(std::optional<time_range> range = std::nullopt);

 private:
  metrics_of_recording(std::string path, std::shared_ptr<trace::file> file);
  const index::growing_index& index();

  std::string path_;
  std::shared_ptr<trace::file> file_;
  std::shared_ptr<const trace::snapshot> snapshot_;
  std::unique_ptr<symbols::frame_cache> names_;
  std::unique_ptr<index::growing_index> index_;  ///< Index of all events; null until needed.
};

}  // namespace sluice::cli
