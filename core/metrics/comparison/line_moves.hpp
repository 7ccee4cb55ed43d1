#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace sluice::metrics {

/// Determines by how many lines the code of each function moved between two recordings. This is the smallest distance
/// that makes most of the function's lines match.
class line_moves {
 public:
  /// Adds a line of `function` (a text such as that of `text_to_match`). Line 0 is unknown and ignored.
  void add(const std::string& function, std::uint64_t line, bool is_after);
  /// Computes the moves of the added lines. O(lines before * lines after) per function, at most `max_pairs`.
  void find();
  /// Maps a line number in `before` to the line number in `after`.
  [[nodiscard]] std::uint64_t moved(const std::string& function, std::uint64_t line) const;

 private:
  /// The maximum number of pairs of lines. A function with a thousand lines that all allocate reaches it.
  static constexpr std::size_t max_pairs = 1'000'000;
  struct lines {
    std::set<std::uint64_t> before, after;
    std::int64_t move = 0;
  };
  static std::int64_t get_move(const lines& subject);

  std::map<std::string, lines> functions_;
};

}  // namespace sluice::metrics
