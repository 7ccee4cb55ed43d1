#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/core/recordings/recording.hpp"

/// Call stacks in synthetic recordings.
namespace sluice::testing {

/// A frame; `file` is the source file of a Python frame, or the module of native code.
struct made_frame {
  trace::frame_kind kind = trace::frame_kind::python;
  std::string function;
  std::string file;
  std::uint64_t line = 0;
};
inline made_frame python(std::string_view function, std::string_view file, std::uint64_t line = 1) {
  return {trace::frame_kind::python, std::string(function), std::string(file), line};
}
inline made_frame native(std::string_view function, std::string_view module) {
  return {trace::frame_kind::native, std::string(function), std::string(module), 0};
}

/// Adds stacks to a recording. Equal frames with equal callers share one id, as in a real recording.
class stack_maker {
 public:
  explicit stack_maker(recording& into) : into_(into) {}

  /// `frames`: innermost first.
  trace::stack_id operator()(const std::vector<made_frame>& frames) {
    trace::stack_id parent{};
    for (auto at = frames.rbegin(); at != frames.rend(); ++at) parent = find_stack(find_frame(*at), parent);
    return parent;
  }

 private:
  trace::frame_id find_frame(const made_frame& frame) {
    trace::frame_row row;
    row.kind = frame.kind;
    row.function = into_.text(frame.function);
    (frame.kind == trace::frame_kind::native ? row.module : row.file) = into_.text(frame.file);
    row.line = frame.line;
    for (const trace::frame_row& known : frames_) {
      row.id = known.id;
      if (known.kind == row.kind && known.function == row.function && known.file == row.file &&
          known.module == row.module && known.line == row.line) {
        return known.id;
      }
    }
    row.id = trace::frame_id{frames_.size() + 1};
    frames_.push_back(row);
    into_.writer().add(row);
    return row.id;
  }
  trace::stack_id find_stack(trace::frame_id frame, trace::stack_id parent) {
    for (const trace::stack_row& known : stacks_)
      if (known.frame == frame && known.parent == parent) return known.id;
    trace::stack_row row;
    row.id = trace::stack_id{stacks_.size() + 1};
    row.parent = parent;
    row.frame = frame;
    stacks_.push_back(row);
    into_.writer().add(row);
    return row.id;
  }

  recording& into_;
  std::vector<trace::frame_row> frames_;
  std::vector<trace::stack_row> stacks_;
};

}  // namespace sluice::testing
