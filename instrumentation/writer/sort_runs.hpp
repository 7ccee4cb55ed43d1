#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sluice::writer {

/// Stable sort of `items` by `key(item)` for nearly sorted input: the records of several threads, one thread after the
/// other. The records of each thread are in order, except that a call is recorded at its end, hence after the events
/// inside it. O(items x log runs); a new run begins at an item that belongs more than 16 positions earlier. `spare` is
/// scratch memory.
template <class Item, class Key>
void sort_runs(std::vector<Item>& items, std::vector<Item>& spare, Key&& key) {
  constexpr std::size_t near = 16;
  std::vector<std::size_t> ends;  // End indexes of the runs.
  std::size_t begin = 0;
  for (std::size_t i = 1; i < items.size(); ++i) {
    if (!(key(items[i]) < key(items[i - 1]))) continue;
    std::size_t place = i - 1;
    const std::size_t farthest = i - std::min(i - begin, near);
    while (place > farthest && key(items[i]) < key(items[place - 1])) --place;
    if (place == farthest && place > begin && key(items[i]) < key(items[place - 1])) {
      ends.push_back(begin = i);
    } else {
      std::rotate(items.begin() + static_cast<std::ptrdiff_t>(place), items.begin() + static_cast<std::ptrdiff_t>(i),
                  items.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }
  if (ends.empty()) return;
  ends.push_back(items.size());
  spare.resize(items.size());
  const auto before = [&](const Item& a, const Item& b) { return key(a) < key(b); };
  const auto at = [](std::vector<Item>& list, std::size_t i) { return list.begin() + static_cast<std::ptrdiff_t>(i); };
  while (ends.size() > 1) {
    std::size_t merged = 0;
    std::size_t first = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      const std::size_t middle = ends[run];
      const std::size_t end = ends[std::min(run + 1, ends.size() - 1)];
      std::merge(at(items, first), at(items, middle), at(items, middle), at(items, end), at(spare, first), before);
      ends[merged++] = first = end;
    }
    ends.resize(merged);
    std::swap(items, spare);
  }
}

}  // namespace sluice::writer
