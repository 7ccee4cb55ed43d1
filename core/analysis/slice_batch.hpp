#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "core/analysis/recent_entry.hpp"
#include "core/summary/slice_set.hpp"

namespace sluice::analysis {

/// Slices of some rows by what they belong to, so that each set of slices takes its own in at once.
template <class Key>
class slice_batch {
 public:
  using lists = std::map<Key, std::vector<summaries::slice_item>>;

  /// Of so many rows.
  explicit slice_batch(std::size_t rows) : rows_(rows) {}

  void add(const Key& key, const summaries::slice_item& item) {
    std::vector<summaries::slice_item>& of = recent_.in(lists_, key);
    if (lists_.size() == 1 && of.empty()) of.reserve(rows_);  // Most often all are of one.
    of.push_back(item);
  }

  [[nodiscard]] auto begin() { return lists_.begin(); }
  [[nodiscard]] auto end() { return lists_.end(); }

 private:
  std::size_t rows_;
  lists lists_;
  recent_entry<lists> recent_;
};

}  // namespace sluice::analysis
