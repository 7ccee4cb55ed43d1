#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#define SLUICE_READS_STACKS __attribute__((no_sanitize("address", "thread", "undefined")))

/// What a thread remembers of its last walk, so that the next need not look up again what has not changed: mostly the outer
/// frames, and in a loop all of them. After the idea of bytehound's shadow stack, without changing the stack.
///
/// A walk is determined by the registers that it begins with, the rules, and the words that it reads. If at some frame the
/// registers are those of a frame of the last walk, and the words read from there on still hold what they held, the rest is the
/// same. Checking that costs two loads and comparisons a frame which do not wait for each other: 1 ns, against 4 for a step.
namespace sluice::capture {

/// A frame, as the registers were when the walk came to it.
struct trail_frame {
  std::uint64_t pc, sp, bp;
  std::uint64_t rbp_slot;  ///< Where the caller's rbp was read; 0: it was not.
};

/// One thread's. What it has of frames are only those of the thread's own stack, which can be read as long as the thread lives,
/// and of one piece: left by plain rules, up to the outermost frame. It lies in a table, for thread-local memory is scarce:
/// threads whose numbers meet there take it from each other, and forget what it said.
class stack_trail {
 public:
  static constexpr std::size_t most = 128;

  /// False: another thread uses it, or a signal handler has interrupted a walk; they do without. `thread`: a number of the
  /// calling thread, not 0. `round`: of the rules. Frames of another thread or round are forgotten: a thread that gets an
  /// ended one's number gets its stack too, or finds that what is there now is not what the trail says.
  [[nodiscard]] bool enter(std::uint64_t thread, std::uint64_t round) noexcept {
    if (busy_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) return false;
    if (round_ != round || thread_ != thread) count_ = 0;
    round_ = round;
    thread_ = thread;
    return true;
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Number 0 is the outermost.
  [[nodiscard]] const trail_frame& operator[](std::size_t number) const noexcept { return frames_[number]; }

  /// The frame that was left for one with these registers; `from`, which it counts down, is how many may still be.
  [[nodiscard]] bool find(const trail_frame& at, std::size_t& from) const noexcept {
    while (from > 0 && frames_[from - 1].sp < at.sp) --from;
    if (from == 0) return false;
    const trail_frame& candidate = frames_[from - 1];
    return candidate.sp == at.sp && candidate.pc == at.pc && candidate.bp == at.bp;
  }
  /// The outermost frame that a walk from frame `number` comes to as the last one did.
  [[nodiscard]] SLUICE_READS_STACKS std::size_t follow(std::size_t number) const noexcept {
    for (; number > 0; --number) {
      const trail_frame& frame = frames_[number];
      const trail_frame& caller = frames_[number - 1];
      if (word_at(caller.sp - 8) != caller.pc) break;
      if (frame.rbp_slot != 0 && word_at(frame.rbp_slot) != caller.bp) break;
    }
    return number;
  }
  /// The outer `kept` frames stay; `fresh` are the others: the last of them, `count` in all, in a ring of `most`, innermost
  /// first. The innermost are left out if there are too many.
  void replace(std::size_t kept, const trail_frame* fresh, std::size_t count) noexcept {
    const std::size_t room = most - kept < count ? most - kept : count;
    for (std::size_t i = 0; i < room; ++i) frames_[kept + i] = fresh[(count - 1 - i) % most];
    count_ = kept + room;
  }

 private:
  static SLUICE_READS_STACKS std::uint64_t word_at(std::uint64_t address) {
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
  }
  std::atomic<bool> busy_{false};
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  std::uint64_t thread_ = 0;
  trail_frame frames_[most] = {};
};

}  // namespace sluice::capture
