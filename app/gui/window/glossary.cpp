#include "app/gui/window/glossary.hpp"

#include <algorithm>
#include <array>

#include "core/trace/model/names.hpp"

namespace sluice::gui {
namespace {

/// Converts ASCII letters to lower case. That suffices, because all names are ASCII.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool before(std::string_view a, std::string_view b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                      [](char x, char y) { return lower(x) < lower(y); });
}

constexpr auto terms = std::to_array<term>({
    {"activation",
     "A result of the forward pass that is kept for the backward pass. Activations grow with the batch size; "
     "checkpointing or a smaller batch reduces them."},
    {"active time",
     "The time from the first to the last GPU work or allocation. The time after start-up, to which shares of time "
     "refer "
     "unless stated otherwise, leaves out long one-time pauses, such as startup or compilation."},
    {"array memory",
     "Device memory of a CUDA array, which textures and surfaces read. The driver chooses its layout, so its size is "
     "an estimate."},
    {"attainable bandwidth",
     "The copy rate that this machine reached in a measurement with large pinned copies. It is below the link peak, "
     "because the link's protocol has overhead."},
    {"bandwidth",
     "Bytes copied per second: the height is the rate while copies run. The colour fades where copies ran for only a "
     "small part of the time."},
    {"busy",
     "The share of a time range in which at least one kernel or copy ran. A pixel that represents many events is "
     "filled to this share of its height."},
    {"copies",
     "Copies in one direction, one box each. Where several share a pixel, the filled height is the share of the time "
     "in which one ran."},
    {"counter",
     "A value that the program or the driver reported now and then. Dots mark values that changed; between two dots "
     "nothing was measured."},
    {"CUDA allocations",
     "The driver layer: memory taken directly from the driver, such as by cudaMalloc. Frameworks allocate large pieces "
     "of it and hand out parts, so their bytes are also the driver's."},
    {"device memory",
     "Memory on the GPU that the recorded programs allocated. The coloured area is memory in use; the outline above "
     "it is reserved."},
    {"fragmentation",
     "The share of reserved but unused memory that is not in the largest free piece. At 0 % it is all one piece; near "
     "100 % a large allocation can fail although enough bytes are free."},
    {"framework tensors",
     "The framework layer: memory of PyTorch tensors, CuPy arrays and the like, from a framework's allocator. Its "
     "blocks "
     "are inside memory that the framework reserved from the driver."},
    {"gradient",
     "The derivative of the loss with respect to a weight or an activation, computed in the backward pass. Gradients "
     "of weights are live until the optimizer step, or until they are set to None."},
    {"host memory",
     "CPU memory that was allocated through CUDA: pinned or managed. Ordinary memory of the program is not recorded."},
    {"host thread",
     "A thread of the program: its ranges and its CUDA calls, nested. Calls that wait for the GPU are drawn as "
     "waits."},
    {"idle gap",
     "A time between two pieces of GPU work in which the GPU ran nothing. Each part has one cause, shown by its "
     "colour: "
     "host code, launches, a dependency, a wait or copy, allocation, loading, input, locks."},
    {"inferred",
     "Determined by Sluice from call stacks, lifetimes and use, not specified by the program. Tags set by the program "
     "override it."},
    {"input",
     "Data of a batch, such as images or tokens and their labels. It is usually copied to the GPU in each step."},
    {"layer",
     "The source of a block: the driver, a pool of the driver, a framework's allocator, or the program's own "
     "allocator. Layers are nested, so their bytes must not be added."},
    {"link peak",
     "The highest rate of the connection between host and GPU by its specification: generation times width. Actual "
     "copies stay below it."},
    {"managed memory",
     "Memory that CPU and GPU share at one address (cudaMallocManaged). The driver moves its pages to the side that "
     "uses them, and each move takes time."},
    {"median",
     "The middle value: half of the values are lower, half are higher. Unlike a mean, it is not affected by a few "
     "extreme values."},
    {"not categorised",
     "Framework memory whose purpose is unknown. To categorise it, tag it in the program or record call stacks."},
    {"optimizer state",
     "What an optimizer keeps for each weight, such as Adam's two moments. It is live throughout training and is "
     "often twice the size of the weights."},
    {"outlier",
     "A step whose value is far from the median: by more than 5 % of the median and by more than 3.5 times the usual "
     "deviation. Outliers are determined only if there are at least 5 steps."},
    {"pageable",
     "Ordinary host memory, which the system can move. Copies from it go through a buffer of the driver, so they are "
     "slower and block the calling thread."},
    {"percentile",
     "The 99th percentile is the value that 99 of 100 events do not exceed. It shows how slow the slow events are, "
     "ignoring the very slowest."},
    {"pinned",
     "Host memory that stays in place (cudaHostAlloc, pin_memory). Only copies from pinned memory run at full rate and "
     "concurrently with kernels."},
    {"pool blocks",
     "The pool layer: memory that a pool handed out, such as the driver's stream-ordered pools (cudaMallocAsync) or "
     "RMM. A pool keeps "
     "freed memory for the next request."},
    {"profiler overhead",
     "GPU memory that the recording itself used; it is absent when the program runs without Sluice. The value is an "
     "estimate."},
    {"reserved",
     "Memory taken from the driver, used or not. The faint area inside the outline was not handed out by a pool or a "
     "framework: it is unused, unless the program uses the driver's memory directly."},
    {"step",
     "One iteration of the program's main loop, such as one training batch. Steps are marked by the program or "
     "inferred from repeated work."},
    {"stream",
     "A queue of GPU work whose kernels and copies run one after another. Work in different streams can run at the "
     "same time."},
    {"untracked",
     "GPU memory in use that no recorded allocation explains: the CUDA context, libraries, other processes. It is "
     "sampled, so it is known only at the dots."},
    {"used",
     "Memory in blocks that were handed out and not freed yet. It can be less than what is reserved, never more."},
    {"user blocks",
     "The user layer: memory that the program's own allocator handed out, as far as it is marked for Sluice. Its "
     "blocks are inside "
     "memory of another layer."},
    {"weight",
     "A parameter of the model. Weights are live as long as the model, and their size does not depend on the batch "
     "size."},
    {"whole GPU",
     "All memory in use on the GPU, by every process, as the driver reports it. It is sampled a few times per second."},
    {"workspace",
     "Scratch memory of one operation or library, such as cuBLAS. It is needed only while the operation runs, but is "
     "often kept for the next one."},
});

}  // namespace

std::span<const term> all_terms() { return terms; }

const term* find_term(std::string_view name) {
  const auto found = std::lower_bound(terms.begin(), terms.end(), name, [](const term& each, std::string_view wanted) {
    return before(each.name, wanted);
  });
  return found != terms.end() && !before(name, found->name) ? &*found : nullptr;
}

std::string_view get_term(trace::layer layer) { return trace::get_label(layer); }

std::string_view get_term(index::category wanted) { return index::category_name(wanted); }

std::string_view get_term(trace::memory_kind kind) {
  switch (kind) {
    case trace::memory_kind::device:
      return "device memory";
    case trace::memory_kind::pinned:
      return "pinned";
    case trace::memory_kind::managed:
      return "managed memory";
    case trace::memory_kind::host:
      return "host memory";
    case trace::memory_kind::array:
      return "array memory";
    default:
      return {};
  }
}

}  // namespace sluice::gui
