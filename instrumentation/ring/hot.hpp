#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Macros and functions that keep the code and data used by every event close together. Between two events, a program
/// touches megabytes of its own code and data. So each cache line and page that an event needs must be loaded again,
/// which takes 20 to 90 ns per line and longer per page. `bench_cold` measures these times.

/// Marks functions that run at each event; the linker groups them in .text.hot (lld does so only with the option that
/// SLUICE_HOT_TOGETHER in cmake/toolchain.cmake sets). Put rarely executed code into separate functions.
#define SLUICE_HOT [[gnu::hot]]
#define SLUICE_RARE [[gnu::cold, gnu::noinline]]
#define SLUICE_INLINE [[gnu::always_inline]] inline

/// Places variables that each event reads together in one section. They must have constant initializers.
#define SLUICE_HOT_DATA [[gnu::section("sluice_hot")]]

/// Accesses thread-local variables with one load instead of a loader call. All such variables of a library must
/// fit into the C library's reserve for late-loaded libraries (512 bytes, glibc.rtld.optional_static_tls).
#define SLUICE_THREAD_LOCAL [[gnu::tls_model("initial-exec")]] constinit thread_local

namespace sluice::ring {

/// Prefetches the cache line of `address` for reading or writing. The address need not be readable.
SLUICE_INLINE void expect_read(const void* address) noexcept { __builtin_prefetch(address, 0, 3); }
SLUICE_INLINE void expect_write(const void* address) noexcept {
#if defined(__x86_64__)
  // For a generic processor, the compiler turns __builtin_prefetch into a prefetch for reading; the later
  // write would then request the line a second time. On processors without prefetchw, this does nothing.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1, 3);
#endif
}

/// Adds `change` to a number that only one thread at a time modifies and any thread may read. Written in
/// assembly, because compilers do not merge a relaxed load and a relaxed store into one instruction.
SLUICE_INLINE void add_alone(std::atomic<std::int64_t>& to, std::int64_t change) noexcept {
#if defined(__x86_64__)
  asm volatile("addq %1, %0" : "+m"(to) : "re"(change) : "cc");
#else
  to.store(to.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
#endif
}
SLUICE_INLINE void take_alone(std::atomic<std::int64_t>& begin, std::int64_t change) noexcept {
#if defined(__x86_64__)
  asm volatile("subq %1, %0" : "+m"(begin) : "re"(change) : "cc");
#else
  begin.store(begin.load(std::memory_order_relaxed) - change, std::memory_order_relaxed);
#endif
}

/// Copies `bytes` bytes, a small multiple of 8. Avoids memcpy, whose code takes extra cache lines and pages. Copies
/// word by word, because records are filled word by word: wider loads would wait for those stores.
SLUICE_INLINE void copy_words(void* to, const void* source, std::size_t bytes) noexcept {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(source);
  for (std::size_t i = 0; i < bytes; i += 8) {
    __builtin_memcpy(out + i, in + i, 8);
    asm volatile("" : "+r"(i));  // Otherwise the compiler turns the loop into memcpy.
  }
}

}  // namespace sluice::ring
