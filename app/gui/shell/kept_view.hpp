#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/selection.hpp"
#include "core/base/error.hpp"

namespace sluice::gui {

/// What the user changed about the views of one recording, as saved with the last session and in saved views.
struct kept_view {
  std::vector<std::uint64_t> pinned;  ///< Ids of tracks.
  std::vector<std::uint64_t> hidden;
  std::vector<std::uint64_t> order;         ///< All tracks in the order that the user gave them; empty: none was moved.
  bool by_process = false;                  ///< Tracks are grouped by process.
  std::vector<query::time_ns> generations;  ///< Marks, in order of time.
  std::optional<blocks_filter> blocks;      ///< Of the list of blocks; none: as at first.
  std::vector<std::string> queries;         ///< Whose rows are tracks, from the top down.
  friend bool operator==(const kept_view&, const kept_view&) = default;

  static constexpr std::size_t most_tracks = 20'000;
  static constexpr std::size_t most_generations = 64;
  static constexpr std::size_t most_queries = 8;
  static constexpr std::size_t longest_query = 4096;  ///< In bytes, as other texts here.
};

/// As one line of JSON.
[[nodiscard]] std::string text_of(const kept_view& view);
/// Reads what `text_of` wrote, or anything. What is not there is as at first. Errors: corrupt, and what is wrong.
[[nodiscard]] result<kept_view> kept_view_of(const std::string& text);

}  // namespace sluice::gui
