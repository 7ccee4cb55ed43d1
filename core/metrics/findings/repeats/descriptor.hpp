#pragma once

#include <array>

#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

/// Registers the findings about copies of data that the GPU already had. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(min_small_copies == 256);

inline constexpr auto repeated_copies_fixes = std::to_array<code_fix>({
    {"PyTorch", "table = table.to(\"cuda\")  # once, before the loop"},
    {"CuPy", "table = cupy.asarray(table)  # once, before the loop"},
    {"JAX", "table = jax.device_put(table)  # once, before the loop"},
    {"Numba", "table = cuda.to_device(table)  # once, before the loop"},
    {"CUDA C++", "cudaMemcpyAsync(table, host, bytes, cudaMemcpyHostToDevice, stream);  // once, before the loop"},
});

inline constexpr auto zero_uploads_fixes = std::to_array<code_fix>({
    {"PyTorch", "x = torch.zeros(shape, device=\"cuda\")  # not torch.zeros(shape).to(\"cuda\")"},
    {"CuPy", "x = cupy.zeros(shape, dtype)  # not cupy.asarray(numpy.zeros(shape, dtype))"},
    {"JAX", "x = jnp.zeros(shape, dtype)  # not jax.device_put(numpy.zeros(shape, dtype))"},
    {"CUDA C++", "cudaMemsetAsync(device, 0, bytes, stream);  // not a copy of zeros"},
});

inline constexpr auto repeats_rules = std::to_array<finding_rule>({
    {finding_kind::repeated_copies, "repeated_copies", "The same data is copied again",
     "The same data is copied to the GPU repeatedly.",
     "Copies have the same contents (record --find-duplicates). They are at least 1 MiB or 256 copies, without round "
     "trips and uploads of zeros. Contents are compared by a hash. The hash covers all bytes of copies of up to 32 "
     "KiB, and a sample of larger copies.",
     "Copies in graphs and batches, and copies that the recorder skipped to save time, are not compared.",
     repeated_copies_fixes},
    {finding_kind::round_trips, "round_trips", "Data is copied back and forth",
     "Data is copied to the host and back to the GPU unchanged.",
     "A copy to the GPU has the contents of a copy from the GPU that followed the last such upload (record "
     "--find-duplicates). Each copy has at least 64 bytes, and there are at least 1 MiB or 256 copies. The saving is "
     "the time of both copies.",
     "The recording does not show whether the host also reads the data. If it does, only the copy back can be "
     "removed. Copies to page-locked memory whose completion the program learns from a host function or another "
     "stream, and changes by the device between the two copies, are not detected."},
    {finding_kind::zero_uploads, "zero_uploads", "Zeros are copied to the GPU",
     "Zeros are copied to the GPU, where a memset would be enough.",
     "The contents of copies are all zero (record --find-duplicates), and there are at least 1 MiB or 256 copies. Up "
     "to 4 MiB of a copy are read. If there is no time for that, a sample is read. The sample must equal the sample "
     "of a copy of which more was read.",
     "A few other values among zeros, in a copy of more than 4 MiB, are not detected.", zero_uploads_fixes},
});

void find_repeated_copies(finder& in);
void find_round_trips(finder& in);
void find_zero_uploads(finder& in);
inline constexpr auto repeats_steps =
    std::to_array<find_function>({find_repeated_copies, find_round_trips, find_zero_uploads});

inline constexpr finding_descriptor repeats_findings{"repeats", "Needless copies", repeats_rules, repeats_steps};

}  // namespace sluice::metrics
