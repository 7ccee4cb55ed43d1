#pragma once

#include <cstdint>

namespace sluice::collector {

/// Allocations and frees that this process could not tell its writer, ever; its rings count them. Not for hot paths: it looks
/// into every ring, and waits for a thread that is about to make one.
[[nodiscard]] std::uint64_t lost_memory_events() noexcept;

}  // namespace sluice::collector
