#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// Sorting what comes nearly in order.
namespace sluice::timeline {

/// Sorts stably, as a natural merge sort (Knuth, 5.2.4): sorted runs one behind another, as rows of several kinds are that were written
/// in order of time, are merged in O(n * log runs), short ones before long ones. Where there are hardly any it is std::stable_sort.
template <class Item, class Less>
void sort_runs(std::vector<Item>& items, Less less) {
  constexpr std::size_t least_length = 16;  // On average.
  const auto begin = items.begin(), end = items.end();
  std::size_t runs = 1;
  for (auto at = begin; at != end && at + 1 != end; ++at) runs += less(*(at + 1), *at) ? 1 : 0;
  if (runs == 1) return;
  if (runs * least_length > items.size()) return std::stable_sort(begin, end, less);
  std::vector<typename std::vector<Item>::iterator>
      begins;  // Of the runs that are left, each shorter than the one before it.
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

}  // namespace sluice::timeline
