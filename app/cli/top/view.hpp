#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/top/metrics.hpp"

/// Formats the metrics as text for a terminal.
namespace sluice::cli::top {

struct view_line {
  std::string text;  ///< Printable, without a line end.
  bool heading = false;
};

struct view_options {
  std::string title;                        ///< The recording's name.
  std::optional<double> events_per_second;  ///< The current rate; null: show the mean of the recording.
  std::size_t columns = 80;
  std::size_t rows = 24;  ///< Lists are cut to fit, and state how many entries are omitted.
};

/// A frame of at most `rows` lines, each of at most `columns` characters. 80 x 24 shows the essentials of a few GPUs.
[[nodiscard]] std::vector<view_line> make_view(const top_metrics& subject, const view_options& with);

}  // namespace sluice::cli::top
