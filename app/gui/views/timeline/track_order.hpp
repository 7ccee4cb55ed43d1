#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/gui/shell/kept_view.hpp"
#include "core/query/answers/answer_types.hpp"
#include "core/trace/model/tables.hpp"

/// Which tracks of a recording the timeline shows, and in which order.
namespace sluice::gui {

/// A heading with the tracks below it.
struct track_group {
  std::string key;    ///< Does not change while a recording grows.
  std::string title;  ///< Printable.
  std::string detail;
};

/// A track in its place.
struct placed_track {
  const query::track* what = nullptr;
  std::size_t group = 0;  ///< Index in `track_layout::groups`.
  double largest = 0;     ///< Highest value of the memory tracks of its device; 0 for a track with a scale of its own.
  std::uint64_t memory = 0;  ///< Id of the device's memory track, whose scale it shares; 0: none.
};

struct track_layout {
  std::vector<track_group> groups;
  std::vector<placed_track> tracks;  ///< Group after group.
  std::size_t hidden = 0;            ///< Number of tracks that are not shown.
};

/// What the user changed about the tracks of one recording. Tracks are known by their ids.
class track_order {
 public:
  [[nodiscard]] bool pinned(std::uint64_t track) const { return pinned_.contains(track); }
  /// Moves the track to a group above all others, or back.
  void toggle_pin(std::uint64_t track);
  void hide(std::uint64_t track);
  /// Exchanges the track with the one above (-1) or below (+1) it in its group, as `layout` shows them.
  void move(std::uint64_t track, int by, const track_layout& layout);
  /// Shows every track in its original place.
  void reset();
  void toggle_by_process();
  [[nodiscard]] bool by_process() const { return by_process_; }
  [[nodiscard]] bool changed() const { return !pinned_.empty() || !hidden_.empty() || !places_.empty(); }
  /// Puts everything into `into`; `restore` takes it over.
  void keep(kept_view& into) const;
  void restore(const kept_view& from);
  /// Changes with each change, so that layouts can be kept.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// The tracks of `list`, which must outlive the layout, without steps. O(tracks * log(tracks)).
  [[nodiscard]] track_layout arrange(const query::track_list& list, const trace::tables& tables) const;

 private:
  std::set<std::uint64_t> pinned_;
  std::set<std::uint64_t> hidden_;
  std::map<std::uint64_t, std::size_t> places_;  ///< Positions in the whole list, of tracks that were moved.
  bool by_process_ = false;
  std::uint64_t version_ = 0;
};

}  // namespace sluice::gui
