#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/stacks/python_layout.hpp"

/// Reads Python's code objects directly from memory, without reference counts, without the GIL and without calls into
/// Python. The caller's frame keeps the code object alive.
namespace sluice::capture {

/// The current instruction of a frame: its address or, for `python_family::frame_objects`, the number `f_lasti`.
using python_position = std::uint64_t;

/// The line table of a code object, and a place in the code.
struct line_query {
  const std::uint8_t* table;  ///< Null: no table.
  std::size_t bytes;
  std::int32_t first_line;
  std::int64_t address;  ///< In bytes from the first instruction; negative: before it.
};

/// The source line of a place; the first line if the place is before the first instruction; 0 if the compiler recorded
/// no line. O(size of the table).
[[nodiscard]] std::uint32_t find_line(const python_layout& layout, const line_query& query) noexcept;

/// A code object's instructions in memory.
struct code_place {
  std::uint64_t code;    ///< Address of the code object.
  std::int64_t units;    ///< Its number of 2-byte instructions.
  std::uint64_t copies;  ///< Address of the table of its copies; 0: none (`python_layout::code.copies`).
};

/// Offset in bytes of `position` from the first instruction; negative if unknown. Reads the table of copies through the
/// kernel, so that freed memory causes no fault.
[[nodiscard]] std::int64_t get_address(const python_layout& layout, const code_place& place,
                                       python_position position) noexcept;

/// The source line of `position`; the code's first line if `position` is before the first instruction; 0 if the
/// compiler recorded no line. O(size of the code's line table).
[[nodiscard]] std::uint32_t get_line(const python_layout& layout, const void* code, python_position position) noexcept;

/// The text of a `str` in UTF-8. ASCII is returned in place; otherwise it is written to `buffer`, cut to `room` bytes
/// at a character boundary. An invalid character (lone surrogate) becomes U+FFFD.
struct text_view {
  const char* text;
  std::size_t length;
};
[[nodiscard]] text_view read_utf8(const python_layout& layout, const void* unicode, char* buffer,
                                  std::size_t room) noexcept;

}  // namespace sluice::capture
