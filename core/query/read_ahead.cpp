#include "core/query/read_ahead.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::query {
namespace {

/// Where in a view the zoom from one range to another goes, 0..1 of it; nothing, if that is no zoom inwards.
std::optional<double> place_of_zoom(time_range before, time_range now) {
  const double left = static_cast<double>(now.begin - before.begin);
  const double right = static_cast<double>(before.end - now.end);
  if (left < 0 || right < 0 || left + right <= 0) return std::nullopt;
  return left / (left + right);
}

/// What a view shows after the next notch of the wheel: `centre` has the same place in it, and it is two thirds as long.
time_range closer(time_range range, time_ns centre) {
  constexpr time_ns cut = 6;
  return {range.begin + (centre - range.begin) / cut, range.end - (range.end - centre) / cut};
}

}  // namespace

bool read_ahead::look(time_range range, std::uint32_t width) {
  range = analysis::bounded(range);
  const std::scoped_lock lock(mutex_);
  if (seen_ && *seen_ == range) return false;
  const std::optional<time_range> before = std::exchange(seen_, range);
  const std::optional<double> zoom = place_of_zoom(before.value_or(range), range);
  const double place = zoom.value_or(0.5);
  const time_ns centre = range.begin + static_cast<time_ns>(place * static_cast<double>(range.length()));
  const time_ns beside = range.length() / 2;
  wanted_.clear();
  next_ = 0;
  // Whoever asks reads them now, one after another: the last first, so that they meet.
  if (tiles_->draws_epochs(tiles_->grid_over(range, width))) want_epochs(range, range.end);
  want_tiles(range, centre, width);
  want_tiles(closer(range, centre), centre, width / 3 * 4);  // The next smaller bins, whenever they are due.
  if (!before) return !wanted_.empty() && !std::exchange(working_, true);
  if (const time_ns due = tiles_->longest_of_epochs(centre, width); zoom && range.length() / due < soon) {
    // Several are due at once, as soon as the view is as short as that.
    const time_ns begin = centre - static_cast<time_ns>(place * static_cast<double>(due));
    want_epochs({begin, begin + due}, centre);
  }
  want_tiles({range.begin - beside, range.begin}, range.begin, width / 2);
  want_tiles({range.end, range.end + beside}, range.end, width / 2);
  want_epochs({range.begin - beside, range.end + beside}, centre);  // Last: one takes as long as ten tiles.
  return !wanted_.empty() && !std::exchange(working_, true);
}

void read_ahead::want_tiles(time_range range, time_ns centre, std::uint32_t width) {
  std::vector<summaries::tile> tiles = tiles_->tiles_under(tiles_->grid_over(range, width));
  const auto distance = [=](const summaries::tile& which) {
    return std::max<time_ns>({which.begin - centre, centre - which.end(), 0});
  };
  std::stable_sort(tiles.begin(), tiles.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  wanted_.insert(wanted_.end(), tiles.begin(), tiles.end());
}

void read_ahead::want_epochs(time_range range, time_ns centre) {
  const analysis::part_store& store = parts_->store();
  const std::size_t first = store.epoch_at(range.begin);
  const std::size_t last = store.epoch_at(range.end - 1);
  if (last - first >= most_epochs) return;
  const auto middle = static_cast<std::ptrdiff_t>(store.epoch_at(centre));
  std::vector<epoch_number> epochs;
  for (std::size_t epoch = first; epoch <= last; ++epoch) epochs.push_back(epoch);
  const auto distance = [=](epoch_number epoch) { return std::abs(static_cast<std::ptrdiff_t>(epoch) - middle); };
  std::stable_sort(epochs.begin(), epochs.end(),
                   [&](epoch_number a, epoch_number b) { return distance(a) < distance(b); });
  wanted_.insert(wanted_.end(), epochs.begin(), epochs.end());
}

bool read_ahead::is_at_hand(const thing& which) const {
  if (const auto* tile = std::get_if<summaries::tile>(&which)) return tiles_->at_hand(*tile);
  const epoch_number epoch = std::get<epoch_number>(which);
  return parts_->at_hand(epoch, epoch, analysis::part_scope::timeline) != nullptr;
}

bool read_ahead::work() {
  std::optional<thing> next;
  {
    const std::scoped_lock lock(mutex_);
    while (!next && next_ < wanted_.size()) {
      const thing& which = wanted_[next_++];
      if (!is_at_hand(which)) next = which;
    }
    if (!next) return working_ = false;
  }
  // What cannot be read is told to whoever asks for it.
  if (const auto* tile = std::get_if<summaries::tile>(&*next)) {
    tiles_->prepare(*tile);
  } else {
    const epoch_number epoch = std::get<epoch_number>(*next);
    static_cast<void>(parts_->get(epoch, epoch, analysis::part_scope::timeline));
  }
  return true;
}

}  // namespace sluice::query
