#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#define SLUICE_READS_STACKS __attribute__((no_sanitize("address", "thread", "undefined")))

/// A thread's memory of its last stack walk, so that unchanged frames need no lookup: mostly the outer frames, in a
/// loop all of them. The idea is bytehound's shadow stack, but this does not modify the stack.
///
/// A walk depends only on its initial registers, the rules and the words it reads. If the registers at some frame equal
/// those of a frame of the last walk, and the words read from there on are unchanged, the rest is the same. Checking
/// costs two loads and comparisons per frame, which overlap: 1 ns per frame, against 4 ns for a normal step.
namespace sluice::capture {

/// A frame: the registers when the walk reached it.
struct trail_frame {
  std::uint64_t pc, sp, bp;
  std::uint64_t rbp_slot;  ///< Address from which the caller's rbp was read; 0 if not read.
};

/// The trail of one thread. Holds only frames on the thread's own stack (readable while the thread lives), in one
/// contiguous run by plain rules to the outermost frame. Trails lie in a table, because thread-local memory is scarce:
/// threads whose numbers collide take over each other's trail and clear it.
class stack_trail {
 public:
  static constexpr std::size_t most = 128;

  /// Locks the trail. Returns false if another thread uses it, or a signal handler interrupted a walk: walk without it
  /// then. `thread`: a nonzero number of the calling thread. `round`: version of the rules. Frames of another thread or
  /// round are dropped. A new thread with an ended one's number is safe: same stack, or the checks fail.
  [[nodiscard]] bool enter(std::uint64_t thread, std::uint64_t round) noexcept {
    if (busy_.load(std::memory_order_relaxed) || busy_.exchange(true, std::memory_order_acquire)) return false;
    if (round_ != round || thread_ != thread) count_ = 0;
    round_ = round;
    thread_ = thread;
    return true;
  }
  void leave() noexcept { busy_.store(false, std::memory_order_release); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  /// Frame 0 is the outermost.
  [[nodiscard]] const trail_frame& operator[](std::size_t number) const noexcept { return frames_[number]; }

  /// Finds the remembered frame with these registers. `from`: number of candidates left; it is counted down.
  [[nodiscard]] bool find(const trail_frame& at, std::size_t& from) const noexcept {
    while (from > 0 && frames_[from - 1].sp < at.sp) --from;
    if (from == 0) return false;
    const trail_frame& candidate = frames_[from - 1];
    return candidate.sp == at.sp && candidate.pc == at.pc && candidate.bp == at.bp;
  }
  /// The outermost frame that a walk from frame `number` would reach exactly as the last one did.
  [[nodiscard]] SLUICE_READS_STACKS std::size_t follow(std::size_t number) const noexcept {
    for (; number > 0; --number) {
      const trail_frame& frame = frames_[number];
      const trail_frame& caller = frames_[number - 1];
      if (word_at(caller.sp - 8) != caller.pc) break;
      if (frame.rbp_slot != 0 && word_at(frame.rbp_slot) != caller.bp) break;
    }
    return number;
  }
  /// Keeps the outer `kept` frames and appends `fresh`: a ring of `most` entries with the last of `count` frames,
  /// innermost first. If there are too many, the innermost are dropped.
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
