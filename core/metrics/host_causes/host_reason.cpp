#include "core/metrics/host_causes/host_reason.hpp"

#include <array>

namespace sluice::metrics {
namespace {

/// The table. A namespace of its own keeps the short names out of other files, if files are compiled together.
namespace reason_table {

enum class occurrence : std::uint8_t { once, recurring, unknown };

struct reason_row {
  host_reason reason;
  std::string_view name;
  occurrence kind;
  std::string_view words;
};

using enum host_reason;
constexpr auto once = occurrence::once;
constexpr auto recurring = occurrence::recurring;
constexpr auto unknown = occurrence::unknown;  // A catch-all.

// In the order of the enum.
constexpr std::array<reason_row, host_reason_count> reasons{{
    {cudnn_attention_plan, "cudnn_attention_plan", once, "builds a plan for an attention of a new shape"},
    {cudnn_plan, "cudnn_plan", once, "builds a plan for a new shape"},
    {cudnn_benchmark, "cudnn_benchmark", once, "measures algorithms for a new shape"},
    {library_setup, "library_setup", once, "creates a handle or a plan"},
    {module_loading, "module_loading", once, "loads code onto the GPU"},
    {ptx_compile, "ptx_compile", once, "compiles PTX or links device code"},
    {triton_compile, "triton_compile", once, "compiles a kernel"},
    {kernel_tuning, "kernel_tuning", once, "measures variants of a kernel"},
    {torch_compile, "torch_compile", once, "compiles the model"},
    {nvrtc_compile, "nvrtc_compile", once, "compiles CUDA C++"},
    {numba_compile, "numba_compile", once, "compiles a function"},
    {extension_build, "extension_build", once, "builds an extension"},
    {xla_compile, "xla_compile", once, "compiles a function"},
    {jax_trace, "jax_trace", once, "traces and lowers a function"},
    {nccl_start, "nccl_start", once, "connects the ranks"},
    {cuda_start, "cuda_start", once, "creates the CUDA context"},
    {graph_capture, "graph_capture", once, "captures or instantiates a CUDA graph"},
    {importing, "import", once, "imports modules or loads libraries"},
    {checkpoint_load, "checkpoint_load", once, "loads weights"},
    {data_start, "data_start", once, "starts the workers of the data loader"},
    {kernel_launch, "kernel_launch", recurring, "launches kernels"},
    {copy_call, "copy_call", recurring, "copies memory"},
    {cublas_heuristics, "cublas_heuristics", recurring, "chooses an algorithm for a matrix product"},
    {collective_launch, "collective_launch", recurring, "launches a collective"},
    {dispatcher, "dispatcher", recurring, "dispatches operators"},
    {autograd, "autograd", recurring, "runs the backward pass"},
    {optimizer, "optimizer", recurring, "loops over the parameters"},
    {framework_python, "framework_python", recurring, "runs the framework's Python code"},
    {gpu_wait, "gpu_wait", recurring, "waits for the GPU"},
    {gpu_allocation, "gpu_allocation", recurring, "allocates or frees GPU memory"},
    {pinned_allocation, "pinned_allocation", recurring, "allocates or frees pinned memory"},
    {cpu_compute, "cpu_compute", recurring, "computes on the CPU"},
    {media_decoding, "media_decoding", recurring, "decodes or transforms media on the CPU"},
    {data_wait, "data_wait", recurring, "waits for the workers of the data loader"},
    {data_main, "data_main", recurring, "loads data in the main process"},
    {data_collate, "data_collate", recurring, "puts samples together into a batch"},
    {data_worker, "data_worker", recurring, "loads data in a worker"},
    {pin_thread, "pin_thread", recurring, "copies batches into pinned memory"},
    {tokenizer, "tokenizer", recurring, "tokenizes text"},
    {file_read, "file_read", recurring, "opens or reads files"},
    {file_write, "file_write", recurring, "writes files"},
    {checkpoint_save, "checkpoint_save", recurring, "saves weights"},
    {logging, "logging", recurring, "logs"},
    {page_fault, "page_fault", recurring, "touches new memory (page faults)"},
    {allocation, "allocation", recurring, "allocates or frees host memory"},
    {memory_mapping, "memory_mapping", recurring, "maps or unmaps host memory"},
    {garbage_collection, "garbage_collection", recurring, "collects garbage"},
    {gil, "gil", recurring, "waits for Python's GIL"},
    {lock, "lock", recurring, "waits for another thread"},
    {sleep, "sleep", recurring, "sleeps"},
    {network, "network", recurring, "waits for a socket or a pipe"},
    {subprocess, "subprocess", recurring, "waits for another process"},
    {not_scheduled, "not_scheduled", recurring, "is ready to run, but has no CPU"},
    {profiler, "profiler", recurring, "runs a profiler"},
    {own_code, "own_code", unknown, "runs the program's own code"},
    {package_code, "package_code", unknown, "runs code of a package"},
    {cuda_driver, "cuda_driver", unknown, "is inside the CUDA driver"},
    {native_code, "native_code", unknown, "runs native code"},
    {system_code, "system_code", unknown, "is inside the operating system"},
    {mixed, "mixed", unknown, "does several things"},
    {unsampled, "unsampled", unknown, "was not sampled"},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < reasons.size(); ++i)
    if (static_cast<std::size_t>(reasons[i].reason) != i) return false;
  return true;
}
static_assert(is_in_order());

}  // namespace reason_table

const reason_table::reason_row& get_reason_row(host_reason reason) {
  const auto at = static_cast<std::size_t>(reason);
  return reason_table::reasons[at < host_reason_count ? at : static_cast<std::size_t>(host_reason::unsampled)];
}

}  // namespace

std::string_view get_name(host_reason reason) { return get_reason_row(reason).name; }
std::string_view get_words(host_reason reason) { return get_reason_row(reason).words; }
bool is_catch_all(host_reason reason) { return get_reason_row(reason).kind == reason_table::unknown; }
bool is_first_time(host_reason reason) { return get_reason_row(reason).kind == reason_table::once; }

}  // namespace sluice::metrics
