#include "app/gui/views/timeline/track_arrangement.hpp"

#include <algorithm>

namespace sluice::gui {

void track_arrangement::keep(document_id document, kept_view& into) const {
  if (const auto order = orders_.find(document); order != orders_.end()) order->second.keep(into);
}

void track_arrangement::arrange(const document& shown, const std::shared_ptr<const query::track_list>& tracks) {
  const track_order& order = orders_[shown.id];
  if (arranged_ == tracks && arranged_version_ == order.version()) return;
  arranged_ = tracks;
  arranged_version_ = order.version();
  layout_ = order.arrange(*tracks, shown.engine->snapshot()->tables());
}

void track_arrangement::reset() {
  arranged_ = nullptr;
  layout_ = {};
}

bool track_arrangement::shows(std::uint64_t track) const {
  return std::any_of(layout_.tracks.begin(), layout_.tracks.end(),
                     [track](const placed_track& each) { return each.track->id == track; });
}

const query::track* track_arrangement::find(std::uint64_t track) const {
  if (arranged_ == nullptr) return nullptr;
  const auto found = std::find_if(arranged_->tracks.begin(), arranged_->tracks.end(),
                                  [track](const query::track& each) { return each.id == track; });
  return found == arranged_->tracks.end() ? nullptr : &*found;
}

}  // namespace sluice::gui
