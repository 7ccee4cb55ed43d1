#pragma once

#include <array>
#include <string_view>

#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/findings/shared/thresholds.hpp"
#include "core/metrics/idle/idle_gaps.hpp"

/// Registers the findings about times in which the GPU has no work. Private to core/metrics.
namespace sluice::metrics {

// The texts below quote these thresholds. If a threshold changes, update the texts.
static_assert(reported_idle_share == 0.005 && min_recurring == 4 && gap_splitter::short_host == 20'000 &&
              gap_splitter::longest_launch == 100'000);

inline constexpr std::string_view gaps_seen =
    "Needs kernel times (record --mode timeline). The finding names the line of the call. For host code, it names the "
    "next line that allocates or copies. Times of host and GPU agree to about 1 us.";

inline constexpr auto frequent_waits_fixes = std::to_array<code_fix>({
    {"PyTorch", "total += loss.detach()  # stays on the GPU; total.item() every N steps"},
});

inline constexpr auto hidden_waits_fixes = std::to_array<code_fix>({
    {"PyTorch", "total += loss.detach()  # stays on the GPU; total.item() every N steps", "copies from the GPU"},
    {"PyTorch",
     "loader = DataLoader(dataset, batch_size, pin_memory=True)  # or x = x.pin_memory()\n"
     "x = x.to(\"cuda\", non_blocking=True)",
     "copies to the GPU"},
    {"CUDA C++",
     "cudaMallocHost(&host, bytes);  // once, instead of malloc or new\n"
     "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);",
     "copies to the GPU"},
    {"CUDA C++",
     "cudaMallocHost(&host, bytes);  // once, instead of malloc or new\n"
     "cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);\n"
     "cudaEventRecord(copied, stream);  // cudaEventSynchronize(copied) before the host reads it",
     "copies from the GPU"},
    {"CUDA C++",
     "uint64_t keep = UINT64_MAX;  // before the loop: the pool keeps freed memory\n"
     "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);  // of cudaDeviceGetDefaultMemPool\n"
     "cudaMallocAsync(&block, bytes, stream);  // and cudaFreeAsync(block, stream)",
     "allocations"},
});

inline constexpr auto idle_gaps_fixes = std::to_array<code_fix>({
    {"PyTorch", "model = torch.compile(model, mode=\"reduce-overhead\")  # replays CUDA graphs", "launches"},
    {"CuPy",
     "@cupy.fuse()\n"
     "def f(x, y): return x * y + y  # element-wise operations in one kernel",
     "launches"},
    {"JAX", "step = jax.jit(step)  # the whole step under one jit", "launches"},
    {"CUDA C++",
     "cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); step(stream); cudaStreamEndCapture(stream, "
     "&graph);\n"
     "cudaGraphInstantiate(&exec, graph, 0);  // once\n"
     "cudaGraphLaunch(exec, stream);  // in each step",
     "launches"},
    {"PyTorch", "gc.collect(); gc.freeze()  # after the setup: objects of the setup are not visited again", "garbage"},
    {"PyTorch", "model = torch.compile(model, dynamic=True)  # one compilation for all shapes", "compilation"},
    {"PyTorch", "loader = DataLoader(dataset, batch_size, num_workers=8, prefetch_factor=4, persistent_workers=True)",
     "data"},
});

inline constexpr auto waits_rules = std::to_array<finding_rule>({
    {finding_kind::frequent_waits, "frequent_waits", "GPU idle",
     "The host waits for the GPU, and the GPU is idle until it has new work.",
     "There are at least 4 idle gaps that start while the host waits in a call such as "
     "cuStreamSynchronize. A gap counts for at most as long as the host waited. The saving comes from a simulation of "
     "the process without such calls. Each line gets its part of the gain.",
     gaps_seen, frequent_waits_fixes},
    {finding_kind::hidden_waits, "hidden_waits", "GPU idle",
     "A call that does not look like a wait waits for the GPU, which is then idle until it has new work.",
     "The rule is the same as for frequent waits, but for a blocking copy, cuMemFree or cuMemAlloc.", gaps_seen,
     hidden_waits_fixes},
    {finding_kind::idle_gaps, "idle_gaps", "GPU idle", "The GPU is idle while the host does other work.",
     "There are at least 4 idle gaps, 0.5 % of the active time in total, in parts of which the host is in no call that "
     "blocks it, loads code, or reads files. Each ns has one cause: a call; a range for garbage collection, "
     "torch.compile or the DataLoader; locks, other threads or Python's GIL, while all threads that launch work wait "
     "for them; or the program's own code. Sluice adds these ranges. Launches are too slow if the host launches work "
     "one by one, with less than 20 us of its own code before each launch, and the GPU runs it faster; calls of 100 us "
     "or more are not counted as launches. The saving is the idle time of each such sequence, minus what it would cost "
     "as a CUDA graph: 10 us, and 1.1 us for each kernel.",
     "Needs kernel times (record --mode timeline). The finding names the next line that allocates or copies. Waits "
     "for a mutex of C or C++, and the work of threads without ranges, are not seen.",
     idle_gaps_fixes},
});

void find_waits(finder& in);
inline constexpr auto waits_steps = std::to_array<find_function>({find_waits});

inline constexpr finding_descriptor waits_findings{"waits", "An idle GPU", waits_rules, waits_steps};

}  // namespace sluice::metrics
