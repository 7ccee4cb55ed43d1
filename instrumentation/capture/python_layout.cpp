#include "instrumentation/capture/python_layout.hpp"

namespace sluice::capture {

namespace {

constexpr python_layout layouts[] = {
    {.minor = 8,
     .family = python_family::frame_objects,
     .lines = python_lines::lnotab,
     .thread = {.frame = 24, .thread_id = 176, .frame_of_cframe = 0},
     .frame = {.previous = 24, .code = 32, .instruction = 104, .owner = 0, .is_entry = 0},
     .code = {.first_line = 40,
              .file = 104,
              .name = 112,
              .line_table = 120,
              .instructions = 0,
              .first_traceable = 0,
              .version = 0},
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 9,
     .family = python_family::frame_objects,
     .lines = python_lines::lnotab,
     .thread = {.frame = 24, .thread_id = 176, .frame_of_cframe = 0},
     .frame = {.previous = 24, .code = 32, .instruction = 104, .owner = 0, .is_entry = 0},
     .code = {.first_line = 40,
              .file = 104,
              .name = 112,
              .line_table = 120,
              .instructions = 0,
              .first_traceable = 0,
              .version = 0},
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 10,
     .family = python_family::frame_objects,
     .lines = python_lines::ranges,
     .thread = {.frame = 24, .thread_id = 176, .frame_of_cframe = 0},
     .frame = {.previous = 24, .code = 32, .instruction = 96, .owner = 0, .is_entry = 0},
     .code = {.first_line = 40,
              .file = 104,
              .name = 112,
              .line_table = 120,
              .instructions = 0,
              .first_traceable = 0,
              .version = 0},
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 11,
     .family = python_family::cframes,
     .lines = python_lines::locations,
     .thread = {.frame = 56, .thread_id = 152, .frame_of_cframe = 8},
     .frame = {.previous = 48, .code = 32, .instruction = 56, .owner = 69, .is_entry = 68},
     .code = {.first_line = 72,
              .file = 112,
              .name = 120,
              .line_table = 136,
              .instructions = 184,
              .first_traceable = 168,
              .version = 0},
     .ascii_data = 48,
     .unicode_data = 72},
    {.minor = 12,
     .family = python_family::cframe_shims,
     .lines = python_lines::locations,
     .thread = {.frame = 56, .thread_id = 136, .frame_of_cframe = 0},
     .frame = {.previous = 8, .code = 0, .instruction = 56, .owner = 70, .is_entry = 0},
     .code = {.first_line = 68,
              .file = 112,
              .name = 120,
              .line_table = 136,
              .instructions = 192,
              .first_traceable = 176,
              .version = 92},
     .ascii_data = 40,
     .unicode_data = 56},
    {.minor = 13,
     .family = python_family::shims,
     .lines = python_lines::locations,
     .thread = {.frame = 72, .thread_id = 152, .frame_of_cframe = 0},
     .frame = {.previous = 8, .code = 0, .instruction = 56, .owner = 70, .is_entry = 0},
     .code = {.first_line = 68,
              .file = 112,
              .name = 120,
              .line_table = 136,
              .instructions = 200,
              .first_traceable = 184,
              .version = 92},
     .ascii_data = 40,
     .unicode_data = 56},
};

/// The beginning of _PyRuntime, and its words that we look at, counted from there (3.13's _Py_DebugOffsets).
struct debug_offsets {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
};
enum debug_word : std::size_t {
  thread_current_frame = 23,
  thread_thread_id = 24,
  frame_previous = 29,
  frame_executable = 30,
  frame_instruction = 31,
  frame_owner = 33,
  code_filename = 35,
  code_name = 36,
  code_line_table = 38,
  code_first_line = 39,
  code_instructions = 43,
};

}  // namespace

const python_layout* known_layout(unsigned major, unsigned minor) noexcept {
  for (const python_layout& layout : layouts) {
    if (major == 3 && layout.minor == minor) return &layout;
  }
  return nullptr;
}

bool agrees_with_debug_offsets(const python_layout& layout, const void* runtime) noexcept {
  const auto head = read_at<debug_offsets>(runtime, 0);
  if (std::memcmp(head.cookie, "xdebugpy", sizeof head.cookie) != 0) return false;
  // Without the GIL objects have a longer head, and code is one copy a thread.
  if (head.version >> 16 != (3U << 8 | layout.minor) || head.free_threaded != 0) return false;
  const auto says = [runtime](debug_word word, std::uint16_t offset) {
    return read_at<std::uint64_t>(runtime, word * 8) == offset;
  };
  return says(thread_current_frame, layout.thread.frame) && says(thread_thread_id, layout.thread.thread_id) &&
         says(frame_previous, layout.frame.previous) && says(frame_executable, layout.frame.code) &&
         says(frame_instruction, layout.frame.instruction) && says(frame_owner, layout.frame.owner) &&
         says(code_filename, layout.code.file) && says(code_name, layout.code.name) &&
         says(code_line_table, layout.code.line_table) && says(code_first_line, layout.code.first_line) &&
         says(code_instructions, layout.code.instructions);
}

}  // namespace sluice::capture
