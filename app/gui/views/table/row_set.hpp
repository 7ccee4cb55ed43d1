#pragma once

#include <cstddef>
#include <vector>

namespace sluice::gui {

/// A set of rows of a table, stored as runs of adjacent rows. If all of ten million rows are selected, they are one
/// run.
class row_set {
 public:
  struct run {
    std::size_t begin;
    std::size_t end;  ///< One past the last row.
    bool operator==(const run&) const = default;
  };

  /// Makes the set consist of the rows from `a` to `b`, both included; `a` may be greater than `b`. O(1).
  void choose(std::size_t a, std::size_t b);
  /// Adds the row if it is not in the set; otherwise removes it. O(runs).
  void toggle(std::size_t row);
  void clear() { runs_.clear(); }

  /// O(log runs).
  [[nodiscard]] bool contains(std::size_t row) const;
  /// O(runs).
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  /// In ascending order. No two runs are adjacent.
  [[nodiscard]] const std::vector<run>& runs() const { return runs_; }

 private:
  std::vector<run> runs_;
};

}  // namespace sluice::gui
