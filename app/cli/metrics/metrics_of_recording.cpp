#include "app/cli/metrics/metrics_of_recording.hpp"

#include <utility>

#include "core/base/cancel.hpp"
#include "core/metrics/comparison/compared_side.hpp"
#include "core/metrics/make_report.hpp"
#include "core/summary/stored/stored_metrics.hpp"

namespace sluice::cli {

metrics_of_recording::metrics_of_recording(std::string path, std::shared_ptr<trace::file> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      snapshot_(file_->latest()),
      names_(std::make_unique<symbols::frame_cache>(symbols::options_for(*snapshot_))) {}

result<metrics_of_recording> metrics_of_recording::open(const std::string& path,
                                                        const std::vector<std::string>* sources_from) {
  auto file = open_recording(path, wanted_of_recording::metrics, sources_from);
  if (!file) return tl::unexpected(file.error());
  return metrics_of_recording(path, *std::move(file));
}

result<summary::recording_sections*> metrics_of_recording::sections() {
  if (sections_ == nullptr) {
    auto opened = summary::recording_sections::open(snapshot_);
    if (!opened) return tl::unexpected(opened.error());
    sections_ = std::move(*opened);
  }
  return sections_.get();
}

result<metrics::report> metrics_of_recording::report(std::optional<time_range> range,
                                                     std::optional<symbols::attribution> by) {
  const auto source = sections();
  if (!source) return tl::unexpected(source.error());
  auto found = (*source)->report(range);
  if (!found) return tl::unexpected(found.error());
  return metrics::make_report(std::move(*found), *snapshot_, {.book = *names_, .by = by});
}

result<metrics::range_statistics> metrics_of_recording::statistics(std::optional<time_range> range) {
  const auto source = sections();
  if (!source) return tl::unexpected(source.error());
  return (*source)->statistics(range);
}

result<metrics::compared_metrics> metrics_of_recording::compared(std::optional<time_range> range) {
  const auto source = sections();
  if (!source) return tl::unexpected(source.error());
  const auto& stored = (*source)->stored();
  if (!range && stored)
    if (auto kept = summary::metrics_to_compare(*stored)) return std::move(*kept);
  const time_range span = bounded(range.value_or(index::recorded_range(*snapshot_)));
  metrics::compared_side_builder side(span);
  const auto added = (*source)->for_each(index::section_scope::everything, span,
                                         [&](const index::event_store& store, time_range part) {
                                           side.add(store, *snapshot_, part, never_cancelled);
                                           return true;
                                         });
  if (!added) return tl::unexpected(added.error());
  return side.side(tables()).metrics;
}

}  // namespace sluice::cli
