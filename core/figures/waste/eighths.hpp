#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>

/// In which parts of a stretch of work something happens: what recurs happens in many, what starts or ends in few.
namespace sluice::analysis {

/// Eight equal parts, and those in which something was marked.
class eighths {
 public:
  /// Marks the part that `share` of the whole lies in; 0: the begin, 1: the end. What lies outside counts for the nearest.
  void mark(double share) { marked_.set(std::min(static_cast<std::size_t>(std::max(share, 0.0) * parts), parts - 1)); }
  /// How many parts are marked, 0 to 8.
  [[nodiscard]] std::uint64_t count() const { return marked_.count(); }
  /// True if all are, the last one aside.
  [[nodiscard]] bool all_but_the_last() const { return (~marked_).reset(parts - 1).none(); }

 private:
  static constexpr std::size_t parts = 8;
  std::bitset<parts> marked_;
};

}  // namespace sluice::analysis
