#include "app/gui/views/table/row_set.hpp"

#include <algorithm>

namespace sluice::gui {

void row_set::choose(std::size_t a, std::size_t b) { runs_.assign(1, {std::min(a, b), std::max(a, b) + 1}); }

void row_set::toggle(std::size_t row) {
  // The first run that contains the row, is adjacent to it, or comes after it.
  const auto at = std::find_if(runs_.begin(), runs_.end(), [row](const run& each) { return each.end >= row; });
  if (at == runs_.end() || at->begin > row + 1) {
    runs_.insert(at, {row, row + 1});
  } else if (at->begin == row + 1) {
    at->begin = row;
  } else if (at->end == row) {
    at->end = row + 1;
    const auto next = at + 1;
    if (next != runs_.end() && next->begin == at->end) {
      at->end = next->end;
      runs_.erase(next);
    }
  } else {  // The run contains the row, so split it.
    const run upper{row + 1, at->end};
    at->end = row;
    const auto place = at->begin == at->end ? runs_.erase(at) : at + 1;
    if (upper.begin < upper.end) runs_.insert(place, upper);
  }
}

bool row_set::contains(std::size_t row) const {
  const auto next =
      std::upper_bound(runs_.begin(), runs_.end(), row, [](std::size_t r, const run& each) { return r < each.begin; });
  return next != runs_.begin() && row < (next - 1)->end;
}

std::size_t row_set::size() const {
  std::size_t sum = 0;
  for (const run& each : runs_) sum += each.end - each.begin;
  return sum;
}

}  // namespace sluice::gui
