#include "instrumentation/capture/stacks/python_layout.hpp"

namespace sluice::capture {

namespace {

/// The start of _PyRuntime, from 3.13 on (_Py_DebugOffsets).
struct debug_offsets {
  char cookie[8];
  std::uint64_t version;
  std::uint64_t free_threaded;
};
constexpr std::size_t runtime_finalizing = 4;  ///< This and the following: indices of 8-byte words from the start.

struct debug_words {
  std::size_t current_frame, thread_id;
  std::size_t previous, executable, instruction, owner;
  std::size_t file, name, line_table, first_line, instructions;
  std::size_t bytes_length, bytes_data, unicode_state, unicode_length, ascii_data;
  std::size_t copies;  ///< 0: not published.
};
constexpr debug_words words_of_3_13{23, 24, 29, 30, 31, 33, 35, 37, 38, 39, 43, 65, 66, 68, 69, 70, 0};
constexpr debug_words words_of_3_14{26, 27, 32, 33, 34, 36, 40, 42, 43, 44, 48, 75, 76, 78, 79, 80, 49};

}  // namespace

const python_layout* known_layout(unsigned major, unsigned minor, bool without_gil) noexcept {
  for (const python_layout& layout : python_layouts) {
    if (major == 3 && layout.minor == minor && layout.without_gil == without_gil) return &layout;
  }
  return nullptr;
}

bool is_without_gil(const void* runtime) noexcept { return read_at<debug_offsets>(runtime, 0).free_threaded != 0; }

std::size_t finalizing_in_runtime(const python_layout& layout, const void* runtime) noexcept {
  if (layout.minor >= 13) return read_at<std::uint64_t>(runtime, runtime_finalizing * 8);
  return layout.minor == 12 ? 24 : 0;
}

python_thread_list get_thread_list(const python_layout& layout, const void* runtime) noexcept {
  if (layout.minor <= 10) return {32, 0, 8, 8, 16, 0};
  if (layout.minor == 11) return {40, 0, 16, 8, 16, 160};
  if (layout.minor == 12) return {40, 0, 72, 8, 16, 144};
  const auto word = [runtime](std::size_t index) {
    return static_cast<std::uint16_t>(read_at<std::uint64_t>(runtime, index * 8));
  };
  const std::size_t thread = layout.minor == 13 ? words_of_3_13.current_frame : words_of_3_14.current_frame;
  return {word(5), word(8), word(9), word(thread - 2), word(thread - 1), word(thread + 2)};
}

bool agrees_with_debug_offsets(const python_layout& layout, const void* runtime) noexcept {
  const auto head = read_at<debug_offsets>(runtime, 0);
  if (std::memcmp(head.cookie, "xdebugpy", sizeof head.cookie) != 0) return false;
  if (head.version >> 16 != (3U << 8 | layout.minor) || (head.free_threaded != 0) != layout.without_gil) return false;
  const auto says = [runtime](std::size_t word, std::size_t offset) {
    return read_at<std::uint64_t>(runtime, word * 8) == offset;
  };
  const debug_words& words = layout.minor == 13 ? words_of_3_13 : words_of_3_14;
  return says(words.current_frame, layout.thread.frame) && says(words.thread_id, layout.thread.thread_id) &&
         says(words.previous, layout.frame.previous) && says(words.executable, layout.frame.code) &&
         says(words.instruction, layout.frame.instruction) && says(words.owner, layout.frame.owner) &&
         says(words.file, layout.code.file) && says(words.name, layout.code.name) &&
         says(words.line_table, layout.code.line_table) && says(words.first_line, layout.code.first_line) &&
         says(words.instructions, layout.code.instructions) && says(words.bytes_length, layout.length()) &&
         says(words.bytes_data, layout.bytes_data()) && says(words.unicode_state, layout.unicode_state()) &&
         says(words.unicode_length, layout.length()) && says(words.ascii_data, layout.ascii_data) &&
         (words.copies == 0 || !layout.without_gil || says(words.copies, layout.copies));
}

}  // namespace sluice::capture
