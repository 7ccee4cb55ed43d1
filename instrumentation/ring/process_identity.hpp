#pragma once

#include "instrumentation/ring/ring.hpp"

namespace sluice::collector {

/// Reads the rank that a launcher (torchrun, mpirun, srun) put in the environment; -1: none.
[[nodiscard]] std::int64_t rank_from_environment() noexcept;

/// Differs after an exec; as in `ring_identity`. Takes no descriptor.
[[nodiscard]] std::uint64_t image_of_this_process() noexcept;

/// Fills in who the calling process is, from /proc. What cannot be read stays zero. Async-signal-safe; changes errno.
void fill_identity(ring_identity& identity, std::int64_t rank) noexcept;

}  // namespace sluice::collector
