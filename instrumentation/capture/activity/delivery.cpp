#include "instrumentation/capture/activity/delivery.hpp"

#include <time.h>

#include <atomic>

namespace sluice::capture {

void wait_for_room(std::size_t bytes) noexcept {
  constexpr std::uint64_t timeout_ns = 200'000'000;
  static std::atomic<std::uint64_t> no_waiting_until{0};
  if (ring::has_room(bytes)) return;
  const std::uint64_t begin = ring::monotonic_now();
  if (begin < no_waiting_until.load(std::memory_order_relaxed)) return;
  for (std::uint64_t now = begin; now - begin < timeout_ns; now = ring::monotonic_now()) {
    const timespec moment{0, 200'000};
    nanosleep(&moment, nullptr);
    if (ring::has_room(bytes)) return;
  }
  no_waiting_until.store(ring::monotonic_now() + 5 * timeout_ns, std::memory_order_relaxed);
}

}  // namespace sluice::capture
