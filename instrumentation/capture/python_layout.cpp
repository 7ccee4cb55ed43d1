#include "instrumentation/capture/python_layout.hpp"

namespace sluice::capture {

namespace {

/// The beginning of _PyRuntime, and its words that we look at, counted from there (3.13's _Py_DebugOffsets).
struct debug_offsets {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
};
enum debug_word : std::size_t {
  runtime_finalizing = 4,
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
  for (const python_layout& layout : python_layouts) {
    if (major == 3 && layout.minor == minor) return &layout;
  }
  return nullptr;
}

std::size_t finalizing_in_runtime(const python_layout& layout, const void* runtime) noexcept {
  if (layout.minor >= 13) return read_at<std::uint64_t>(runtime, runtime_finalizing * 8);
  return layout.minor == 12 ? 24 : 0;
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
