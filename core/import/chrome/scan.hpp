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
  bool broken =
      false;  ///< A string ends where none can: a quote is missing or too many. Text after `end` was not scanned.
};

/// Finds ends of elements in text that begins between two elements of an array. Knows strings and escapes, but not
/// kinds of brackets: a parser must check whether they match. Scans 64 bytes at a time, as simdjson's first stage
/// (Langdale and Lemire, "Parsing gigabytes of JSON per second", 2019), in one pass without an index. O(n). Allocates
/// nothing unless `ends` is given, which gets the end of each element. Checks what follows a closing quote, so that an
/// extra quote is found where it is, not at the end of the file.
[[nodiscard]] array_piece scan_array(std::string_view text, std::vector<std::size_t>* ends = nullptr);

}  // namespace sluice::importing
