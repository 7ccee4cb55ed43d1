#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/gui/views/lanes/track_order.hpp"
#include "app/gui/views/parts/view.hpp"

namespace sluice::gui {

/// What is in the lanes of a track.
struct lane_content {
  bool empty = false;                    ///< Nothing is in any lane of the track.
  std::set<trace::direction> no_copies;  ///< The directions of a bandwidth track whose lanes are empty. Contains all of
                                         ///< them only if `empty`.
  bool flat = false;                     ///< Memory: the same amount was in use throughout.
  bool sampled = true;                   ///< Memory: the use of the whole GPU was sampled at least once.
  friend bool operator==(const lane_content&, const lane_content&) = default;
};

/// The range around `visible` that must contain nothing for a lane to be folded. It covers at least the length of
/// `visible` before and after it, and changes only now and then while the view pans, so that lanes do not come and go.
[[nodiscard]] time_range choose_surroundings(time_range visible);

/// What is in the lanes of the curves `of`, which are sampled over `choose_surroundings` (for memory: over the whole
/// recording).
[[nodiscard]] lane_content judge(const query::series& of, query::track_kind kind);

/// The names of the lanes in which nothing is, such as "Device to host" or "Bandwidth, device to host".
[[nodiscard]] std::vector<std::string> name_empty_lanes(const query::track& track, const lane_content& content);

/// Finds out which lanes of the active document contain nothing around the visible range.
class lane_survey {
 public:
  void reset() { tracks_.clear(); }
  /// Asks about all tracks of `layout`. Keeps the last answers unless `calm`: nothing moves, so that rows may be folded.
  void follow(query::engine& engine, const track_layout& layout, const document& shown, bool calm);
  /// What is in a track; by default, that it is not empty.
  [[nodiscard]] const lane_content& of(std::uint64_t track) const;

  /// Recordings with more tracks are drawn without folding any, because each track costs a query.
  static constexpr std::size_t max_tracks = 256;

 private:
  struct one {
    screen_slot<query::slices_query> slices;
    screen_slot<query::series_query> series;
    std::shared_ptr<const query::series> judged;  ///< The curves from which `fresh` was made.
    lane_content fresh;
    lane_content content;
  };
  static bool ask(one& about, query::engine& engine, const query::track& track, const document& shown);

  std::map<std::uint64_t, one> tracks_;
};

}  // namespace sluice::gui
