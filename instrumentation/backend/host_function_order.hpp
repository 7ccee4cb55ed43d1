#pragma once

#include <atomic>
#include <cstdint>

namespace sluice::backend {

// A thread that has waited for a stream sees what the stream's host functions wrote. CUDA's driver ensures this, but by
// means that the C++ memory model and ThreadSanitizer do not know. These two functions state the same order in C++.
// Both may be called from any thread. They never block.

namespace detail {
inline std::atomic<std::uint64_t> host_functions_ended{0};
}  // namespace detail

/// Call at the end of a host function, after its last access to shared objects and after it has destroyed its own.
inline void host_function_ended() noexcept { detail::host_functions_ended.fetch_add(1, std::memory_order_release); }

/// Call once the driver has said that a stream, an event or a device is done.
inline void see_host_functions() noexcept { (void)detail::host_functions_ended.load(std::memory_order_acquire); }

}  // namespace sluice::backend
