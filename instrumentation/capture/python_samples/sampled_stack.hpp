#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/python_samples/memory_batch.hpp"
#include "instrumentation/capture/python_samples/memory_image.hpp"
#include "instrumentation/capture/stacks/python_layout.hpp"

/// Reads the chain of another thread's Python frames while that thread runs.
namespace sluice::capture {

struct sampled_frame {
  std::uint64_t at;  ///< Address of the frame.
  std::uint64_t code, previous;
  std::uint64_t position;  ///< As `python_position`.
  std::uint64_t content;   ///< A hash of the frame's bytes with its variables.
  std::uint64_t identity;  ///< Of the code object (python_keys.hpp), if `known`.
  std::uint8_t owner;      ///< Always 0 in Python up to 3.10.
  bool entry;              ///< Begins an evaluation (3.11).
  bool known;              ///< `identity` and `begun` are known. `frame_keys` sets these members.
  bool begun;              ///< The call has begun to run its code.
};

/// Frames are read to this depth, counted from the innermost, with those that C owns.
inline constexpr std::size_t max_sampled_frames = 384;

/// Memory that all stacks use, one at a time.
struct stack_reader {
  memory_batch memory;
  memory_image image;
  const python_layout* layout;
  std::size_t frame_bytes;  ///< Size of a frame without its variables.
  sampled_frame frames[max_sampled_frames];
  std::size_t count;

  /// Prepares for a version. Returns false if its frames are longer than known.
  [[nodiscard]] bool prepare(const python_layout& of_version) noexcept;
};

/// The frames of one thread. A look reads them twice in a row, and before, between and after these reads the pointer to
/// the innermost, all by one system call. Which memory to read is known from the last look; frames that are elsewhere
/// are found by single reads, and the look is repeated with their memory, too. It succeeds if all frames from the second
/// pointer's on are in what was read, and if those that wait for a call are the same in both reads and in the chains
/// from the first and the last pointer, too (frames that have ended keep their content until others take their place).
/// Then the thread had this stack when the second pointer was read. Not noticed are frames that end and come back with
/// the same content between two of the three pointers. A call that is shorter than the reads (some microseconds) is
/// rarely seen: the look then finds its caller, or nothing.
///
/// All bytes zero is an empty stack. Not thread-safe.
class sampled_stack {
 public:
  enum class outcome : std::uint8_t {
    torn,     ///< The frames changed during each of a few reads.
    none,     ///< The thread runs no Python code.
    same,     ///< No frame has changed since the last look.
    changed,  ///< Frames that have not changed are still `known`.
  };

  /// Reads the frames of the thread with the state at `state`. `shallow`: compares only the innermost frame with the
  /// last look, and looks further only if it has changed. O(frames), usually one system call.
  [[nodiscard]] outcome look(stack_reader& reader, std::uint64_t state, bool shallow) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Frame `i` from the innermost.
  [[nodiscard]] const sampled_frame& operator[](std::size_t i) const noexcept { return frames_[i]; }
  [[nodiscard]] sampled_frame& operator[](std::size_t i) noexcept { return frames_[i]; }
  void clear() noexcept { count_ = 0; }

 private:
  enum class top_state : std::uint8_t { read, none, elsewhere, unreadable };

  [[nodiscard]] bool is_unchanged_place(stack_reader& reader, std::uint64_t state) const noexcept;
  [[nodiscard]] top_state read_image(stack_reader& reader, std::uint64_t state, std::uint64_t (&tops)[3]) noexcept;
  [[nodiscard]] outcome adopt(const stack_reader& reader) noexcept;

  sampled_frame frames_[max_sampled_frames];
  std::size_t count_;
  std::uint64_t cframe_;  ///< Address of the thread's _PyCFrame (3.11 and 3.12).
};

}  // namespace sluice::capture
