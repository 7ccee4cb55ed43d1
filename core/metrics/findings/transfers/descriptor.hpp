#pragma once

#include <array>

#include "core/metrics/base/link_share.hpp"
#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/findings/transfers/thresholds.hpp"

/// Registers the findings about copies that are slow, small or not overlapped. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(min_spread == 4 && min_small_copies == 256 && reached_of_link_peak == 0.85);

inline constexpr auto pageable_copies_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "loader = DataLoader(dataset, batch_size, pin_memory=True)  # or x = x.pin_memory()\n"
     "x = x.to(\"cuda\", non_blocking=True)",
     "to the GPU"},
    {"PyTorch",
     "host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)  # once\n"
     "host.copy_(x, non_blocking=True)  # synchronize before the host reads it",
     "from the GPU"},
    {"CuPy",
     "host = cupyx.empty_pinned(shape, dtype)  # once\n"
     "x.set(host, stream=stream)",
     "to the GPU"},
    {"CuPy",
     "host = cupyx.empty_pinned(x.shape, x.dtype)  # once\n"
     "x.get(out=host, stream=stream)",
     "from the GPU"},
    {"Numba",
     "host = cuda.pinned_array(shape, dtype)  # once\n"
     "x.copy_to_device(host, stream=stream)",
     "to the GPU"},
    {"Numba",
     "host = cuda.pinned_array(x.shape, x.dtype)  # once\n"
     "x.copy_to_host(host, stream=stream)",
     "from the GPU"},
    {"CUDA C++",
     "cudaMallocHost(&host, bytes);  // once, instead of malloc or new\n"
     "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);",
     "to the GPU"},
    {"CUDA C++",
     "cudaMallocHost(&host, bytes);  // once, instead of malloc or new\n"
     "cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);",
     "from the GPU"},
});

inline constexpr auto small_copies_fixes = std::to_array<code_fix>({
    {"PyTorch", "batch = torch.stack(pieces).to(\"cuda\")  # one copy for all pieces", "to the GPU"},
    {"PyTorch", "values = torch.stack(results).cpu()  # one copy for all results", "from the GPU"},
    {"CuPy", "batch = cupy.asarray(numpy.stack(pieces))  # one copy for all pieces", "to the GPU"},
    {"CuPy", "values = cupy.stack(results).get()  # one copy for all results", "from the GPU"},
    {"JAX", "batch = jax.device_put(numpy.stack(pieces))  # one copy for all pieces", "to the GPU"},
    {"JAX", "values = jax.device_get(jnp.stack(results))  # one copy for all results", "from the GPU"},
    {"CUDA C++",
     "cudaMemcpyAsync(device, gathered, all_bytes, cudaMemcpyHostToDevice, stream);  // once for all pieces",
     "to the GPU"},
});

inline constexpr auto migrations_fixes = std::to_array<code_fix>({
    {"CUDA C++", "cudaMemPrefetchAsync(data, bytes, device, stream);  // before the kernel; CUDA 13: a cudaMemLocation",
     "to the GPU"},
    {"CUDA C++",
     "cudaMemPrefetchAsync(data, bytes, cudaCpuDeviceId, stream);  // before the host reads; CUDA 13: a "
     "cudaMemLocation",
     "from the GPU"},
});

inline constexpr auto copies_not_overlapped_fixes = std::to_array<code_fix>({
    {"PyTorch",
     "with torch.cuda.stream(copies): following = batch.to(\"cuda\", non_blocking=True)  # batch: pinned\n"
     "torch.cuda.current_stream().wait_stream(copies)  # before following is used\n"
     "following.record_stream(torch.cuda.current_stream())",
     "to the GPU"},
    {"CuPy",
     "following.set(batch, stream=copies)  # batch: cupyx.empty_pinned; copies: cupy.cuda.Stream(non_blocking=True)\n"
     "cupy.cuda.get_current_stream().wait_event(copies.record())  # before following is used",
     "to the GPU"},
    {"CUDA C++",
     "cudaMemcpyAsync(following, host, bytes, cudaMemcpyHostToDevice, copies);  // host: pinned\n"
     "cudaEventRecord(copied, copies);\n"
     "cudaStreamWaitEvent(stream, copied, 0);  // before the kernel that uses following",
     "to the GPU"},
});

inline constexpr auto transfers_rules = std::to_array<finding_rule>({
    {finding_kind::pageable_copies, "pageable_copies", "Slow copies: pageable memory",
     "Copies from or to pageable memory are slow, because the driver stages them.",
     "The copies are at least 16 MiB and 10 % of the bytes of a direction, and slower than 75 % of the link. Pinning "
     "saves the time beyond that at 85 % of the link's peak. The finding is only a note if the copies do not recur, "
     "that is, if they occur in fewer than 4 of 8 equal parts of the kernels' time.",
     "The cost of pinning is not counted.", pageable_copies_fixes},
    {finding_kind::slow_copies, "slow_copies", "Slow copies",
     "Large copies from pinned memory stay far below the link's peak.",
     "The copies are at least 64 MiB, 1 MiB on average, and slower than 60 % of the link.",
     "Other users of the link are not seen."},
    {finding_kind::small_copies, "small_copies", "Many small copies",
     "Many copies are small. Starting such a copy takes longer than moving its data.",
     "One line requests at least 256 copies below 64 KiB. The saving is the time of these copies minus the time of "
     "one copy of all bytes.",
     "The recording does not show whether the data can be gathered into one copy.", small_copies_fixes},
    {finding_kind::migrations, "migrations", "Managed memory migrates",
     "Managed memory migrates between host and GPU page by page.", "At least 16 MiB of pages migrate.",
     "The recording does not show which line accessed the pages.", migrations_fixes},
    {finding_kind::copies_not_overlapped, "copies_not_overlapped", "GPU waits for copies",
     "The GPU waits for copies while no kernel runs.",
     "Copies without a concurrent kernel take 1 % of the active time, and kernels run during less than a quarter of "
     "the copies' time. The finding is only a note if the copies do not recur, that is, if they occur in fewer than 4 "
     "of 8 equal parts of the kernels' time.",
     "The recording does not show whether the next kernel needs the data that is copied.", copies_not_overlapped_fixes},
});

void find_slow_transfers(finder& in);
void find_copies_not_overlapped(finder& in);
inline constexpr auto transfers_steps = std::to_array<find_function>({find_slow_transfers, find_copies_not_overlapped});

inline constexpr finding_descriptor transfers_findings{"transfers", "Slow copies", transfers_rules, transfers_steps};

}  // namespace sluice::metrics
