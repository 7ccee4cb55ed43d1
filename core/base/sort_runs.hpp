#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

namespace sluice {

/// Stable sort for sequences that are nearly sorted: sorted runs, one after the other, in which some items are a few
/// positions late. An example is the records of several threads, thread by thread, in which a call is recorded at its
/// end, hence after the events inside it. O(items x log runs); a new run begins at an item that belongs more than 16
/// positions earlier. `spare` is scratch memory for as many items, which need a default constructor.
template <class Item, class Less>
void sort_runs(std::vector<Item>& items, std::vector<Item>& spare, Less less) {
  constexpr std::size_t near = 16;
  const auto at = [](std::vector<Item>& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  std::vector<std::size_t> ends;  // End indexes of the runs.
  std::size_t begin = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (!less(items[i], items[i - 1])) continue;
    std::size_t place = i - 1;
    const std::size_t farthest = i - std::min(i - begin, near);
    while (place > farthest && less(items[i], items[place - 1])) --place;
    if (place == farthest && place > begin && less(items[i], items[place - 1])) {
      ends.push_back(begin = i);
    } else {
      std::rotate(at(items, place), at(items, i), at(items, i + 1));
    }
  }
  if (ends.empty()) return;
  ends.push_back(items.size());
  spare.resize(items.size());
  const auto moved = [&](std::size_t i) { return std::make_move_iterator(at(items, i)); };
  while (ends.size() > 1) {
    std::size_t merged = 0;
    std::size_t first = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t middle = ends[run];
      const std::size_t end = ends[std::min(run + 1, ends.size() - 1)];
      std::merge(moved(first), moved(middle), moved(middle), moved(end), at(spare, first), less);
      ends[merged++] = first = end;
    }
    ends.resize(merged);
    std::swap(items, spare);
  }
}

template <class Item, class Less>
void sort_runs(std::vector<Item>& items, Less less) {
  std::vector<Item> spare;
  sort_runs(items, spare, less);
}

}  // namespace sluice
