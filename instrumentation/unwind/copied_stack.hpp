#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "instrumentation/unwind/eh_frame.hpp"

/// Walks the stack of a thread of another process, from its registers and a copy of the innermost part of its stack.
namespace sluice::unwind {

/// The registers that a walk needs, as they were when the stack was copied. `bp` is 0 if it is unknown: frames that are
/// found through it then end the walk.
struct user_registers {
  std::uint64_t ip = 0, sp = 0, bp = 0;
};

/// A copy of a stack: `bytes` were at address `base` in the other process. Owned by the caller.
struct copied_stack {
  std::uint64_t base = 0;
  std::span<const std::byte> bytes;
};

/// Answers questions about the code of a process.
class code_reader {
 public:
  virtual ~code_reader() = default;
  /// The rule for the instruction at `pc`; `none` if `pc` is in no known file, `guess` if the file has no rule for it.
  [[nodiscard]] virtual unwind_rule find_rule(std::uint64_t pc) = 0;
  /// True if `pc` is right after a call instruction.
  [[nodiscard]] virtual bool follows_call(std::uint64_t pc) = 0;
};

/// Fills `out` with at most `out.size()` program counters, innermost first, and returns their number. As elsewhere, all
/// are to be read like return addresses: the first one is the interrupted address plus 1. The walk ends where the copy
/// does, at the outermost frame, or where the code is unknown. Reads nothing but `stack` and what `code` reads. Each
/// frame must be above the previous one, so the walk ends whatever the stack contains. O(frames) calls of `code`.
[[nodiscard]] std::size_t walk_copied_stack(const user_registers& registers, const copied_stack& stack,
                                            code_reader& code, std::span<std::uint64_t> out);

}  // namespace sluice::unwind
