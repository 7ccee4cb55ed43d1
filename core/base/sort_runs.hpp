#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// Sorts sequences that are nearly sorted.
namespace sluice {

/// A stable natural merge sort (Knuth, 5.2.4): merges sorted runs, short runs first, in O(n * log runs). Use it for
/// rows of several kinds if the rows of each kind are already sorted by time. If the runs have fewer than 16 items on
/// average, the function uses std::stable_sort instead.
template <class Iterator, class Less>
void sort_runs(Iterator begin, Iterator end, Less less) {
  constexpr std::ptrdiff_t min_length = 16;  // Minimum average length of a run.
  std::ptrdiff_t runs = 1;
  for (auto at = begin; at != end && at + 1 != end; ++at) runs += less(*(at + 1), *at) ? 1 : 0;
  if (runs == 1) return;
  if (runs * min_length > end - begin) return std::stable_sort(begin, end, less);
  std::vector<Iterator>
      begins;  // The starts of the runs that are not merged yet. Each of these runs is shorter than the run before it.
  const auto merge_last = [&](auto until) {
    const auto middle = begins.back();
    begins.pop_back();
    std::inplace_merge(begins.back(), middle, until, less);
  };
  for (auto at = begin; at != end;) {
    begins.push_back(at);
    at = std::is_sorted_until(at, end, less);
    while (begins.size() > 1 && begins.back() - begins[begins.size() - 2] <= at - begins.back()) merge_last(at);
  }
  while (begins.size() > 1) merge_last(end);
}

template <class Item, class Less>
void sort_runs(std::vector<Item>& items, Less less) {
  sort_runs(items.begin(), items.end(), less);
}

}  // namespace sluice
