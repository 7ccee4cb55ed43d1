#include "instrumentation/runtime/pool/pool_front.hpp"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "instrumentation/runtime/recording/live_sets.hpp"

namespace sluice::runtime::pooling {

namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool register_for_barriers() noexcept {
#if defined(__SANITIZE_THREAD__)
  return false;  // ThreadSanitizer does not know membarrier.
#else
  return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
#endif
}

void barrier_in_all_threads() noexcept {
  if (!barrier_for_all) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  // A forked child may have to register again. The last command is slow, but needs no registration.
  if (register_for_barriers() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return;
  (void)membarrier(MEMBARRIER_CMD_GLOBAL);
}

}  // namespace

const bool barrier_for_all = register_for_barriers();

template <class GiveUp>
bool claim::take(GiveUp&& give_up) noexcept {
  for (const auto& f : fronts_) f->set_claimed(true, std::memory_order_seq_cst);
  barrier_in_all_threads();
  for (const auto& f : fronts_) {
    // A hit takes tens of instructions, so this takes long only if the owner is preempted.
    for (int turns = 0; f->sequence.load(std::memory_order_acquire) % 2 != 0; ++turns) {
      if (turns <= 1000) continue;
      if (give_up()) return false;
      sched_yield();
    }
  }
  return true;
}

claim::claim(std::span<const std::unique_ptr<front>> fronts) noexcept
    : fronts_(fronts), held_(take([] { return false; })) {}

claim::claim(std::span<const std::unique_ptr<front>> fronts, const look_limit& limit) noexcept
    : fronts_(fronts), held_(take([&] { return limit.reached(); })) {}

claim::~claim() {
  for (const auto& f : fronts_) f->set_claimed(false, std::memory_order_release);
}

bool collect(std::span<const std::unique_ptr<front>> fronts, front_counts& sum) noexcept {
  // If nothing changes between both passes, all values are from the moment in between.
  // Every hit increments its sequence, so comparing the sum of all sequences is enough.
  std::uint64_t before = 0;
  for (const auto& f : fronts) {
    const std::uint64_t sequence = f->sequence.load(std::memory_order_acquire);
    if (sequence % 2 != 0) return false;
    before += sequence;
  }
  for (const auto& f : fronts) {
    const front_counts c = f->counts();
    sum.used += c.used;
    sum.requested += c.requested;
    sum.blocks += c.blocks;
    sum.peak += c.peak;
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  std::uint64_t after = 0;
  for (const auto& f : fronts) after += f->sequence.load(std::memory_order_relaxed);
  return before == after;
}

}  // namespace sluice::runtime::pooling
