#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// Finds where the elements of a JSON array end, without parsing them. Private to core/import.
namespace sluice::importing {

/// Describes the elements of an array in a piece of text.
struct array_piece {
  std::size_t end = 0;       ///< The index after the last element that ends in the piece; 0 if none does.
  std::size_t elements = 0;  ///< The number of elements (objects and arrays) that end in the piece.
  bool closed = false;       ///< The end of the array was found.
  std::size_t close = 0;     ///< The index of the array's ']', if `closed` is true.
  bool broken =
      /// True if a quote is missing or extra, because a string ends where no string can end. The text after `end` was
      /// not scanned.
      false;
};

/// Finds the ends of elements in text that starts between two elements of an array. Handles strings and escapes, but
/// does not distinguish kinds of brackets, so a parser must check whether they match. Scans 64 bytes at a time, like
/// simdjson's first stage (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019), in one pass and without
/// building an index. If `ends` is given, adds the end of each element to it; otherwise allocates nothing. Checks the
/// character after each closing quote, so that an extra quote is found where it is, not at the end of the file. O(n).
[[nodiscard]] array_piece scan_array(std::string_view text, std::vector<std::size_t>* ends = nullptr);

}  // namespace sluice::importing
