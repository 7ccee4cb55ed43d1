#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// What every event runs and touches, side by side: between two events a program runs through megabytes of its own code and data,
/// and each of our cache lines and pages that an event needs must be fetched anew (20 to 90 ns a line, more for a page).
/// `bench_cold` measures it.

/// Functions that run at each event: the linker puts them together (.text.hot). Rare parts are functions of their own.
#define SLUICE_HOT [[gnu::hot]]
#define SLUICE_RARE [[gnu::cold, gnu::noinline]]
#define SLUICE_INLINE [[gnu::always_inline]] inline

/// Variables that each event reads: together in a section of their own. They must be initialised by constants.
#define SLUICE_HOT_DATA [[gnu::section("sluice_hot")]]

/// Thread-local variables are found by one load, not by a call of the loader's. The whole of a library's must then fit into what
/// the C library sets aside for libraries that are loaded late (512 bytes, glibc.rtld.optional_static_tls): keep them few.
#define SLUICE_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] constinit thread_local

namespace sluice::collector {

/// Asks for the line that holds `address`, to be read or written soon; need not be readable.
SLUICE_INLINE void expect_read(const void* address) noexcept { __builtin_prefetch(address, 0, 3); }
SLUICE_INLINE void expect_write(const void* address) noexcept {
#if defined(__x86_64__)
  // What the compiler makes of __builtin_prefetch is, for a processor of that kind in general, a request to read: the line would be
  // asked for a second time when it is written. Where there is no such instruction, this one does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

/// Adds to a number that one thread at a time changes and any may read, or takes from it. By hand: of a relaxed load and a relaxed
/// store compilers never make the one instruction that does both.
SLUICE_INLINE void add_alone(std::atomic<std::int64_t>& to, std::int64_t change) noexcept {
#if defined(__x86_64__)
  asm volatile("addq %1, %0" : "+m"(to) : "re"(change) : "cc");
#else
  to.store(to.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
#endif
}
SLUICE_INLINE void take_alone(std::atomic<std::int64_t>& from, std::int64_t change) noexcept {
#if defined(__x86_64__)
  asm volatile("subq %1, %0" : "+m"(from) : "re"(change) : "cc");
#else
  from.store(from.load(std::memory_order_relaxed) - change, std::memory_order_relaxed);
#endif
}

/// Copies `bytes`, a multiple of 8, few: memcpy's code is lines and pages of its own. Word by word, as records are filled in:
/// wider loads would wait for the stores before them.
SLUICE_INLINE void copy_words(void* to, const void* from, std::size_t bytes) noexcept {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  for (std::size_t i = 0; i < bytes; i += 8) {
    __builtin_memcpy(out + i, in + i, 8);
    asm volatile("" : "+r"(i));  // Else the compiler makes a memcpy of it.
  }
}

}  // namespace sluice::collector
