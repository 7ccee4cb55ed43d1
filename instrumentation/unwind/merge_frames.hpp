#pragma once

#include <cstddef>
#include <cstdint>

/// Merges the native and the Python stack into one, at the native frames of the interpreter's evaluation function.
namespace sluice::unwind {

/// The evaluation function, as the linker knows it.
inline constexpr char python_evaluation[] = "_PyEval_EvalFrameDefault";

/// Python frames, innermost first. `entries` has one bit per frame, set if the frame begins an evaluation (see
/// `python_frames`).
struct python_part {
  const std::uint64_t* frames;
  std::size_t count;
  const std::uint64_t* entries;
};

/// Both stacks are innermost first. Replaces each native frame for which `evaluates(pc)` is true by the Python frames
/// that it evaluates: the next Python frames, up to the first whose bit in `entries` is set. If no Python frames are
/// left, the native frame stays. Python frames that remain at the end (because the native stack was cut) come last.
/// Returns the number of frames, at most `max`. O(frames).
template <class Evaluates>
std::size_t merge_frames(const std::uint64_t* native, std::size_t count, const python_part& python, std::uint64_t* out,
                         std::size_t max, Evaluates evaluates) noexcept {
  std::size_t filled = 0;
  std::size_t next = 0;
  const auto take_run = [&] {
    for (bool entry = false; !entry && next < python.count && filled < max; ++next) {
      entry = (python.entries[next / 64] >> next % 64 & 1U) != 0;
      out[filled++] = python.frames[next];
    }
  };
  for (std::size_t i = 0; i < count && filled < max; ++i) {
    if (next < python.count && evaluates(native[i])) {
      take_run();
    } else {
      out[filled++] = native[i];
    }
  }
  while (next < python.count && filled < max) take_run();
  return filled;
}

}  // namespace sluice::unwind
