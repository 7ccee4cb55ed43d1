#pragma once

#include <cstdint>

/// How to leave a function: from the tables (.eh_frame) that compilers write beside x86-64 code for exceptions and debuggers.
/// The subset that is needed to find callers: where the frame ends, where rbp was saved. Formats: the Linux Standard Base
/// (.eh_frame, .eh_frame_hdr), DWARF 5 section 6.4, and the System V ABI for x86-64.
///
/// Libc only, no allocation, no state. Whatever the bytes are, nothing outside the segments given is read.
namespace sluice::capture {

/// Memory that may be read.
struct memory_range {
  std::uint64_t begin = 0, end = 0;
  bool executable = false;
};

/// A loaded file of code.
struct code_image {
  static constexpr unsigned max_segments = 8;
  memory_range segments[max_segments];
  unsigned count = 0;
  std::uint64_t eh_frame_header = 0;  ///< Address of .eh_frame_hdr; 0: it has none.
};

/// How to find the caller's registers. The frame's end is what DWARF calls the CFA; the return address lies right below it,
/// and it is the caller's rsp. Units are words of 8 bytes.
struct unwind_rule {
  enum how : std::uint8_t {
    none,         ///< Not a rule.
    stop,         ///< The outermost frame.
    from_rsp,     ///< end = rsp + offset
    from_rbp,     ///< end = rbp + offset
    through_rbp,  ///< end = *(rbp + offset): the stack was realigned; rbp was saved at *rbp
    signal,       ///< The kernel has put the interrupted registers at rsp.
    guess,        ///< Nothing is known: take rbp for a frame pointer if that makes sense.
  };
  how kind = none;
  std::int32_t offset = 0;
  std::int32_t saved_rbp = rbp_kept;  ///< rbp was saved so many words below the frame's end.

  static constexpr std::int32_t rbp_kept = 0, rbp_lost = -1;
};

/// The rule that holds at `pc`: for a caller, an address in its call instruction (the return address less 1). `guess` if the
/// tables do not say, or say what cannot be followed here. O(log functions + length of the function's table entry).
[[nodiscard]] unwind_rule find_unwind_rule(const code_image& image, std::uint64_t pc) noexcept;

/// `pc` is where a call in this file returns to: it lies in code, after bytes that are a call instruction.
[[nodiscard]] bool follows_call(const code_image& image, std::uint64_t pc) noexcept;

}  // namespace sluice::capture
