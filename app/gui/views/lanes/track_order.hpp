#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/gui/shell/kept_view.hpp"
#include "core/query/types/result_types.hpp"
#include "core/trace/model/tables.hpp"

/// Determines which tracks of a recording the timeline shows, and in which order.
namespace sluice::gui {

/// A heading, and the tracks below it.
struct track_group {
  std::string key;    ///< Stays the same while a recording grows.
  std::string title;  ///< Printable.
  std::string detail;
};

/// A track and its place in the layout.
struct placed_track {
  const query::track* track = nullptr;
  std::size_t group = 0;     ///< Index into `track_layout::groups`.
  double largest = 0;        ///< The highest value of all memory tracks of the track's device; 0 for a track that has
                             ///< its own scale.
  std::uint64_t memory = 0;  ///< Id of the device's memory track, whose scale this track uses; 0: none.
};

struct track_layout {
  std::vector<track_group> groups;
  std::vector<placed_track> tracks;  ///< Sorted by group, and by position within each group.
  std::size_t hidden = 0;            ///< Number of tracks that are not shown.
};

/// The user's changes to the order and visibility of the tracks of one recording. Tracks are identified by their ids.
class track_order {
 public:
  [[nodiscard]] bool pinned(std::uint64_t track) const { return pinned_.contains(track); }
  /// Moves the track to a group above all others; if it is already there, moves it back.
  void toggle_pin(std::uint64_t track);
  void hide(std::uint64_t track);
  /// Swaps the track with the track above it (`by` = -1) or below it (1) in its group of `layout`.
  void move(std::uint64_t track, int by, const track_layout& layout);
  /// Shows all tracks, each in its original place.
  void reset();
  void toggle_by_process();
  [[nodiscard]] bool by_process() const { return by_process_; }
  [[nodiscard]] bool changed() const { return !pinned_.empty() || !hidden_.empty() || !places_.empty(); }
  /// `keep` stores the changes in `into`; `restore` reads them back.
  void keep(kept_view& into) const;
  void restore(const kept_view& view);
  /// A number that differs after every modification, so that layouts can be cached.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// Arranges the tracks of `list`, except tracks of steps. `list` must outlive the layout. O(tracks * log(tracks)).
  [[nodiscard]] track_layout arrange(const query::track_list& list, const trace::tables& tables) const;

 private:
  std::set<std::uint64_t> pinned_;
  std::set<std::uint64_t> hidden_;
  std::map<std::uint64_t, std::size_t> places_;  ///< Positions in the whole list, keyed by track; only for tracks that
                                                 ///< the user has moved.
  bool by_process_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace sluice::gui
