#include "instrumentation/capture/native_stack.hpp"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "instrumentation/capture/eh_frame.hpp"
#include "instrumentation/capture/modules.hpp"

extern "C" void*
    __libc_stack_end;  // The loader's: where the main thread's stack pointer was at the program's first instruction.

namespace sluice::capture {

namespace {

#define SLUICE_READS_STACKS __attribute__((no_sanitize("address", "thread", "undefined")))

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t address_bits = 47;
/// No code of anybody's lies in the first page.
bool may_be_code(std::uint64_t pc) { return pc >= page_bytes && pc >> address_bits == 0; }

// --- rules seen before ------------------------------------------------------------------------------------------------------

/// Rules by return address, in a table of two-way sets. An entry is one word, so that threads need no more than a load or a
/// store; 0 is empty.
///
///   63                    33  30       14          0
///   | address, what is left | kind | offset | rbp |
///
/// A number below 2^47 is multiplied by an odd one modulo 2^47, which loses nothing: its top 16 bits are the place, the other
/// 31 the rest of the address.
class rule_cache {
 public:
  [[nodiscard]] unwind_rule find(std::uint64_t pc) const {
    const std::uint64_t mixed = mix(pc);
    const std::uint64_t tag = mixed & tag_mask;
    const std::size_t at = mixed >> tag_bits;
    std::uint64_t word = words_[at].load(std::memory_order_relaxed);
    if (word >> 33 == tag && word != 0) [[likely]]
      return unpack(word);
    word = words_[at ^ 1].load(std::memory_order_relaxed);
    if (word >> 33 == tag && word != 0) return unpack(word);
    return {};
  }
  void keep(std::uint64_t pc, const unwind_rule& rule, std::uint64_t round) {
    const std::uint64_t mixed = mix(pc);
    std::uint64_t word = 0;
    if (!pack(rule, word)) return;
    word |= (mixed & tag_mask) << 33;
    const std::size_t first = mixed >> tag_bits;
    const bool taken = words_[first].load(std::memory_order_relaxed) != 0;
    std::atomic<std::uint64_t>& place = words_[taken ? first ^ 1 : first];
    place.store(word, std::memory_order_relaxed);
    // A module was unloaded meanwhile: the rule may be older than that.
    if (rounds_.load(std::memory_order_seq_cst) != round) place.store(0, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t round() const { return rounds_.load(std::memory_order_relaxed); }
  void clear() {
    rounds_.fetch_add(1, std::memory_order_seq_cst);
    for (auto& word : words_) {
      // Most were never touched, and need no memory to be read.
      if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr unsigned tag_bits = 31;
  static constexpr std::uint64_t tag_mask = (std::uint64_t{1} << tag_bits) - 1;
  static constexpr std::uint64_t offset_mask = 0xffff, rbp_mask = 0x3fff;

  static std::uint64_t mix(std::uint64_t pc) {
    return (pc * 0x9E3779B97F4A7C15U) & ((std::uint64_t{1} << address_bits) - 1);
  }
  static bool pack(const unwind_rule& rule, std::uint64_t& word) {
    if (rule.offset < INT16_MIN || rule.offset > INT16_MAX) return false;
    if (rule.saved_rbp < -1 || rule.saved_rbp >= static_cast<std::int32_t>(rbp_mask)) return false;
    word = (static_cast<std::uint64_t>(rule.kind) << 30) |
           ((static_cast<std::uint64_t>(rule.offset) & offset_mask) << 14) |
           (static_cast<std::uint64_t>(rule.saved_rbp) & rbp_mask);
    return true;
  }
  static unwind_rule unpack(std::uint64_t word) {
    unwind_rule rule;
    rule.kind = static_cast<unwind_rule::how>((word >> 30) & 7);
    rule.offset = static_cast<std::int16_t>((word >> 14) & offset_mask);
    const auto rbp = static_cast<std::int32_t>(word & rbp_mask);
    rule.saved_rbp = rbp == static_cast<std::int32_t>(rbp_mask) ? unwind_rule::rbp_lost : rbp;
    return rule;
  }

  std::atomic<std::uint64_t> words_[std::size_t{1} << 16];
  std::atomic<std::uint64_t> rounds_;
};

std::atomic<rule_cache*> cache{nullptr};

void forget_rules() {
  if (rule_cache* rules = cache.load()) rules->clear();
}

// --- memory that may be read ------------------------------------------------------------------------------------------------

/// What a thread knows of stacks. A signal handler may change it under its thread's hands: each word on its own stays true.
struct thread_stack {
  std::uint64_t top = 0;                             ///< Of the thread's own stack; 0: not known yet.
  std::uint64_t lowest = 0;                          ///< From here to the top every page was found readable.
  std::uint64_t foreign_begin = 0, foreign_end = 0;  ///< Found not to be connected with the own stack.
};
constinit thread_local thread_stack this_stack;

std::uint64_t thread_pointer() {
  std::uint64_t value = 0;
  asm("mov %%fs:0, %0" : "=r"(value));
  return value;
}

/// Where the calling thread's own stack ends, if that is the one it is on. The main thread's is the program's first; glibc puts a
/// control block on top of each other one.
std::uint64_t possible_top() {
  const bool is_main = getpid() == static_cast<pid_t>(syscall(SYS_gettid));
  const std::uint64_t top = is_main ? reinterpret_cast<std::uint64_t>(__libc_stack_end) : thread_pointer();
  return top & ~std::uint64_t{7};
}

/// Finds out whether `sp` is on the thread's own stack: then every page up to its top can be read, and will be for as long as
/// the thread lives. Once for each depth that the thread reaches.
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

/// The part of a stack that may be read. Foreign stacks are tried page by page, anew for each walk: they may be gone by the next.
class stack_view {
 public:
  /// Begins at `sp`.
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
  /// Code that was interrupted may still have registers in the red zone, below its stack pointer.
  void include_red_zone() {
    constexpr std::uint64_t red_zone = 128;
    if (is_readable(begin_ - red_zone)) begin_ -= red_zone;
  }
  /// The word at `address`; false if it may not be read.
  SLUICE_READS_STACKS bool read(std::uint64_t address, std::uint64_t& value) {
    if (address - begin_ >= end_ - begin_ || address % 8 != 0) [[unlikely]] {
      if (!extend_to(address)) return false;
    }
    value = *reinterpret_cast<const volatile std::uint64_t*>(address);
    return true;
  }

 private:
  [[gnu::noinline]] bool extend_to(std::uint64_t address) {
    constexpr std::uint64_t furthest = std::uint64_t{1} << 20;  // A larger frame is hardly one.
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

// --- walking ----------------------------------------------------------------------------------------------------------------

struct registers {
  std::uint64_t pc, sp, bp;
};

/// The rule for a return address that is not in the cache. `none`: in no file of code, or, if it is but `guessed`, not where a
/// call returns to.
[[gnu::noinline]] unwind_rule learn(rule_cache& rules, std::uint64_t pc, bool guessed) {
  const std::uint64_t round = rules.round();
  loaded_module module;
  if (!find_module(pc - 1, module) || (guessed && !follows_call(module.image, pc))) return {};
  const unwind_rule rule = find_unwind_rule(module.image, pc - 1);
  // A rule in the cache means that the writer has the module.
  if (introduce(module)) rules.keep(pc, rule, round);
  return rule;
}

class walker {
 public:
  walker(rule_cache& rules, const registers& from) : rules_(rules), at_(from) { stack_.move_to(from.sp); }

  SLUICE_READS_STACKS std::size_t walk(std::uint64_t* out, std::size_t max, unsigned skip) {
    std::size_t count = 0;
    while (count < max && may_be_code(at_.pc)) {
      unwind_rule rule = rules_.find(at_.pc);
      if (rule.kind == unwind_rule::none) [[unlikely]] {
        rule = learn(rules_, at_.pc, guessed_);
        if (rule.kind == unwind_rule::none) {  // Generated at run time, or no code at all.
          if (guessed_) break;
          rule.kind = unwind_rule::guess;
        }
      }
      if (skip > 0) {
        --skip;
      } else {
        out[count++] = at_.pc;
      }
      if (!step(rule)) break;
    }
    return count;
  }

 private:
  SLUICE_READS_STACKS bool step(const unwind_rule& rule) {
    std::uint64_t end = 0;
    guessed_ = false;
    switch (rule.kind) {
      case unwind_rule::from_rsp:
        end = at_.sp + bytes(rule.offset);
        break;
      case unwind_rule::from_rbp:
        end = at_.bp + bytes(rule.offset);
        break;
      case unwind_rule::through_rbp: {
        const std::uint64_t frame = at_.bp;
        return stack_.read(frame + bytes(rule.offset), end) && stack_.read(frame, at_.bp) && leave(end);
      }
      case unwind_rule::signal:
        return step_out_of_signal();
      case unwind_rule::guess:
        return step_by_frame_pointer();
      default:
        return false;
    }
    if (rule.saved_rbp > 0) {
      if (!stack_.read(end - bytes(rule.saved_rbp), at_.bp)) return false;
    } else if (rule.saved_rbp == unwind_rule::rbp_lost) {
      at_.bp = 0;
    }
    return leave(end);
  }

  static std::uint64_t bytes(std::int32_t words) { return static_cast<std::uint64_t>(std::int64_t{words} * 8); }

  /// On to the caller, whose stack pointer is `end`.
  SLUICE_READS_STACKS bool leave(std::uint64_t end) {
    if (end <= at_.sp || !stack_.read(end - 8, at_.pc)) return false;
    at_.sp = end;
    return true;
  }

  SLUICE_READS_STACKS bool step_by_frame_pointer() {
    const std::uint64_t frame = at_.bp;
    if (frame < at_.sp || !stack_.read(frame, at_.bp)) return false;
    guessed_ = true;
    return leave(frame + 16);
  }

  /// Past the frame that the kernel made for a signal handler: a ucontext_t lies at rsp. What was interrupted may have been on
  /// another stack.
  SLUICE_READS_STACKS bool step_out_of_signal() {
    constexpr std::uint64_t at_rbp = 120, at_rsp = 160, at_rip = 168;
    registers interrupted{};
    const std::uint64_t context = at_.sp;
    if (++signals_ > most_signals || !stack_.read(context + at_rbp, interrupted.bp) ||
        !stack_.read(context + at_rsp, interrupted.sp) || !stack_.read(context + at_rip, interrupted.pc)) {
      return false;
    }
    ++interrupted.pc;  // As if it were a return address: what comes before it counts.
    at_ = interrupted;
    stack_.move_to(at_.sp);
    stack_.include_red_zone();
    return true;
  }

  static constexpr unsigned most_signals = 8;
  rule_cache& rules_;
  registers at_;
  stack_view stack_;
  unsigned signals_ = 0;
  bool guessed_ = false;
};

}  // namespace

bool start_native_stacks() noexcept {
  start_modules();
  if (cache.load() != nullptr) {
    forget_rules();
    return true;
  }
  void* memory = mmap(nullptr, sizeof(rule_cache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  // A fork's child has a writer of its own, which must be told of the modules again: it begins with no rules.
  if (madvise(memory, sizeof(rule_cache), MADV_WIPEONFORK) != 0) pthread_atfork(nullptr, nullptr, forget_rules);
  cache.store(static_cast<rule_cache*>(memory));
  return true;
}

[[gnu::noinline]] SLUICE_READS_STACKS std::size_t native_frames(std::uint64_t* out, std::size_t max,
                                                                unsigned skip) noexcept {
  rule_cache* const rules = cache.load(std::memory_order_acquire);
  if (rules == nullptr) return 0;
  registers here{};
  asm volatile(
      "lea 0(%%rip), %0\n\t"
      "mov %%rsp, %1\n\t"
      "mov %%rbp, %2"
      : "=a"(here.pc), "=d"(here.sp), "=c"(here.bp));
  ++here.pc;
  return walker(*rules, here).walk(out, max, skip + 1);
}

void watch_native_modules() noexcept {
  if (cache.load(std::memory_order_relaxed) != nullptr && watch_modules()) forget_rules();
}

}  // namespace sluice::capture
