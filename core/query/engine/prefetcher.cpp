#include "core/query/engine/prefetcher.hpp"

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

/// A view that is `length` long and has `centre` at a place, 0..1 of it.
time_range view_around(time_ns centre, double place, time_ns length) {
  const time_ns begin = centre - static_cast<time_ns>(place * static_cast<double>(length));
  return {begin, begin + length};
}

}  // namespace

bool read_ahead::look(time_range range, std::uint32_t width) {
  range = analysis::bounded(range);
  const std::scoped_lock lock(mutex_);
  if (seen_ && *seen_ == range) return false;
  const std::optional<time_range> before = std::exchange(seen_, range);
  const std::optional<double> zoom = place_of_zoom(before.value_or(range), range);
  if (zoom) place_ = *zoom;
  const time_ns centre = range.begin + static_cast<time_ns>(place_ * static_cast<double>(range.length()));
  const time_ns beside = range.length() / 2;
  wanted_.clear();
  next_ = 0;
  // Whoever asks reads them now, one after another: the last first, so that they meet.
  const bool shows_epochs = tiles_->draws_epochs(tiles_->grid_over(range, width));
  if (shows_epochs) want_epochs(range, range.end);
  const tile_list shown = tiles_over(range, centre, width);
  want(shown);
  const time_ns of_smaller = std::min(tiles_->longest_of_smaller(range, width), range.length());
  const tile_list smaller = tiles_over(view_around(centre, place_, of_smaller), centre, width);
  urgent_.clear();
  next_urgent_ = 0;
  in_view_ = shown.size();
  if (!shows_epochs) {
    urgent_ = shown;
    urgent_.insert(urgent_.end(), smaller.begin(), smaller.end());
  }
  if (const time_ns due = tiles_->longest_of_epochs(centre, width); before && zoom && range.length() / due < soon) {
    // Several are due at once, as soon as the view is as short as that.
    want_epochs(view_around(centre, place_, due), centre);
  }
  want(smaller);
  if (!before) return !wanted_.empty() && !std::exchange(working_, true);
  want(tiles_over({range.begin - beside, range.begin}, range.begin, width / 2));
  want(tiles_over({range.end, range.end + beside}, range.end, width / 2));
  want_epochs({range.begin - beside, range.end + beside}, centre);  // Last: one takes as long as ten tiles.
  return !wanted_.empty() && !std::exchange(working_, true);
}

/// The nearest to `centre` first.
read_ahead::tile_list read_ahead::tiles_over(time_range range, time_ns centre, std::uint32_t width) const {
  tile_list found = tiles_->tiles_under(tiles_->grid_over(range, width));
  const auto distance = [=](const summaries::tile& which) {
    return std::max<time_ns>({which.begin - centre, centre - which.end(), 0});
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return found;
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

bool read_ahead::read(const thing& which) {
  if (const auto* tile = std::get_if<summaries::tile>(&which)) return tiles_->prepare(*tile);
  return parts_->prepare(std::get<epoch_number>(which), analysis::part_scope::timeline, [this] {
    read_urgent_tiles();
    return true;
  });
}

void read_ahead::read_urgent_tiles() {
  for (;;) {
    std::unique_lock lock(mutex_);
    const bool in_view = next_urgent_ < in_view_;
    const auto begin = steady::now();
    if (next_urgent_ >= urgent_.size() || (!in_view && begin < turn_of_tiles_)) return;
    const summaries::tile next = urgent_[next_urgent_++];
    lock.unlock();
    if (!tiles_->prepare(next) || in_view) continue;
    const auto end = steady::now();
    lock.lock();
    turn_of_tiles_ = end + epoch_to_tiles * (end - begin);
    return;
  }
}

bool read_ahead::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (next_ == wanted_.size()) return working_ = false;
    const thing next = wanted_[next_++];
    lock.unlock();
    if (read(next)) return true;
  }
}

}  // namespace sluice::query
