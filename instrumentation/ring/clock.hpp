#pragma once

#include <time.h>

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

/// Functions that read the clocks of a recorded process. The writer reads the same clocks. Reading the processor's
/// time-stamp counter (TSC) takes about 10 ns, and a call of `clock_gettime` takes 24 ns. So rings contain raw TSC
/// values, which the writer converts to nanoseconds. This header is part of recorded programs, so it uses no C++
/// library and no exceptions.
namespace sluice::ring {

/// True if the TSC runs at a constant rate, independent of the processor's frequency and sleep states.
[[nodiscard]] inline bool tsc_usable() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned invariant_tsc = 1u << 8;  // Intel SDM 18.17.1, AMD APM 3 E.4.7: leaf 0x80000007, EDX[8].
  return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & invariant_tsc) != 0;
#else
  return false;
#endif
}

/// The current value of the TSC; 0 if the processor has none. The read is not serialized with the surrounding code,
/// because an error of a few ns is acceptable.
[[nodiscard]] inline std::uint64_t read_tsc() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

/// The current time of `clock` in nanoseconds. Async-signal-safe; does not change errno.
[[nodiscard]] inline std::uint64_t read_clock(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace sluice::ring
