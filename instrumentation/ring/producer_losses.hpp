#pragma once

#include <cstdint>

namespace sluice::ring {

/// The number of allocations and frees that this copy of the producer has lost since `start`. Do not call this function
/// on hot paths, because it reads every ring and takes the lock under which rings are made.
[[nodiscard]] std::uint64_t lost_memory_events() noexcept;

}  // namespace sluice::ring
