#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "app/gui/shell/documents.hpp"
#include "app/gui/views/lanes/track_order.hpp"

namespace sluice::gui {

/// The layout of the active document's tracks, and the user's changes to the order of each document's tracks.
class track_arrangement {
 public:
  [[nodiscard]] track_order& order(document_id document) { return orders_[document]; }
  /// Stores the user's changes to the order of a document's tracks in `into`.
  void keep(document_id document, kept_view& into) const;
  /// Updates the layout after a change of the tracks or of the user's order. Keeps `tracks` until the next call.
  void arrange(const document& shown, const std::shared_ptr<const query::track_list>& tracks);
  /// Discards the layout, but not the users' changes.
  void reset();

  [[nodiscard]] const track_layout& layout() const { return layout_; }
  /// True if the layout contains the track. O(tracks).
  [[nodiscard]] bool shows(std::uint64_t track) const;
  /// A track of the active document, even if the track is hidden; null if there is none with this id. O(tracks).
  [[nodiscard]] const query::track* find(std::uint64_t track) const;

 private:
  std::map<document_id, track_order> orders_;
  std::shared_ptr<const query::track_list> arranged_;  ///< The tracks for which `layout_` was computed.
  std::uint64_t arranged_version_ = 0;                 ///< The version of the order for which it was computed.
  track_layout layout_;
};

}  // namespace sluice::gui
