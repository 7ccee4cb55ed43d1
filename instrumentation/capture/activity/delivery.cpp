#include "instrumentation/capture/activity/delivery.hpp"

#include <time.h>

#include <atomic>

namespace sluice::capture {

void wait_for_room(std::size_t bytes) noexcept {
  constexpr std::uint64_t patience_ns = 200'000'000;
  static std::atomic<std::uint64_t> impatient_until{0};
  if (collector::has_room(bytes)) return;
  const std::uint64_t begin = collector::monotonic_now();
  if (begin < impatient_until.load(std::memory_order_relaxed)) return;
  for (std::uint64_t now = begin; now - begin < patience_ns; now = collector::monotonic_now()) {
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
    if (collector::has_room(bytes)) return;
  }
  impatient_until.store(collector::monotonic_now() + 5 * patience_ns, std::memory_order_relaxed);
}

}  // namespace sluice::capture
