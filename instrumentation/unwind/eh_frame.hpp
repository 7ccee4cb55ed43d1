#pragma once

#include <cstdint>

/// Finds a function's caller with the unwind tables (.eh_frame) that compilers emit for exceptions and debuggers, on
/// x86-64. The result is only the end of the function's frame and the place where rbp was saved. The formats are
/// defined by the Linux Standard Base (.eh_frame, .eh_frame_hdr), DWARF 5 section 6.4 and the System V ABI for x86-64.
///
/// This code uses only the C library, allocates nothing and keeps no state. Whatever the tables contain, it reads only
/// the segments of the file's image in memory.
namespace sluice::unwind {

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

/// How to find the caller's registers. DWARF calls the end of a frame the CFA: it is the caller's rsp, and the return
/// address is directly below it. Offsets are in 8-byte words.
struct unwind_rule {
  enum how : std::uint8_t {
    none,         ///< No rule has been set.
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
/// `guess` if the tables have no rule or an unsupported rule. O(log functions + bytes of the function's table entry).
[[nodiscard]] unwind_rule find_unwind_rule(const code_image& image, std::uint64_t pc) noexcept;

/// The longest call instruction, in bytes.
inline constexpr std::uint64_t longest_call = 7;

/// True if these bytes, which precede an address, end in a call instruction: the address can be a return address.
[[nodiscard]] bool ends_in_call(const std::uint8_t (&before)[longest_call]) noexcept;

/// True if `pc` can be a return address in this file: it is code right after a call instruction.
[[nodiscard]] bool follows_call(const code_image& image, std::uint64_t pc) noexcept;

}  // namespace sluice::unwind
