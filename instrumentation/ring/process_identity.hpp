#pragma once

#include "instrumentation/ring/ring.hpp"

namespace sluice::ring {

/// Reads the rank from a launcher's environment variables (torchrun, mpirun, srun); -1 if none of them is set.
[[nodiscard]] std::int64_t rank_from_environment() noexcept;

/// A number that changes with each exec; see `ring_identity::image`. Opens no file descriptor.
[[nodiscard]] std::uint64_t image_of_this_process() noexcept;

/// Fills in the identity of the calling process from /proc. Unreadable values stay 0. Async-signal-safe; changes errno.
void fill_identity(ring_identity& identity, std::int64_t rank) noexcept;

}  // namespace sluice::ring
