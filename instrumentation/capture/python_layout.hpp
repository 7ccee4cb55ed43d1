#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Where the parts of CPython's objects lie, by version. From CPython's own headers (Include/cpython, Include/internal) of each
/// version; a minor version keeps its layout. From 3.13 on the interpreter itself says where things are (_Py_DebugOffsets).
/// Offsets are in bytes.
namespace sluice::capture {

/// How the frames of a thread hang together.
enum class python_family : std::uint8_t {
  frame_objects,  ///< To 3.10: PyFrameObject, one evaluation of C a frame.
  cframes,        ///< 3.11: _PyInterpreterFrame; an entry frame begins an evaluation.
  cframe_shims,   ///< 3.12: a frame that C owns lies below each entry frame.
  shims,          ///< 3.13: the same, without the detour by the C frame.
};

/// How a code object tells lines.
enum class python_lines : std::uint8_t { lnotab, ranges, locations };

struct python_layout {
  unsigned minor;
  python_family family;
  python_lines lines;
  struct {
    std::uint16_t frame;  ///< The current frame; what leads to it in `cframes` and `cframe_shims`.
    std::uint16_t thread_id;
    std::uint16_t frame_of_cframe;
  } thread;
  struct {
    std::uint16_t previous, code;
    std::uint16_t instruction;  ///< An int counted from 0 in `frame_objects`; else a pointer into the code.
    std::uint16_t owner, is_entry;
  } frame;
  struct {
    std::uint16_t first_line, file, name, line_table;
    std::uint16_t instructions, first_traceable;
    std::uint16_t version;  ///< A number that each code object has for itself; 0: this Python has none.
  } code;
  std::uint16_t ascii_data;    ///< Characters of a compact ASCII string.
  std::uint16_t unicode_data;  ///< Of any other compact one; of the rest, the pointer to them.
};

// What every version since 3.3 has.
inline constexpr std::size_t unicode_length = 16, unicode_state = 32;
inline constexpr std::size_t bytes_length = 16, bytes_data = 32;

/// Null: a version that is not known.
[[nodiscard]] const python_layout* known_layout(unsigned major, unsigned minor) noexcept;

/// True if what 3.13 says of itself is what `layout` says. `runtime` is _PyRuntime.
[[nodiscard]] bool agrees_with_debug_offsets(const python_layout& layout, const void* runtime) noexcept;

template <class T>
[[nodiscard]] T read_at(const void* object, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

}  // namespace sluice::capture
