#include "app/cli/figures/figures_of_recording.hpp"

#include <utility>

#include "core/summary/figures/stored_figures.hpp"

namespace sluice::cli {

figures_of_recording::figures_of_recording(std::string path, std::shared_ptr<trace::file> file)
    : path_(std::move(path)),
      file_(std::move(file)),
      snapshot_(file_->latest()),
      names_(std::make_unique<symbols::frame_book>(symbols::options_for(*snapshot_))) {}

result<figures_of_recording> figures_of_recording::open(const std::string& path, bool whole,
                                                        const std::vector<std::string>* sources_from) {
  auto file = open_recording(path, whole ? wanted_of_recording::figures : wanted_of_recording::rows, sources_from);
  if (!file) return tl::unexpected(file.error());
  return figures_of_recording(path, *std::move(file));
}

const analysis::growing_index& figures_of_recording::index() {
  if (index_ == nullptr) {
    index_ = std::make_unique<analysis::growing_index>();
    while (!index_->absorb(*snapshot_, snapshot_->chunks().size() + 1)) {
    }
  }
  return *index_;
}

analysis::report figures_of_recording::report(std::optional<analysis::time_range> range,
                                              std::optional<symbols::attribution> by) {
  const analysis::naming names{.book = *names_, .by = by};
  if (const auto stored = range ? nullptr : analysis::find_stored_figures(*snapshot_))
    return analysis::make_report(stored->figures, *snapshot_, names);
  return analysis::make_report(index(), *snapshot_, range, names);
}

analysis::compared_figures figures_of_recording::compared(std::optional<analysis::time_range> range) {
  if (!range) {
    const auto stored = analysis::find_stored_figures(*snapshot_);
    if (auto kept = stored ? analysis::figures_to_compare(*stored) : std::nullopt) return std::move(*kept);
  }
  return analysis::figures_to_compare(index(), tables(), range.value_or(analysis::time_range_of(*snapshot_)));
}

}  // namespace sluice::cli
