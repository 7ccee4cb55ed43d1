#include "instrumentation/unwind/copied_stack.hpp"

#include <cstring>

namespace sluice::unwind {

namespace {

constexpr std::uint64_t first_page = 4096;
constexpr unsigned address_bits = 47;

/// The first page never contains code, and the upper half of the address space is the kernel's.
bool may_be_code(std::uint64_t pc) { return pc > first_page && pc >> address_bits == 0; }

std::uint64_t bytes(std::int32_t words) { return static_cast<std::uint64_t>(std::int64_t{words} * 8); }

/// Like the walker of a thread's own stack (instrumentation/capture/stacks/native_stack.cpp), without its caches.
class copied_walker {
 public:
  copied_walker(const user_registers& registers, const copied_stack& stack, code_reader& code)
      : stack_(stack), code_(code), pc_(registers.ip + 1), sp_(registers.sp), bp_(registers.bp) {}

  std::size_t walk(std::span<std::uint64_t> out) {
    std::size_t count = 0;
    while (count < out.size() && may_be_code(pc_)) {
      const bool guessed = pc_ == guess_;
      unwind_rule rule = code_.find_rule(pc_ - 1);
      if (guessed && (rule.kind == unwind_rule::none || !code_.follows_call(pc_))) break;
      if (rule.kind == unwind_rule::none) rule.kind = unwind_rule::guess;  // Generated at run time, or no code at all.
      out[count++] = pc_;
      if (!step(rule)) break;
    }
    return count;
  }

 private:
  bool read(std::uint64_t address, std::uint64_t& value) const {
    const std::uint64_t offset = address - stack_.base;
    if (address % 8 != 0 || offset >= stack_.bytes.size() || stack_.bytes.size() - offset < sizeof value) return false;
    std::memcpy(&value, stack_.bytes.data() + offset, sizeof value);
    return true;
  }

  /// Moves to the caller, whose stack pointer is `end`.
  bool leave(std::uint64_t end, std::int32_t saved_rbp) {
    if (end <= sp_ || !read(end - 8, pc_)) return false;
    if (saved_rbp > 0) {
      if (!read(end - bytes(saved_rbp), bp_)) return false;
    } else if (saved_rbp == unwind_rule::rbp_lost) {
      bp_ = 0;
    }
    sp_ = end;
    return true;
  }

  bool step(const unwind_rule& rule) {
    const std::uint64_t frame = bp_;
    std::uint64_t end = 0;
    switch (rule.kind) {
      case unwind_rule::from_rsp:
        return leave(sp_ + bytes(rule.offset), rule.saved_rbp);
      case unwind_rule::from_rbp:
        return leave(frame + bytes(rule.offset), rule.saved_rbp);
      case unwind_rule::through_rbp:
        return read(frame + bytes(rule.offset), end) && read(frame, bp_) && leave(end, unwind_rule::rbp_kept);
      case unwind_rule::signal:
        return step_out_of_signal();
      case unwind_rule::guess:
        if (frame < sp_ || !leave(frame + 16, 2)) return false;
        guess_ = pc_;
        return true;
      default:
        return false;
    }
  }

  /// Leaves the kernel's frame of a signal handler: a ucontext_t is at rsp. Ends the walk if the interrupted code was
  /// on a stack that is not above.
  bool step_out_of_signal() {
    constexpr std::uint64_t at_rbp = 120, at_rsp = 160, at_rip = 168;
    const std::uint64_t context = sp_;
    if (!read(context + at_rbp, bp_) || !read(context + at_rsp, sp_) || !read(context + at_rip, pc_)) return false;
    ++pc_;  // The address is treated like a return address: the instruction before it counts.
    return sp_ > context;
  }

  const copied_stack& stack_;
  code_reader& code_;
  std::uint64_t pc_, sp_, bp_;
  std::uint64_t guess_ = 0;  ///< The return address that was last found by a guess.
};

}  // namespace

std::size_t walk_copied_stack(const user_registers& registers, const copied_stack& stack, code_reader& code,
                              std::span<std::uint64_t> out) {
  return copied_walker(registers, stack, code).walk(out);
}

}  // namespace sluice::unwind
