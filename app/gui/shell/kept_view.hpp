#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "core/base/error.hpp"

namespace sluice::gui {

/// The user's changes to the views of one recording. Stored in the last session and in saved views.
struct kept_view {
  std::vector<std::uint64_t> pinned;  ///< Ids of tracks.
  std::vector<std::uint64_t> hidden;
  std::vector<std::uint64_t> order;     ///< Ids of all tracks in the user's order; empty if no track was moved.
  bool by_process = false;              ///< Tracks are grouped by process.
  std::vector<time_ns> generations;     ///< Generation marks, sorted by time.
  std::optional<blocks_filter> blocks;  ///< The filter of the list of blocks; none if the user has not changed it.
  std::vector<std::string> queries;     ///< Queries whose rows are shown as tracks, from top to bottom.
  friend bool operator==(const kept_view&, const kept_view&) = default;

  static constexpr std::size_t max_tracks = 20'000;
  static constexpr std::size_t max_generations = 64;
  static constexpr std::size_t max_queries = 8;
  static constexpr std::size_t longest_query = 4096;  ///< In bytes; applies to each of the texts in this struct.
};

/// Formats `view` as one line of JSON.
[[nodiscard]] std::string to_text(const kept_view& view);
/// Parses the output of `to_text`; accepts any other text safely. Missing members get their defaults. Errors: corrupt,
/// with a description of the problem.
[[nodiscard]] result<kept_view> parse_kept_view(const std::string& text);

}  // namespace sluice::gui
