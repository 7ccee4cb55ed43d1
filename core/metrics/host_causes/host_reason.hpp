#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Why a host thread did not give the GPU work.
namespace sluice::metrics {

/// What a host thread was doing, as far as its stack, its state and its system call tell.
enum class host_reason : std::uint8_t {
  // Costs that normally occur once: at the start, or for each new shape.
  cudnn_attention_plan,  ///< cuDNN builds the plan of an attention.
  cudnn_plan,            ///< cuDNN chooses an engine and builds a plan, for convolutions, normalisations, ...
  cudnn_benchmark,       ///< cuDNN measures its algorithms (`torch.backends.cudnn.benchmark`).
  library_setup,         ///< A CUDA library creates its handle, or a plan of an FFT.
  module_loading,        ///< The driver loads machine code onto the GPU.
  ptx_compile,           ///< The driver compiles PTX, or links device code.
  triton_compile,        ///< Triton compiles a kernel.
  kernel_tuning,         ///< Triton or TorchInductor measures variants of a kernel.
  torch_compile,         ///< TorchDynamo, AOTAutograd or TorchInductor compile (`torch.compile`), or TorchScript does.
  nvrtc_compile,         ///< NVRTC compiles CUDA C++, for CuPy and others.
  numba_compile,         ///< Numba compiles a function.
  extension_build,       ///< A C++ extension is built with a compiler.
  xla_compile,           ///< XLA compiles.
  jax_trace,             ///< JAX traces a function and lowers it to XLA's input.
  nccl_start,            ///< NCCL creates a communicator, or processes find each other.
  cuda_start,            ///< CUDA creates its context.
  graph_capture,         ///< A CUDA graph is captured or instantiated.
  importing,             ///< Python imports modules, or a shared library is loaded.
  checkpoint_load,       ///< Weights are read from a file.
  data_start,            ///< A data loader starts its worker processes.
  // Costs that recur.
  kernel_launch,       ///< A launch of a kernel or a graph, by the program or a CUDA library.
  copy_call,           ///< A call that copies memory.
  cublas_heuristics,   ///< cuBLASLt chooses an algorithm.
  collective_launch,   ///< A collective operation is launched.
  dispatcher,          ///< A framework's native code between Python and the launch.
  autograd,            ///< PyTorch's engine of the backward pass, or waiting for its thread.
  optimizer,           ///< The loop of an optimizer over the parameters.
  framework_python,    ///< Python code of a framework, such as `Module.__call__`.
  gpu_wait,            ///< A call that waits for the GPU.
  gpu_allocation,      ///< The driver allocates or frees memory of the GPU.
  pinned_allocation,   ///< The driver allocates, frees or registers pinned memory.
  cpu_compute,         ///< Arithmetic on the CPU: NumPy, BLAS, OpenMP, PyTorch's operators for the CPU.
  media_decoding,      ///< Images, sound or video are decoded or transformed on the CPU.
  data_wait,           ///< The loop waits for the data loader's workers.
  data_main,           ///< The data loader works in the process that launches kernels.
  data_collate,        ///< Samples are put together into a batch.
  data_worker,         ///< A worker process of the data loader.
  pin_thread,          ///< The data loader's thread that copies batches into pinned memory.
  tokenizer,           ///< Text is turned into tokens.
  file_read,           ///< A file is opened or read.
  file_write,          ///< A file or a terminal is written.
  checkpoint_save,     ///< Weights are written to a file.
  logging,             ///< Messages, progress bars and curves of metrics.
  page_fault,          ///< The system provides memory at its first touch.
  allocation,          ///< The C library allocates or frees host memory.
  memory_mapping,      ///< The system maps or unmaps host memory.
  garbage_collection,  ///< Python's garbage collector.
  gil,                 ///< Waiting for Python's GIL.
  lock,                ///< Waiting for another thread.
  sleep,               ///< The program sleeps.
  network,             ///< Waiting for a socket, a pipe or an event.
  subprocess,          ///< Starting another process, or waiting for one.
  not_scheduled,       ///< Ready to run, but other threads had the CPUs.
  profiler,            ///< A profiler, this recorder included.
  // Catch-alls: a place is known at most, but no reason.
  own_code,      ///< The program's own code: its line.
  package_code,  ///< Code of a package without a rule: its name.
  cuda_driver,   ///< Inside the CUDA driver or runtime, by a call without a rule.
  native_code,   ///< Native code of a library without a rule: its name.
  system_code,   ///< Inside the operating system, for an unknown or unusual reason.
  mixed,         ///< A gap in which no library and no line has half of the sampled time.
  unsampled      ///< Time without samples.
};
inline constexpr std::size_t host_reason_count = static_cast<std::size_t>(host_reason::unsampled) + 1;

/// Returns the reason's name for SQL and JSON, such as "cudnn_plan".
[[nodiscard]] std::string_view get_name(host_reason reason);

/// Returns the reason in words that follow "The host: ", such as "builds a plan (cuDNN)" without the library: "builds a
/// plan for new shapes".
[[nodiscard]] std::string_view get_words(host_reason reason);

/// True if the reason does not explain why the time passed: a bare line, unknown code, or no samples.
[[nodiscard]] bool is_catch_all(host_reason reason);

/// True for costs that normally occur once: at the start, or for each new shape. Whether they did is measured:
/// `host_cause_group::recurs`.
[[nodiscard]] bool is_first_time(host_reason reason);

}  // namespace sluice::metrics
