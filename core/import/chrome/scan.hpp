#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// Finds where the elements of a JSON array end, without parsing them. Private to core/import.
namespace sluice::importing {

/// What a piece of an array contains.
struct array_piece {
  std::size_t end = 0;       ///< After the last object or array that ends in the piece; 0 if none does.
  std::size_t elements = 0;  ///< Number of objects and arrays that end in it.
  bool closed = false;       ///< The end of the outer array was found.
  std::size_t close = 0;     ///< The index of its ']'.
};

/// Scans text that begins between two elements of an array. Understands strings and escapes; counts brackets of both
/// kinds alike, so mismatches are left to the parser. Works on 64 bytes at a time, like simdjson's first stage
/// (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019), but in one pass without an index. O(n).
/// Allocates only for `ends`, if given, which receives the end of each element.
[[nodiscard]] array_piece scan_array(std::string_view text, std::vector<std::size_t>* ends = nullptr);

}  // namespace sluice::importing
