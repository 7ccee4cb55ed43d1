#pragma once

#include <cstddef>
#include <cstdint>

/// One stack of two: what C did and what Python did, by where the interpreter's evaluation function stands in the native one.
namespace sluice::capture {

/// Frames of Python, innermost first, and a bit for each that begins an evaluation (`python_frames`).
struct python_part {
  const std::uint64_t* frames;
  std::size_t count;
  const std::uint64_t* entries;
};

/// Both innermost first. Each native frame for which `evaluates(pc)` gives way to the run of Python's that it evaluates: those up
/// to the next marked one. What Python has beyond the native frames (which were cut short) follows them; an evaluation
/// without Python frames (they were cut short, or have not begun) stays as it is. Returns how many of `max` are filled. O(frames).
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

}  // namespace sluice::capture
