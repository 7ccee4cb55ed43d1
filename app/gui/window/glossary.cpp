#include "app/gui/window/glossary.hpp"

#include <algorithm>
#include <array>

namespace sluice::gui {
namespace {

/// Lower case of ASCII letters: all names are ASCII.
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
     "The time from the first to the last work of a GPU or allocation. Shares of time refer to it, unless they say "
     "otherwise."},
    {"array memory",
     "Device memory of a CUDA array, which textures and surfaces read. The driver chooses its layout, so its size is "
     "an "
     "estimate."},
    {"attainable bandwidth",
     "The copy rate that this machine reached in a measurement with large pinned copies. It lies below the link peak, "
     "because the link's protocol takes its share."},
    {"bandwidth",
     "Bytes copied per second: the height is the rate while copies run. The colour fades where copies ran for only a "
     "small part of the time."},
    {"busy",
     "The share of a time span in which at least one kernel or copy ran. A pixel that stands for many events is filled "
     "to this share of its height."},
    {"copies",
     "Copies in one direction, one box each. Where several share a pixel, the filled height is the share of the time "
     "in "
     "which one ran."},
    {"counter",
     "A value that the program or the driver reported now and then. Dots are the values where they changed; between "
     "two "
     "dots nothing was measured."},
    {"device memory",
     "Memory on the GPU that the recorded programs allocated. Colour is memory in use; the outline above it is "
     "reserved."},
    {"driver layer",
     "Memory that was taken directly from the CUDA driver, for example by cudaMalloc. Frameworks take large pieces "
     "from "
     "it and hand out parts of them, so their bytes are also the driver's."},
    {"fragmentation",
     "The share of reserved but unused memory that is not in the largest free piece. At 0 % all of it is one piece; "
     "near "
     "100 % a large allocation can fail although enough bytes are free."},
    {"framework layer",
     "Memory that a framework's allocator, such as PyTorch's, handed out to tensors. Its blocks lie inside memory that "
     "the framework reserved from the driver."},
    {"gradient",
     "The derivative of the loss by a weight or an activation, computed in the backward pass. Gradients of weights "
     "live "
     "until the optimizer's step, or until they are set to none."},
    {"host memory",
     "Memory of the CPU that was allocated through CUDA: pinned or managed. Ordinary memory of the program is not "
     "recorded."},
    {"host thread",
     "A thread of the program: its ranges and its calls to CUDA, nested. Calls that wait for the GPU are drawn as "
     "waits."},
    {"inferred",
     "Concluded by Sluice from call stacks, lifetimes and use, and not said by the program. Tags that the program sets "
     "replace it."},
    {"input", "Data of a batch, such as images or tokens and their labels. It is copied to the GPU in each step."},
    {"layer",
     "Who handed out a block: the driver, a pool of the driver, a framework's allocator, or the program itself. Layers "
     "lie within one another, so their bytes must not be added."},
    {"link peak",
     "The highest rate of the connection between host and GPU by its specification: generation times width. Real "
     "copies "
     "stay below it."},
    {"managed memory",
     "Memory that CPU and GPU share under one address (cudaMallocManaged). The driver moves its pages to the side that "
     "uses them, and each move costs time."},
    {"median",
     "The value in the middle: half of the values are lower, half are higher. Unlike a mean, it does not move if a few "
     "values are extreme."},
    {"not categorised",
     "Framework memory whose purpose is not known. Tag it in the program, or record call stacks, to learn more."},
    {"optimizer state",
     "What an optimizer keeps for each weight, such as Adam's two moments. It lives as long as the training and is "
     "often "
     "twice the size of the weights."},
    {"outlier",
     "A step whose value is far from the median: by more than 5 % of it and by more than 3.5 times the usual "
     "deviation. "
     "Outliers are looked for among 5 steps or more."},
    {"pageable",
     "Ordinary host memory, which the system can move. Copies from it go through a buffer of the driver, so they are "
     "slower and block the calling thread."},
    {"percentile",
     "The 99th percentile is the value that 99 of 100 events do not exceed. It shows how slow the slow ones are "
     "without "
     "the very slowest."},
    {"pinned",
     "Host memory that stays in place (cudaHostAlloc, pin_memory). Only copies from pinned memory run at full rate and "
     "beside kernels."},
    {"pool layer",
     "Memory that a pool handed out, such as the driver's stream-ordered pools (cudaMallocAsync) or RMM. A pool keeps "
     "freed memory for the next request."},
    {"profiler overhead",
     "GPU memory that the recording itself used; it is absent when the program runs without Sluice. The value is an "
     "estimate."},
    {"reserved",
     "Memory taken from the driver, used or not. The faint area inside the outline was not handed out by a pool or a "
     "framework: it is unused, unless the program uses the driver's memory directly."},
    {"step",
     "One iteration of the program's main loop, such as one training batch. Steps come from the program's marks, or "
     "are "
     "inferred from repeated work."},
    {"stream",
     "A queue of work on the GPU: its kernels and copies run one after another. Work in different streams can run at "
     "the "
     "same time."},
    {"untracked",
     "GPU memory in use that no recorded allocation explains: the CUDA context, libraries, other processes. It is "
     "sampled, so it is known only at the dots."},
    {"used",
     "Memory in blocks that were handed out and not freed yet. It can be less than what is reserved, never more."},
    {"user layer",
     "Memory that the program's own allocator handed out, as far as it is marked for Sluice. Its blocks lie inside "
     "memory of another layer."},
    {"weight",
     "A parameter of the model. Weights live as long as the model, and their size does not depend on the batch size."},
    {"whole GPU",
     "All memory in use on the GPU, by every process, as the driver reports it. It is sampled a few times per second."},
    {"working time",
     "The active time without the long pauses of the GPU that come only once, as when the program starts, compiles or "
     "saves. What a finding saves is a share of it."},
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

std::string_view term_of(trace::layer layer) {
  static constexpr std::array<std::string_view, trace::layer_count> names = {"driver layer", "pool layer",
                                                                             "framework layer", "user layer"};
  return names[std::min<std::size_t>(static_cast<std::size_t>(layer), names.size() - 1)];
}

std::string_view term_of(analysis::category what) { return analysis::category_name(what); }

std::string_view term_of(trace::memory_kind kind) {
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
