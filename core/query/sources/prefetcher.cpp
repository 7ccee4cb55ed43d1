#include "core/query/sources/prefetcher.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::query {
namespace {

/// Returns the position in a view, 0..1, that a zoom from one range to another approaches, or nullopt if the change is
/// not an inward zoom.
std::optional<double> place_of_zoom(time_range before, time_range now) {
  const double left = static_cast<double>(now.begin - before.begin);
  const double right = static_cast<double>(before.end - now.end);
  if (left < 0 || right < 0 || left + right <= 0) return std::nullopt;
  return left / (left + right);
}

/// Sections with more events than this are not read ahead. A typical section has some 50,000 events. A section with a
/// million live blocks has over a million events, and its index takes a gigabyte and seconds to build.
constexpr std::uint64_t max_events = 250'000;

/// Returns a view of the given `length` that has `centre` at the position `place`, 0..1.
time_range view_around(time_ns centre, double place, time_ns length) {
  const time_ns begin = centre - static_cast<time_ns>(place * static_cast<double>(length));
  return {begin, begin + length};
}

}  // namespace

bool prefetcher::prefetch(time_range range, std::uint32_t width) {
  range = bounded(range);
  const std::scoped_lock lock(mutex_);
  if (seen_ && *seen_ == range) return false;
  const std::optional<time_range> before = std::exchange(seen_, range);
  const std::optional<double> zoom = place_of_zoom(before.value_or(range), range);
  if (zoom) place_ = *zoom;
  const time_ns centre = range.begin + static_cast<time_ns>(place_ * static_cast<double>(range.length()));
  const time_ns beside = range.length() / 2;
  wanted_.clear();
  next_ = 0;
  // A view that shows sections reads them itself, from the first on. Start with the last section, so that both readers
  // meet.
  const bool shows_sections = tiles_->draws_sections(tiles_->grid_over(range, width));
  if (shows_sections) want_sections(range, range.end);
  const tile_list shown = tiles_over(range, centre, width);
  want(shown);
  const time_ns of_smaller = std::min(tiles_->longest_of_smaller(range, width), range.length());
  const tile_list smaller = tiles_over(view_around(centre, place_, of_smaller), centre, width);
  urgent_.clear();
  next_urgent_ = 0;
  in_view_ = shown.size();
  if (!shows_sections) {
    urgent_ = shown;
    urgent_.insert(urgent_.end(), smaller.begin(), smaller.end());
  }
  if (const time_ns due = tiles_->longest_of_sections(centre, width); before && zoom && range.length() / due < soon) {
    // Once the view gets as short as `due`, it needs several sections at once.
    want_sections(view_around(centre, place_, due), centre);
  }
  want(smaller);
  if (!before) return !wanted_.empty() && !std::exchange(working_, true);
  want(tiles_over({range.begin - beside, range.begin}, range.begin, width / 2));
  want(tiles_over({range.end, range.end + beside}, range.end, width / 2));
  // Sections come last, because one takes as long as ten tiles.
  want_sections({range.begin - beside, range.end + beside}, centre);
  return !wanted_.empty() && !std::exchange(working_, true);
}

/// Returns the tiles of a range, sorted by their distance from `centre`.
prefetcher::tile_list prefetcher::tiles_over(time_range range, time_ns centre, std::uint32_t width) const {
  tile_list found = tiles_->tiles_under(tiles_->grid_over(range, width));
  const auto distance = [=](const timeline::tile& which) {
    return std::max<time_ns>({which.begin - centre, centre - which.end(), 0});
  };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  return found;
}

void prefetcher::want_sections(time_range range, time_ns centre) {
  const summary::section_reader& store = parts_->store();
  const std::size_t first = store.section_at(range.begin);
  const std::size_t last = store.section_at(range.end - 1);
  if (last - first >= max_sections) return;
  const auto middle = static_cast<std::ptrdiff_t>(store.section_at(centre));
  std::vector<section_number> sections;
  for (std::size_t section = first; section <= last; ++section)
    if (store.sections().events(section) <= max_events) sections.push_back(section);
  const auto distance = [=](section_number section) { return std::abs(static_cast<std::ptrdiff_t>(section) - middle); };
  std::stable_sort(sections.begin(), sections.end(),
                   [&](section_number a, section_number b) { return distance(a) < distance(b); });
  wanted_.insert(wanted_.end(), sections.begin(), sections.end());
}

bool prefetcher::read(const thing& which) {
  if (const auto* tile = std::get_if<timeline::tile>(&which)) return tiles_->prepare(*tile);
  return parts_->prepare(std::get<section_number>(which), index::section_scope::timeline, [this] {
    read_urgent_tiles();
    return true;
  });
}

void prefetcher::read_urgent_tiles() {
  for (;;) {
    std::unique_lock lock(mutex_);
    const bool in_view = next_urgent_ < in_view_;
    const auto begin = steady::now();
    if (next_urgent_ >= urgent_.size() || (!in_view && begin < turn_of_tiles_)) return;
    const timeline::tile next = urgent_[next_urgent_++];
    lock.unlock();
    if (!tiles_->prepare(next) || in_view) continue;
    const auto end = steady::now();
    lock.lock();
    turn_of_tiles_ = end + section_to_tiles * (end - begin);
    return;
  }
}

bool prefetcher::work() {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (next_ == wanted_.size()) return working_ = false;
    const thing next = wanted_[next_++];
    lock.unlock();
    if (read(next)) return true;
  }
}

}  // namespace sluice::query
