#include "core/query/read_ahead.hpp"

#include <algorithm>
#include <cstdlib>

namespace sluice::query {
namespace {

/// Where the zoom from one range to another goes.
time_ns centre_of(time_range before, time_range now) {
  const double left = static_cast<double>(now.begin - before.begin);
  const double right = static_cast<double>(before.end - now.end);
  const bool inwards = left >= 0 && right >= 0 && left + right > 0;
  const double place = inwards ? left / (left + right) : 0.5;
  return now.begin + static_cast<time_ns>(place * static_cast<double>(now.length()));
}

}  // namespace

bool read_ahead::look(time_range range) {
  range = analysis::bounded(range);
  const std::scoped_lock lock(mutex_);
  if (seen_ && *seen_ == range) return false;
  const std::optional<time_range> before = std::exchange(seen_, range);
  if (!before) return false;
  const analysis::part_store& store = parts_->store();
  const time_ns beside = range.length() / 2;
  const std::size_t first = store.epoch_at(range.begin - beside);
  const std::size_t last = store.epoch_at(range.end - 1 + beside);
  wanted_.clear();
  if (last - first >= most_epochs) return false;
  const auto centre = static_cast<std::ptrdiff_t>(store.epoch_at(centre_of(*before, range)));
  for (std::size_t epoch = first; epoch <= last; ++epoch) wanted_.push_back(epoch);
  std::stable_sort(wanted_.begin(), wanted_.end(), [=](std::size_t a, std::size_t b) {
    return std::abs(static_cast<std::ptrdiff_t>(a) - centre) > std::abs(static_cast<std::ptrdiff_t>(b) - centre);
  });
  return !std::exchange(working_, true);
}

bool read_ahead::work() {
  std::optional<std::size_t> next;
  {
    const std::scoped_lock lock(mutex_);
    while (!next && !wanted_.empty()) {
      const std::size_t epoch = wanted_.back();
      wanted_.pop_back();
      if (parts_->at_hand(epoch, epoch, analysis::part_scope::timeline) == nullptr) next = epoch;
    }
    if (!next) return working_ = false;
  }
  // What cannot be read is told to whoever asks for it.
  static_cast<void>(parts_->get(*next, *next, analysis::part_scope::timeline));
  return true;
}

}  // namespace sluice::query
