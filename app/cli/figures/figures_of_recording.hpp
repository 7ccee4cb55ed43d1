#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/recording_file.hpp"
#include "core/figures/diff.hpp"
#include "core/figures/report.hpp"
#include "core/index/growing_index.hpp"
#include "core/symbols/attribution.hpp"

/// The figures of a recording, for the verbs that print, compare or judge them.
namespace sluice::cli {

/// An opened recording. Figures of the whole recording are stored in a closed file that is not small; otherwise, and for
/// a range, all events are read once. Not thread-safe.
class figures_of_recording {
 public:
  /// Opens `path` as `open_recording` does, with the same errors. `whole`: only figures of the whole recording are asked
  /// for.
  [[nodiscard]] static result<figures_of_recording> open(const std::string& path, bool whole,
                                                         const std::vector<std::string>* sources_from = nullptr);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::shared_ptr<trace::file>& file() const { return file_; }
  [[nodiscard]] const trace::snapshot& snapshot() const { return *snapshot_; }
  [[nodiscard]] const trace::tables& tables() const { return snapshot_->tables(); }
  [[nodiscard]] symbols::frame_book& names() { return *names_; }

  /// The report on the whole recording, or on `range`. `by`: what the memory at the peak is grouped by; none: what splits
  /// the main peak most evenly.
  [[nodiscard]] analysis::report report(std::optional<analysis::time_range> range = std::nullopt,
                                        std::optional<symbols::attribution> by = std::nullopt);

  /// What `analysis::compare` needs, of the whole recording or of `range`.
  [[nodiscard]] analysis::compared_figures compared(std::optional<analysis::time_range> range = std::nullopt);

 private:
  figures_of_recording(std::string path, std::shared_ptr<trace::file> file);
  const analysis::growing_index& index();

  std::string path_;
  std::shared_ptr<trace::file> file_;
  std::shared_ptr<const trace::snapshot> snapshot_;
  std::unique_ptr<symbols::frame_book> names_;
  std::unique_ptr<analysis::growing_index> index_;  ///< Of all events; null until needed.
};

}  // namespace sluice::cli
