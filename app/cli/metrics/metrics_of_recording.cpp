#include "app/cli/metrics/metrics_of_recording.hpp"

#include <utility>

#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::cli {

metrics_of_recording::metrics_of_recording(std::string path, std::shared_ptr<trace::file> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      snapshot_(file_->latest()),
      names_(std::make_unique<symbols::frame_cache>(symbols::options_for(*snapshot_))) {}

result<metrics_of_recording> metrics_of_recording::open(const std::string& path, bool whole,
                                                        const std::vector<std::string>* sources_from) {
  auto file = open_recording(path, whole ? wanted_of_recording::metrics : wanted_of_recording::rows, sources_from);
  if (!file) return tl::unexpected(file.error());
  return metrics_of_recording(path, *std::move(file));
}

const index::growing_index& metrics_of_recording::index() {
  if (index_ == nullptr) {
    index_ = std::make_unique<index::growing_index>();
    while (!index_->absorb(*snapshot_, snapshot_->chunks().size() + 1)) {
    }
  }
  return *index_;
}

metrics::report metrics_of_recording::report(std::optional<time_range> range, std::optional<symbols::attribution> by) {
  const metrics::naming names{.book = *names_, .by = by};
  if (const auto stored = range ? nullptr : summary::find_stored_metrics(*snapshot_))
    return metrics::make_report(stored->metrics, *snapshot_, names);
  return metrics::make_report(index(), *snapshot_, range, names);
}

metrics::compared_metrics metrics_of_recording::compared(std::optional<time_range> range) {
  if (!range) {
    const auto stored = summary::find_stored_metrics(*snapshot_);
    if (auto kept = stored ? summary::metrics_to_compare(*stored) : std::nullopt) return std::move(*kept);
  }
  return metrics::metrics_to_compare(index(), *snapshot_, range.value_or(index::recorded_range(*snapshot_)));
}

}  // namespace sluice::cli
