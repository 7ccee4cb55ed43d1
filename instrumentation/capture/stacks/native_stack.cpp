#include "instrumentation/capture/stacks/native_stack.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/capture/stacks/driver_caller.hpp"
#include "instrumentation/capture/stacks/modules.hpp"
#include "instrumentation/capture/stacks/stack_trail.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/unwind/eh_frame.hpp"

extern "C" void*
    __libc_stack_end;  // From the loader: the main thread's stack pointer at the first instruction of the program.

namespace sluice::capture {

using unwind::unwind_rule;

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t address_bits = 47;
/// The first page never contains code.
bool may_be_code(std::uint64_t pc) { return pc >= page_bytes && pc >> address_bits == 0; }

// --- cache of rules --------------------------------------------------------------------------------------------------

/// Rules, keyed by return address, in a table of two-way sets. An entry is one word, so a thread reads or writes it
/// with a single load or store. Kind 0 means empty.
///
///   63       48                17       16    3      0
///   | offset | address / 65536 | second | rbp | kind |        at place address % 65536, or, as `second`, at that ^ 1
///
/// The lookup has as few steps as possible before the next frame's address is known. So the index is the address's low
/// bits (random enough for return addresses), and the offset is in the word's top bits.
class rule_cache {
 public:
  /// The entry for `pc`; 0 if there is none.
  [[nodiscard]] std::uint64_t find(std::uint64_t pc) const {
    const std::size_t at = pc % size;
    const std::uint64_t word = words_[at].load(std::memory_order_relaxed);
    if (is_of(word, get_tag(pc))) [[likely]]
      return word;
    const std::uint64_t other = words_[at ^ 1].load(std::memory_order_relaxed);
    return is_of(other, get_tag(pc) | second) ? other : 0;
  }
  void keep(std::uint64_t pc, std::uint64_t word, std::uint64_t round) {
    const std::size_t at = pc % size;
    const bool taken = words_[at].load(std::memory_order_relaxed) != 0;
    std::atomic<std::uint64_t>& place = words_[taken ? at ^ 1 : at];
    place.store(word | (std::uint64_t{get_tag(pc) | (taken ? second : 0)} << tag_shift), std::memory_order_relaxed);
    // A module was unloaded meanwhile, so the rule may be outdated.
    if (rounds_.load(std::memory_order_seq_cst) != round) place.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t round() const { return rounds_.load(std::memory_order_relaxed); }
  void clear() {
    rounds_.fetch_add(1, std::memory_order_seq_cst);
    for (auto& word : words_) {
      // Most words were never written; reading them uses no memory, but writing would.
      if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::size_t size = std::size_t{1} << 16;
  static constexpr unsigned tag_shift = 16;
  static constexpr std::uint32_t second = 1;
  static std::uint32_t get_tag(std::uint64_t pc) { return static_cast<std::uint32_t>(pc / size) << 1; }
  static bool is_of(std::uint64_t word, std::uint32_t tag) {
    return static_cast<std::uint32_t>(word >> tag_shift) == tag && (word & 7) != 0;
  }

  std::atomic<std::uint64_t> words_[size];
  std::atomic<std::uint64_t> rounds_;
};

// A rule as stored in the cache. A new kind must fit into three bits.
constexpr unsigned rbp_shift = 3, offset_shift = 48;
constexpr std::uint64_t rbp_mask = 0x1fff;

/// The rule as a word of the cache; 0 if the values do not fit, i.e. for frames above 256 KiB.
std::uint64_t packed(const unwind_rule& rule) {
  if (rule.offset < INT16_MIN || rule.offset > INT16_MAX) return 0;
  if (rule.saved_rbp < -1 || rule.saved_rbp >= static_cast<std::int32_t>(rbp_mask)) return 0;
  return static_cast<std::uint64_t>(rule.kind) |
         ((static_cast<std::uint64_t>(rule.saved_rbp) & rbp_mask) << rbp_shift) |
         (static_cast<std::uint64_t>(rule.offset) << offset_shift);
}
unwind_rule unpacked(std::uint64_t word) {
  unwind_rule rule;
  rule.kind = static_cast<unwind_rule::how>(word & 7);
  rule.offset = static_cast<std::int32_t>(static_cast<std::int64_t>(word) >> offset_shift);
  const auto rbp = static_cast<std::int32_t>((word >> rbp_shift) & rbp_mask);
  rule.saved_rbp = rbp == static_cast<std::int32_t>(rbp_mask) ? unwind_rule::rbp_lost : rbp;
  return rule;
}

std::atomic<rule_cache*> cache{nullptr};

void forget_rules() {
  if (rule_cache* rules = cache.load()) rules->clear();
  forget_driver_callers();
}

// --- readable memory -------------------------------------------------------------------------------------------------

/// What a thread knows about its stacks. A signal handler may change this data at any time; each word alone stays
/// valid.
struct thread_stack {
  std::uint64_t top = 0;                             ///< Top of the thread's own stack; 0: not known yet.
  std::uint64_t lowest = 0;                          ///< All pages from here to the top were readable.
  std::uint64_t foreign_begin = 0, foreign_end = 0;  ///< Range known not to be part of the thread's own stack.
};
SLUICE_THREAD_LOCAL thread_stack this_stack;

constexpr std::size_t trail_slots = 128;
constinit stack_trail trails[trail_slots];

std::uint64_t thread_pointer() {
  std::uint64_t value = 0;
#if defined(__x86_64__)
  asm("mov %%fs:0, %0" : "=r"(value));
#endif
  return value;
}

stack_trail& get_trail(std::uint64_t thread) { return trails[(thread * 0x9E3779B97F4A7C15U >> 40) % trail_slots]; }

/// The top of the calling thread's own stack, if it is on that stack. For the main thread, the top of the program's
/// initial stack; for other threads, glibc's thread control block is at the top.
std::uint64_t possible_top() {
  const bool is_main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
  const std::uint64_t top = is_main ? reinterpret_cast<std::uint64_t>(__libc_stack_end) : thread_pointer();
  return top & ~std::uint64_t{7};
}

/// Determines whether `sp` is on the thread's own stack. If so, all pages up to its top are readable as long as the
/// thread exists. Runs once for each new depth of the thread.
[[gnu::noinline]] bool explore_own_stack(std::uint64_t sp) {
  constexpr std::uint64_t furthest = std::uint64_t{8} << 20;
  thread_stack& known = this_stack;
  if (sp >= known.foreign_begin && sp < known.foreign_end) return false;
  const std::uint64_t top = known.top != 0 ? known.top : possible_top();
  const std::uint64_t until = known.top != 0 ? known.lowest : top;
  if (sp >= top) return false;
  const std::uint64_t begin = sp & ~(page_bytes - 1);
  std::uint64_t page = begin;
  while (page < until && page - begin < furthest && is_readable(page)) page += page_bytes;
  if (page < until) {
    known.foreign_begin = 0;
    known.foreign_end = page;
    known.foreign_begin = begin;
    return false;
  }
  known.lowest = begin;
  known.top = top;
  return true;
}

/// The readable part of a stack. Foreign stacks are tested page by page in each walk, because they may disappear.
class stack_view {
 public:
  /// Makes the readable range begin at `sp`.
  SLUICE_READS_STACKS void move_to(std::uint64_t sp) {
    begin_ = sp;
    const thread_stack& known = this_stack;
    own_ = (sp >= known.lowest && sp < known.top) || explore_own_stack(sp);
    if (own_) {
      end_ = known.top;
    } else {
      end_ = is_readable(sp) ? (sp & ~(page_bytes - 1)) + page_bytes : sp;
    }
  }
  /// Interrupted code may have saved registers in the red zone, below its stack pointer.
  void include_red_zone() {
    constexpr std::uint64_t red_zone = 128;
    if (is_readable(begin_ - red_zone)) begin_ -= red_zone;
  }
  /// Reads the word at `address`; returns false if it may not be read.
  SLUICE_READS_STACKS bool read(std::uint64_t address, std::uint64_t& value) {
    if (address - begin_ >= end_ - begin_ || address % 8 != 0) [[unlikely]] {
      if (!extend_to(address)) return false;
    }
    value = *reinterpret_cast<const volatile std::uint64_t*>(address);
    return true;
  }

  /// True on the thread's own stack: words that were read stay readable as long as the thread exists.
  [[nodiscard]] bool own() const { return own_; }

 private:
  [[gnu::noinline]] bool extend_to(std::uint64_t address) {
    constexpr std::uint64_t furthest = std::uint64_t{1} << 20;  // A larger frame is implausible.
    if (own_ || address % 8 != 0 || address < begin_) return false;
    if (address >= end_ && address - end_ >= furthest) return false;
    while (address >= end_) {
      if (!is_readable(end_)) return false;
      end_ += page_bytes;
    }
    return true;
  }

  std::uint64_t begin_ = 0, end_ = 0;
  bool own_ = false;
};

// --- the walk --------------------------------------------------------------------------------------------------------

/// Computes the rule for a return address that is not cached. Returns `none` if the address is not in an ELF file, or
/// if it was only `guessed` and does not follow a call instruction.
[[gnu::noinline]] unwind_rule learn(rule_cache& rules, std::uint64_t pc, bool guessed) {
  const std::uint64_t round = rules.round();
  loaded_module module;
  if (!find_module(pc - 1, module) || (guessed && !unwind::follows_call(module.image, pc))) return {};
  const unwind_rule rule = unwind::find_unwind_rule(module.image, pc - 1);
  const std::uint64_t word = packed(rule);
  // A cached rule implies that the writer has the module.
  if (introduce(module) && word != 0) rules.keep(pc, word, round);
  return rule;
}

class walker {
 public:
  walker(rule_cache& rules, const trail_frame& frame, std::uint64_t* out, std::size_t max, unsigned skip)
      : rules_(rules), at_(frame), out_(out), next_(out), end_(out + max), skip_(skip) {
    stack_.move_to(frame.sp);
    const std::uint64_t thread = thread_pointer();
    stack_trail& trail = get_trail(thread);
    if (trail.enter(thread, rules.round())) trail_ = &trail;
  }
  ~walker() {
    if (trail_ != nullptr) trail_->leave();
  }
  walker(const walker&) = delete;
  walker& operator=(const walker&) = delete;

  SLUICE_READS_STACKS std::size_t walk() {
    std::size_t left = trail_ == nullptr ? 0 : trail_->count();
    while (next_ < end_ && may_be_code(at_.pc)) {
      if (left > 0 && trail_->find(at_, left) && follow_trail(left)) break;
      const std::uint64_t known = rules_.find(at_.pc);
      const unwind_rule rule = known != 0 ? unpacked(known) : learned();
      if (rule.kind == unwind_rule::none) break;
      push(at_.pc);
      // These two rules cover nearly all frames.
      if (rule.kind == unwind_rule::from_rsp) {
        if (!leave(at_.sp + bytes(rule.offset), rule.saved_rbp)) break;
      } else if (rule.kind == unwind_rule::from_rbp) {
        if (!leave(at_.bp + bytes(rule.offset), rule.saved_rbp)) break;
      } else if (rule.kind == unwind_rule::stop) {
        remember({at_.pc, at_.sp, at_.bp, 0});
        keep_trail(0);
        break;
      } else {
        fresh_ = 0;  // Frames left by other rules, and the frames inside them, are not remembered.
        if (!step(rule)) break;
      }
    }
    return static_cast<std::size_t>(next_ - out_);
  }

 private:
  static std::uint64_t bytes(std::int32_t words) { return static_cast<std::uint64_t>(std::int64_t{words} * 8); }

  void push(std::uint64_t pc) {
    if (skip_ > 0) {
      --skip_;
    } else if (next_ < end_) {
      *next_++ = pc;
    }
  }

  /// Call if the last walk also passed the current frame, as its frame `left` - 1. Continues along that walk. Returns
  /// true if this reaches the outermost frame.
  bool follow_trail(std::size_t& left) {
    const stack_trail& trail = *trail_;
    const std::size_t here = left - 1;
    const std::size_t reached = trail.follow(here);
    for (std::size_t i = here; i > reached; --i) push(trail[i].pc);
    if (reached == 0) {
      push(trail[0].pc);
      keep_trail(left);
      return true;
    }
    for (std::size_t i = here; i > reached; --i) remember(trail[i]);
    at_ = trail[reached];
    left = reached;
    return false;
  }
  void remember(const trail_frame& frame) { fresh_frames_[fresh_++ % stack_trail::most] = frame; }
  /// Call when the walk is complete. Keeps the trail from its frame `kept` - 1 outward for the next walk.
  void keep_trail(std::size_t kept) {
    if (trail_ != nullptr && !learned_) trail_->replace(kept, fresh_frames_, fresh_);
  }

  unwind_rule learned() {
    const bool guessed = at_.pc == guess_;
    unwind_rule rule = learn(rules_, at_.pc, guessed);
    learned_ = true;
    // The address is in code generated at run time, or is not in code at all.
    if (rule.kind == unwind_rule::none && !guessed) rule.kind = unwind_rule::guess;
    return rule;
  }

  /// Moves to the caller, whose stack pointer is `end`. Returns false if that is invalid or not readable.
  SLUICE_READS_STACKS bool leave(std::uint64_t end, std::int32_t saved_rbp) {
    trail_frame frame = at_;
    if (end <= at_.sp || !stack_.read(end - 8, at_.pc)) return false;
    frame.rbp_slot = 0;
    if (saved_rbp > 0) {
      frame.rbp_slot = end - bytes(saved_rbp);
      if (!stack_.read(frame.rbp_slot, at_.bp)) return false;
    } else if (saved_rbp == unwind_rule::rbp_lost) {
      at_.bp = 0;
    }
    at_.sp = end;
    if (stack_.own()) {
      remember(frame);
    } else {
      fresh_ = 0;
    }
    return true;
  }

  SLUICE_READS_STACKS bool step(const unwind_rule& rule) {
    const std::uint64_t frame = at_.bp;
    std::uint64_t end = 0;
    switch (rule.kind) {
      case unwind_rule::through_rbp:
        return stack_.read(frame + bytes(rule.offset), end) && stack_.read(frame, at_.bp) &&
               leave(end, unwind_rule::rbp_kept);
      case unwind_rule::signal:
        return step_out_of_signal();
      case unwind_rule::guess:
        if (frame < at_.sp || !leave(frame + 16, 2)) return false;
        guess_ = at_.pc;
        return true;
      default:
        return false;
    }
  }

  /// Leaves the kernel's frame of a signal handler: a ucontext_t is at rsp. The interrupted code may have been on
  /// another stack.
  SLUICE_READS_STACKS bool step_out_of_signal() {
    constexpr std::uint64_t at_rbp = 120, at_rsp = 160, at_rip = 168;
    trail_frame interrupted{};
    const std::uint64_t context = at_.sp;
    if (++signals_ > max_signals || !stack_.read(context + at_rbp, interrupted.bp) ||
        !stack_.read(context + at_rsp, interrupted.sp) || !stack_.read(context + at_rip, interrupted.pc)) {
      return false;
    }
    ++interrupted.pc;  // The address is treated like a return address: the instruction before it counts.
    at_ = interrupted;
    stack_.move_to(at_.sp);
    stack_.include_red_zone();
    return true;
  }

  static constexpr unsigned max_signals = 8;
  rule_cache& rules_;
  trail_frame at_;
  stack_view stack_;
  std::uint64_t* const out_;
  std::uint64_t* next_;
  std::uint64_t* const end_;
  unsigned skip_;
  unsigned signals_ = 0;
  std::uint64_t guess_ = 0;  ///< The return address that was last found by a guess.
  stack_trail* trail_ = nullptr;
  bool learned_ = false;                         ///< True if a rule was not cached: the writer may lack its module.
  std::size_t fresh_ = 0;                        ///< Number of frames of this walk that are not in the trail.
  trail_frame fresh_frames_[stack_trail::most];  ///< Not initialized: that would cost more than the walk.
};

}  // namespace

bool start_native_stacks() noexcept {
#if !defined(__x86_64__)
  return false;  // The rules are for this architecture's registers.
#endif
  start_modules();
  if (cache.load() != nullptr) {
    forget_rules();
    return true;
  }
  void* memory = mmap(nullptr, sizeof(rule_cache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  // A forked child has its own writer, which needs the modules again, so the child starts without rules.
  if (madvise(memory, sizeof(rule_cache), MADV_WIPEONFORK) != 0) pthread_atfork(nullptr, nullptr, forget_rules);
  auto* const rules = static_cast<rule_cache*>(memory);
  rules->clear();  // Round 0 is for forked children, whose threads have their parent's trails.
  cache.store(rules);
  return true;
}

[[gnu::noinline]] SLUICE_READS_STACKS std::size_t native_frames(std::uint64_t* out, std::size_t max,
                                                                unsigned skip) noexcept {
  rule_cache* const rules = cache.load(std::memory_order_acquire);
  if (rules == nullptr) return 0;
  trail_frame here{};
#if defined(__x86_64__)
  asm volatile(
      "lea 0(%%rip), %0\n\t"
      "mov %%rsp, %1\n\t"
      "mov %%rbp, %2"
      : "=a"(here.pc), "=d"(here.sp), "=c"(here.bp));
#endif
  ++here.pc;
  return walker(*rules, here, out, max, skip + 1).walk();
}

void watch_native_modules() noexcept {
  if (cache.load(std::memory_order_relaxed) != nullptr && watch_modules()) forget_rules();
}

}  // namespace sluice::capture
