#pragma once

#include <cstdint>

/// Finds a function's caller with the unwind tables (.eh_frame) that compilers emit for exceptions and debuggers, on
/// x86-64. Covers only what is needed for that: where the frame ends and where rbp was saved. Formats: Linux Standard
/// Base (.eh_frame, .eh_frame_hdr), DWARF 5 section 6.4, System V ABI for x86-64.
///
/// Uses only libc, no allocation, no state. Whatever the tables contain, only the given segments are read.
namespace sluice::capture {

/// A range of readable memory.
struct memory_range {
  std::uint64_t begin = 0, end = 0;
  bool executable = false;
};

/// A loaded ELF file with code.
struct code_image {
  static constexpr unsigned max_segments = 8;
  memory_range segments[max_segments];
  unsigned count = 0;
  std::uint64_t eh_frame_header = 0;  ///< Address of .eh_frame_hdr; 0 if there is none.
};

/// How to find the caller's registers. The end of the frame is what DWARF calls the CFA; the return address lies right
/// below it, and the end is the caller's rsp. Offsets are in 8-byte words.
struct unwind_rule {
  enum how : std::uint8_t {
    none,         ///< Not a rule.
    stop,         ///< The outermost frame.
    from_rsp,     ///< end = rsp + offset
    from_rbp,     ///< end = rbp + offset
    through_rbp,  ///< end = *(rbp + offset): the stack was realigned; rbp was saved at *rbp
    signal,       ///< A signal frame: the kernel saved the interrupted registers at rsp.
    guess,        ///< Unknown: try rbp as a frame pointer if that is plausible.
  };
  how kind = none;
  std::int32_t offset = 0;
  std::int32_t saved_rbp = rbp_kept;  ///< rbp was saved this many words below the frame's end.

  static constexpr std::int32_t rbp_kept = 0, rbp_lost = -1;
};

/// The rule for `pc`. For a caller, pass an address inside its call instruction (the return address less 1). Returns
/// `guess` if the tables have no rule or one that is not supported. O(log functions + size of the function's entry).
[[nodiscard]] unwind_rule find_unwind_rule(const code_image& image, std::uint64_t pc) noexcept;

/// True if `pc` can be a return address in this file: it is code right after a call instruction.
[[nodiscard]] bool follows_call(const code_image& image, std::uint64_t pc) noexcept;

}  // namespace sluice::capture
