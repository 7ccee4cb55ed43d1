#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Tables of the member offsets (in bytes) in CPython's objects, by version. The numbers are from CPython's headers
/// (Include/cpython, Include/internal). All releases of a minor version share a layout. From 3.13 on, the interpreter
/// publishes its offsets (_Py_DebugOffsets). Builds without the GIL (3.13t, 3.14t) have their own layouts: object
/// headers are longer, and from 3.14 on each thread runs its own copy of the code.
namespace sluice::capture {

/// How the frames of a thread are linked.
enum class python_family : std::uint8_t {
  frame_objects,  ///< Up to 3.10: PyFrameObject; one C evaluation per frame.
  cframes,        ///< 3.11: _PyInterpreterFrame, via the thread's _PyCFrame; an entry frame begins an evaluation.
  cframe_shims,   ///< 3.12: like `cframes`, but below each entry frame is a frame that C owns.
  shims,          ///< From 3.13 on: like `cframe_shims`, but the thread points to the frame directly.
};

/// Format of a code object's line table.
enum class python_lines : std::uint8_t { lnotab, ranges, locations };

struct python_layout {
  unsigned minor;
  python_family family;
  python_lines lines;
  struct {
    std::uint16_t frame;  ///< The current frame; in `cframes` and `cframe_shims`, the _PyCFrame.
    std::uint16_t thread_id;
    std::uint16_t frame_of_cframe;
  } thread;
  struct {
    std::uint16_t previous, code;
    std::uint16_t instruction;  ///< In `frame_objects` an int index, else a pointer into the code.
    std::uint16_t owner, is_entry;
  } frame;
  struct {
    std::uint16_t first_line, file;
    std::uint16_t name;  ///< From 3.11 on, the qualified name ("Linear.forward"); before, the plain name ("forward").
    std::uint16_t line_table;
    std::uint16_t instructions, first_traceable;
    std::uint16_t version;  ///< A number unique to each code object; 0: this version has none.
  } code;
  std::uint16_t ascii_data;    ///< Characters of a compact ASCII string.
  std::uint16_t unicode_data;  ///< Characters of a compact non-ASCII string; in other strings, a pointer to them.
  bool without_gil = false;
  std::uint16_t head = 16;      ///< Size of an object header.
  std::uint16_t kind_bits = 2;  ///< Bit position of `kind` in a string's state.
  std::uint16_t copies = 0;     ///< In a code object: the table of its copies, one per thread; 0: no such table.

  // Offsets that are the same in every version since 3.3.
  [[nodiscard]] constexpr std::size_t length() const { return head; }  ///< Item count of a str, bytes or code object.
  [[nodiscard]] constexpr std::size_t unicode_state() const { return head + std::size_t{16}; }
  [[nodiscard]] constexpr std::size_t bytes_data() const { return head + std::size_t{16}; }
};

/// The layout of 3.8 to 3.10.
constexpr python_layout layout_of_frame_objects(unsigned minor, python_lines lines, std::uint16_t instruction) {
  return {.minor = minor,
          .family = python_family::frame_objects,
          .lines = lines,
          .thread = {.frame = 24, .thread_id = 176, .frame_of_cframe = 0},
          .frame = {.previous = 24, .code = 32, .instruction = instruction, .owner = 0, .is_entry = 0},
          .code = {.first_line = 40,
                   .file = 104,
                   .name = 112,
                   .line_table = 120,
                   .instructions = 0,
                   .first_traceable = 0,
                   .version = 0},
          .ascii_data = 48,
          .unicode_data = 72};
}

/// The layout of 3.13 and 3.14. `longer`: how much longer an object header is than with the GIL.
constexpr python_layout layout_of_shims(unsigned minor, std::uint16_t owner, std::uint16_t instructions,
                                        std::uint16_t first_traceable, std::uint16_t longer = 0) {
  const auto behind_header = [longer](int offset) { return static_cast<std::uint16_t>(offset + longer); };
  return {.minor = minor,
          .family = python_family::shims,
          .lines = python_lines::locations,
          .thread = {.frame = 72, .thread_id = 152, .frame_of_cframe = 0},
          .frame = {.previous = 8, .code = 0, .instruction = 56, .owner = owner, .is_entry = 0},
          .code = {.first_line = behind_header(68),
                   .file = behind_header(112),
                   .name = behind_header(128),
                   .line_table = behind_header(136),
                   .instructions = instructions,
                   .first_traceable = first_traceable,
                   .version = behind_header(92)},
          .ascii_data = behind_header(40),
          .unicode_data = behind_header(56),
          .without_gil = longer != 0,
          .head = behind_header(16)};
}

/// Layouts by version, as constants, so that a walk can be compiled for one version.
inline constexpr python_layout python_layouts[] = {
    layout_of_frame_objects(8, python_lines::lnotab, 104),
    layout_of_frame_objects(9, python_lines::lnotab, 104),
    layout_of_frame_objects(10, python_lines::ranges, 96),
    {.minor = 11,
     .family = python_family::cframes,
     .lines = python_lines::locations,
     .thread = {.frame = 56, .thread_id = 152, .frame_of_cframe = 8},
     .frame = {.previous = 48, .code = 32, .instruction = 56, .owner = 69, .is_entry = 68},
     .code = {.first_line = 72,
              .file = 112,
              .name = 128,
              .line_table = 136,
              .instructions = 184,
              .first_traceable = 168,
              .version = 0},
     .ascii_data = 48,
     .unicode_data = 72},
    [] {
      python_layout layout = layout_of_shims(12, 70, 192, 176);
      layout.family = python_family::cframe_shims;
      layout.thread = {.frame = 56, .thread_id = 136, .frame_of_cframe = 0};
      return layout;
    }(),
    layout_of_shims(13, 70, 200, 184),
    layout_of_shims(14, 74, 208, 192),
    layout_of_shims(13, 70, 216, 200, 16),
    [] {
      python_layout layout = layout_of_shims(14, 78, 232, 208, 16);
      layout.kind_bits = 8;
      layout.copies = 224;
      return layout;
    }(),
};

/// The layout of a version; null if the version is not supported.
[[nodiscard]] const python_layout* known_layout(unsigned major, unsigned minor, bool without_gil) noexcept;

/// True if the Python build (3.13 or later) with this _PyRuntime has no GIL.
[[nodiscard]] bool is_without_gil(const void* runtime) noexcept;

/// Offset in _PyRuntime (`runtime`) of a pointer that is set for good when Python shuts down; 0 if unknown.
[[nodiscard]] std::size_t finalizing_in_runtime(const python_layout& layout, const void* runtime) noexcept;

/// Where the list of all threads is (offsets in bytes).
struct python_thread_list {
  std::uint16_t interpreters;      ///< In _PyRuntime: the first interpreter.
  std::uint16_t next_interpreter;  ///< In an interpreter.
  std::uint16_t threads;           ///< In an interpreter: the state of its first thread.
  std::uint16_t next_thread;       ///< In a thread's state, as are the following.
  std::uint16_t interpreter;       ///< The thread's interpreter.
  std::uint16_t tid;               ///< The system's id of the thread (gettid); 0: this version does not store it.
};

/// The offsets for `layout`. `runtime` is _PyRuntime, which publishes them from 3.13 on; call `agrees_with_debug_offsets`
/// before.
[[nodiscard]] python_thread_list get_thread_list(const python_layout& layout, const void* runtime) noexcept;

/// True if the offsets that Python (3.13 and later) publishes agree with `layout`. `runtime` is _PyRuntime.
[[nodiscard]] bool agrees_with_debug_offsets(const python_layout& layout, const void* runtime) noexcept;

template <class T>
[[nodiscard]] T read_at(const void* object, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

}  // namespace sluice::capture
