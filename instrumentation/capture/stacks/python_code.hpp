#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/stacks/python_layout.hpp"

/// What a code object says, read raw: no reference counts, no GIL, no calls into Python. The caller's own frame keeps the
/// code alive.
namespace sluice::capture {

/// Where a frame stands: a pointer into its code, or for `python_family::frame_objects` the number that `f_lasti` is.
using python_position = std::uint64_t;

/// The line of `position` in `code`; the first line of the code before its first instruction, 0 where the compiler gave none.
/// O(line table).
[[nodiscard]] std::uint32_t line_of(const python_layout& layout, const void* code, python_position position) noexcept;

/// The text of a `str` in UTF-8: in place if it is ASCII, else written to `buffer` and cut to `room` bytes between two
/// characters. What is no character (a lone surrogate) becomes U+FFFD.
struct text_view {
  const char* text;
  std::size_t length;
};
[[nodiscard]] text_view utf8_of(const python_layout& layout, const void* unicode, char* buffer,
                                std::size_t room) noexcept;

}  // namespace sluice::capture
