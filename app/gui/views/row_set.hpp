#pragma once

#include <cstddef>
#include <vector>

namespace sluice::gui {

/// A set of rows of a table, as runs of neighbours: all of ten million rows are one run.
class row_set {
 public:
  struct run {
    std::size_t begin;
    std::size_t end;  ///< Behind the last.
    bool operator==(const run&) const = default;
  };

  /// The rows from `a` to `b`, both included, in any order, and no others. O(1).
  void choose(std::size_t a, std::size_t b);
  /// Puts the row into the set, or takes it out. O(runs).
  void toggle(std::size_t row);
  void clear() { runs_.clear(); }

  /// O(log runs).
  [[nodiscard]] bool contains(std::size_t row) const;
  /// O(runs).
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return runs_.empty(); }
  /// Ascending, at least one row apart.
  [[nodiscard]] const std::vector<run>& runs() const { return runs_; }

 private:
  std::vector<run> runs_;
};

}  // namespace sluice::gui
