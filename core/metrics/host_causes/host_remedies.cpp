#include "core/metrics/host_causes/host_remedies.hpp"

#include <algorithm>

#include "core/base/recorded_path.hpp"
#include "core/metrics/host_causes/patterns.hpp"
#include "core/symbols/code_files.hpp"

namespace sluice::metrics {
namespace {

/// The table. A namespace of its own keeps the short names of reasons out of other files, if files are compiled
/// together.
namespace remedy_table {

using enum host_reason;
using need = bool (*)(const program_traits&);

// Conditions of the table.
bool suits_all(const program_traits&) { return true; }
bool uses_pytorch(const program_traits& t) { return t.pytorch; }
bool uses_eager_pytorch(const program_traits& t) { return t.pytorch && !t.compiled; }
bool uses_cupy(const program_traits& t) { return t.cupy && !t.pytorch; }
bool uses_jax(const program_traits& t) { return t.jax && !t.pytorch; }
bool uses_numba(const program_traits& t) { return t.numba; }
bool uses_transformers(const program_traits& t) { return t.transformers; }
bool uses_loader(const program_traits& t) { return t.data_loader; }
bool uses_workers(const program_traits& t) { return t.data_loader && t.data_workers; }
bool uses_compile(const program_traits& t) { return t.pytorch && t.compiled; }
bool uses_python(const program_traits& t) { return t.python; }
bool uses_no_framework(const program_traits& t) { return !t.pytorch && !t.cupy && !t.jax && !t.tensorflow && !t.numba; }

enum class when : std::uint8_t { always, recurring, once };

struct remedy_row {
  host_reason reason;
  need applies;
  when time;
  std::string_view text;
  std::string_view code;
};

// The first row of a reason that applies is given. Names of options: PyTorch's, CuPy's, JAX's and CUDA's documentation.
constexpr remedy_row remedies[] = {
    // Plans and compilation: give each shape once, or choose what needs no plan.
    {cudnn_attention_plan, uses_pytorch, when::recurring,
     "cuDNN's attention builds a plan for each new shape. Let another kernel compute attention, or pad the sequence "
     "length to a few sizes.",
     "torch.backends.cuda.enable_cudnn_sdp(False)"},
    {cudnn_attention_plan, uses_pytorch, when::once,
     "Run each shape once before the loop, or let another kernel compute attention.",
     "torch.backends.cuda.enable_cudnn_sdp(False)"},
    {cudnn_plan, uses_pytorch, when::recurring,
     "cuDNN builds a plan for each new shape. Pad inputs to a few sizes (buckets), and do not set cudnn.benchmark "
     "while "
     "shapes change.",
     "x = torch.nn.functional.pad(x, (0, -x.shape[-1] % 64))"},
    {cudnn_plan, uses_pytorch, when::once, "Run each shape once before the loop.", "model(example_batch)"},
    {cudnn_plan,
     suits_all,
     when::recurring,
     "cuDNN builds a plan for each new shape. Keep plans, one for each shape, and pad inputs to few shapes.",
     {}},
    {cudnn_benchmark, uses_pytorch, when::recurring,
     "Each new shape is measured again. Switch the benchmark off, or pad inputs to a few sizes.",
     "torch.backends.cudnn.benchmark = False"},
    {cudnn_benchmark, uses_pytorch, when::once, "Measured once for each shape; a short run loses more than it gains.",
     "torch.backends.cudnn.benchmark = False"},
    {cudnn_benchmark, suits_all, when::always, "Call cudnnFind... once for each shape, and keep the algorithm.", {}},
    {library_setup, uses_pytorch, when::recurring,
     "Create handles and FFT plans once. PyTorch keeps a bounded number of FFT plans.",
     "torch.backends.cuda.cufft_plan_cache.max_size = 4096"},
    {library_setup, uses_cupy, when::recurring, "Keep FFT plans instead of creating them anew.",
     "plan = cupyx.scipy.fft.get_fft_plan(a)\nwith plan: cupyx.scipy.fft.fft(a)"},
    {library_setup, suits_all, when::recurring, "Create handles and plans before the loop, and keep them.", {}},
    {module_loading,
     suits_all,
     when::recurring,
     "Code keeps being loaded: keep modules and kernels instead of loading them anew.",
     {}},
    {module_loading, suits_all, when::once,
     "Kernels are loaded when they are first launched. Load them all at the start, if the first steps matter.",
     "CUDA_MODULE_LOADING=EAGER"},
    {ptx_compile, suits_all, when::always,
     "The driver compiles PTX, because there is no machine code for this GPU. Build for it, and keep the driver's "
     "cache.",
     "nvcc -gencode arch=compute_90,code=sm_90    # the compute capability of your GPU\nCUDA_CACHE_MAXSIZE=4294967296"},
    {triton_compile, suits_all, when::recurring,
     "A Triton kernel is compiled for each new value of a constexpr argument and each class of integers. Pass changing "
     "sizes as ordinary arguments that are not specialised.",
     "@triton.jit(do_not_specialize=[\"n\"])"},
    {triton_compile, suits_all, when::once, "Keep Triton's cache between runs.", "TRITON_CACHE_DIR=/a/lasting/folder"},
    {kernel_tuning, uses_compile, when::once, "Keep the results of tuning between runs.",
     "TORCHINDUCTOR_CACHE_DIR=/a/lasting/folder TORCHINDUCTOR_FX_GRAPH_CACHE=1"},
    {kernel_tuning, suits_all, when::recurring,
     "The kernel is tuned again for each new key. Use fewer keys, rounded up.",
     "@triton.autotune(configs, key=[\"n_rounded\"])"},
    {kernel_tuning, suits_all, when::once, "Keep the results of tuning between runs.",
     "@triton.autotune(configs, key, cache_results=True)"},
    {torch_compile, uses_pytorch, when::recurring,
     "torch.compile compiles again and again. Compile for changing shapes, and see the causes with "
     "TORCH_LOGS=recompiles.",
     "model = torch.compile(model, dynamic=True)"},
    {torch_compile, uses_pytorch, when::once, "Keep what was compiled between runs.",
     "TORCHINDUCTOR_CACHE_DIR=/a/lasting/folder TORCHINDUCTOR_FX_GRAPH_CACHE=1"},
    {nvrtc_compile, uses_cupy, when::recurring,
     "Kernels are compiled again and again. Create RawKernel and ElementwiseKernel objects once, outside the loop, and "
     "put no changing numbers into their source.",
     "kernel = cupy.RawKernel(source, \"name\")    # before the loop"},
    {nvrtc_compile, uses_cupy, when::once, "Keep CuPy's cache of compiled kernels between runs.",
     "CUPY_CACHE_DIR=/a/lasting/folder"},
    {nvrtc_compile, uses_pytorch, when::recurring,
     "cuDNN compiles kernels for each new shape, above all for attention. Let another kernel compute attention, or pad "
     "inputs to a few sizes.",
     "torch.backends.cuda.enable_cudnn_sdp(False)"},
    {nvrtc_compile, uses_pytorch, when::once,
     "cuDNN compiles kernels for each new shape. Run each shape once before the loop.", "model(example_batch)"},
    {nvrtc_compile, suits_all, when::recurring, "Compile each source once, and keep the module.", {}},
    {nvrtc_compile,
     suits_all,
     when::once,
     "Compile before the run: store the result of nvrtcGetCUBIN, or build with nvcc.",
     {}},
    {numba_compile, suits_all, when::recurring,
     "Numba compiles for each new combination of argument types. Keep the types equal, or declare the signature.",
     "@cuda.jit(\"void(float32[:], int64)\")"},
    {numba_compile, suits_all, when::once, "Keep what was compiled between runs.", "@cuda.jit(cache=True)"},
    {extension_build, suits_all, when::always, "Build the extension before the run, or keep its folder.",
     "TORCH_EXTENSIONS_DIR=/a/lasting/folder"},
    {xla_compile, uses_jax, when::recurring,
     "Each new shape is compiled. Pad arrays to a few sizes, and mark only arguments as static that rarely change.",
     "x = jnp.pad(x, (0, -x.shape[0] % 128))"},
    {xla_compile, uses_jax, when::once, "Keep what was compiled between runs.",
     "jax.config.update(\"jax_compilation_cache_dir\", \"/a/lasting/folder\")"},
    {jax_trace, uses_jax, when::recurring,
     "A function is traced again and again. Call jax.jit once, outside the loop, with the same function object, and "
     "keep "
     "shapes and static arguments equal.",
     "step = jax.jit(step)    # before the loop"},
    {graph_capture, uses_pytorch, when::recurring, "Capture one graph for each shape, before the loop, and replay it.",
     "g = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(g): y = model(static_x)\ng.replay()"},
    {graph_capture, suits_all, when::recurring, "Update the instantiated graph instead of instantiating it anew.",
     "cudaGraphExecUpdate(exec, graph, &info)"},
    {importing, uses_python, when::recurring, "Import modules at the top of the program, not inside the loop.", {}},
    {checkpoint_load, uses_pytorch, when::always, "Map the file instead of reading it, and load onto the GPU.",
     "torch.load(path, mmap=True, map_location=\"cuda\")"},
    {checkpoint_save, uses_pytorch, when::recurring, "Save on another thread, from a copy in pinned memory.",
     "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)"},
    {data_start, uses_loader, when::recurring, "The workers are started anew in each epoch. Keep them.",
     "DataLoader(..., persistent_workers=True)"},

    // Launches.
    {kernel_launch, uses_compile, when::always, "The GPU waits for launches. Let torch.compile record CUDA graphs.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {kernel_launch, uses_pytorch, when::always,
     "The GPU waits for launches. Compile the model into CUDA graphs, or use larger batches.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {kernel_launch, uses_cupy, when::always,
     "The GPU waits for launches. Fuse element-wise operations, or capture a CUDA graph.",
     "@cupy.fuse()\ndef f(x, y): ..."},
    {kernel_launch, uses_jax, when::always,
     "The GPU waits for launches. Put the whole step, or several steps, into one jax.jit.",
     "step = jax.jit(step)    # or jax.lax.scan over several steps"},
    {kernel_launch, uses_numba, when::always, "The GPU waits for launches. Do more work in each kernel.", {}},
    {kernel_launch, suits_all, when::always,
     "The GPU waits for launches. Capture the loop's kernels in a CUDA graph, or do more work in each.",
     "cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal); ...; cudaGraphLaunch(exec, stream)"},
    {dispatcher, uses_compile, when::always, "The GPU waits for the dispatcher. Let torch.compile record CUDA graphs.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {dispatcher, uses_pytorch, when::always,
     "The GPU waits for the dispatcher. Compile the model, or use larger batches.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {dispatcher, uses_cupy, when::always,
     "The GPU waits for CuPy's launches. Fuse element-wise operations, or write one kernel.",
     "@cupy.fuse()\ndef f(x, y): ..."},
    {dispatcher, uses_jax, when::always, "The GPU waits for JAX's dispatch. Put the whole step into one jax.jit.",
     "step = jax.jit(step)"},
    {framework_python, uses_eager_pytorch, when::always,
     "The GPU waits for Python code of the framework. Compile the model.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {framework_python, uses_jax, when::always,
     "The GPU waits for operations that are run one by one. Put them into one jax.jit.", "step = jax.jit(step)"},
    {framework_python, uses_cupy, when::always,
     "The GPU waits for Python. Fuse element-wise operations, or write one kernel.", "@cupy.fuse()\ndef f(x, y): ..."},
    {autograd, uses_eager_pytorch, when::always,
     "The GPU waits for the backward pass's launches. Compile the model, or use larger batches.",
     "model = torch.compile(model)"},
    {optimizer, uses_pytorch, when::always,
     "The GPU waits for the optimizer's loop over parameters. Update all of them in one kernel.",
     "torch.optim.AdamW(model.parameters(), fused=True)"},
    {collective_launch, uses_pytorch, when::always, "Put small tensors together into fewer collectives.",
     "DistributedDataParallel(model, bucket_cap_mb=100)"},
    {cublas_heuristics, uses_pytorch, when::always,
     "cuBLASLt chooses an algorithm at each call. CUDA graphs replay the choice.",
     "model = torch.compile(model, mode=\"reduce-overhead\")"},
    {cublas_heuristics, suits_all, when::always, "Ask for an algorithm once for each shape, and keep it.",
     "cublasLtMatmulAlgoGetHeuristic(...)    // once"},

    // Copies, waits and memory of the GPU.
    {copy_call, uses_pytorch, when::always,
     "Copies from pageable memory block the host. Pin the memory, and do not wait.",
     "DataLoader(..., pin_memory=True)\nx = x.to(\"cuda\", non_blocking=True)"},
    {copy_call, uses_cupy, when::always, "Copies from pageable memory block the host. Allocate the source pinned.",
     "a = cupyx.empty_pinned(shape, dtype)\nb.set(a, stream=stream)"},
    {copy_call, uses_no_framework, when::always,
     "Copies from pageable memory block the host. Allocate the source pinned.",
     "cudaMallocHost(&source, bytes); cudaMemcpyAsync(..., stream)"},
    {gpu_wait, uses_pytorch, when::recurring,
     "Read results less often: keep them on the GPU, and read them every N steps.",
     "total += loss.detach()    # total.item() every N steps"},
    {gpu_wait,
     uses_cupy,
     when::recurring,
     "Read results less often: no float(), .get() or synchronize() in the loop.",
     {}},
    {gpu_wait,
     uses_jax,
     when::recurring,
     "Read results less often: no float(), np.asarray() or block_until_ready() in the loop.",
     {}},
    {gpu_wait, suits_all, when::recurring, "Wait less often, or on CUDA events.", "cudaEventQuery(event)"},
    {gpu_allocation, uses_pytorch, when::recurring,
     "Blocks are allocated and freed by the driver. Let the allocator keep them: no empty_cache() in the loop.",
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {gpu_allocation, suits_all, when::recurring, "Allocate before the loop, or from a pool.",
     "cudaMallocAsync(&p, bytes, stream)"},
    {pinned_allocation, uses_pytorch, when::recurring,
     "Pinned memory is slow to allocate. Pin in the loader's own thread, and reuse buffers.",
     "DataLoader(..., pin_memory=True)"},
    {pinned_allocation,
     suits_all,
     when::recurring,
     "Pinned memory is slow to allocate. Allocate it before the loop.",
     {}},

    // Data.
    {data_wait, uses_loader, when::always,
     "The workers are too slow. Use more of them, and let them work further ahead.",
     "DataLoader(..., num_workers=os.cpu_count(), prefetch_factor=4, persistent_workers=True)"},
    {data_main, uses_pytorch, when::always, "The main process loads the data, while the GPU waits. Let workers do it.",
     "DataLoader(..., num_workers=8, persistent_workers=True, pin_memory=True)"},
    {data_collate,
     uses_workers,
     when::always,
     "Put samples together with less work: return equal tensors, or whole batches from the dataset (__getitems__).",
     {}},
    {data_collate, uses_loader, when::always, "Let workers put the samples together.",
     "DataLoader(..., num_workers=8)"},
    {data_worker, uses_loader, when::always, "Use more workers, or less work for each sample.",
     "DataLoader(..., num_workers=os.cpu_count())"},
    {tokenizer, uses_transformers, when::always,
     "Tokenize once, before the loop, with a fast tokenizer and in batches.",
     "AutoTokenizer.from_pretrained(name, use_fast=True)\ndataset.map(tokenize, batched=True, num_proc=8)"},
    {tokenizer, suits_all, when::always, "Tokenize once, before the loop, or in other processes.", {}},
    {media_decoding, uses_loader, when::always,
     "Decode and transform in workers, or on the GPU (torchvision.transforms.v2 on CUDA tensors, DALI).",
     "DataLoader(..., num_workers=8)"},
    {media_decoding, suits_all, when::always, "Decode ahead in other processes, or on the GPU (nvJPEG, DALI).", {}},
    {file_read, uses_loader, when::recurring, "Read in workers, ahead of the loop.", "DataLoader(..., num_workers=8)"},
    {file_read, suits_all, when::recurring, "Read ahead on another thread.", {}},
    {file_write, suits_all, when::recurring, "Write on another thread.", {}},
    {logging, uses_python, when::recurring, "Log every N steps, not in each.", "if step % 100 == 0: ..."},

    // The host itself.
    {cpu_compute, uses_pytorch, when::recurring, "Compute on the GPU what the GPU waits for, or ahead in workers.",
     "x = x.to(\"cuda\")    # before the arithmetic"},
    {cpu_compute, uses_cupy, when::recurring, "Compute with CuPy what NumPy computes while the GPU waits.",
     "x = cupy.asarray(x)"},
    {cpu_compute, suits_all, when::recurring, "Move it to the GPU, out of the loop, or to another thread.", {}},
    {page_fault, uses_pytorch, when::recurring, "New host memory is touched again and again. Reuse buffers.",
     "torch.add(a, b, out=buffer)"},
    {page_fault, suits_all, when::recurring, "New host memory is touched again and again. Reuse buffers.", {}},
    {memory_mapping, suits_all, when::recurring,
     "Host memory is returned to the system and taken again. Reuse buffers, or let malloc keep it.",
     "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1"},
    {allocation, suits_all, when::recurring, "Use a faster allocator, or allocate outside the loop.",
     "LD_PRELOAD=libjemalloc.so.2"},
    {garbage_collection, uses_python, when::recurring, "Exclude the objects created so far, and collect every N steps.",
     "gc.collect(); gc.freeze(); gc.disable()    # gc.collect() every N steps"},
    {gil, uses_python, when::recurring,
     "Move the other Python threads' work to processes, or to code that releases the GIL.",
     "multiprocessing.Process(target=work)"},
    {lock,
     suits_all,
     when::recurring,
     "Let the awaited thread work ahead (queue more than one item), or hold the lock for less time.",
     {}},
    {sleep, suits_all, when::always, "Remove the sleep, or wait for the event that it stands for.", {}},
    {network, suits_all, when::recurring, "Send and receive on another thread.", {}},
    {subprocess, suits_all, when::recurring, "Keep the process, and let it work ahead.", {}},
    {not_scheduled, uses_pytorch, when::recurring, "More threads than CPUs. Use fewer threads and workers.",
     "torch.set_num_threads(1)    # OMP_NUM_THREADS=1"},
    {not_scheduled, suits_all, when::recurring, "More threads than CPUs. Use fewer threads.", "OMP_NUM_THREADS=1"},
    {profiler, suits_all, when::recurring, "Record without the other profiler.", {}},
    {own_code, uses_python, when::recurring, "Move the line out of the loop, or to another process.", {}},
    {own_code, suits_all, when::recurring, "Move the line out of the loop, or to another thread.", {}},
};

}  // namespace remedy_table
}  // namespace

void note_frame(program_traits& traits, const host_frame& frame) {
  const bool python = frame.kind == trace::frame_kind::python;
  const std::string_view package = symbols::find_package(python ? frame.file : frame.module);
  const std::string_view module = python ? std::string_view{} : file_name(frame.module);
  traits.python = traits.python || python || matches_any(module, "python3*|libpython3*");
  traits.pytorch = traits.pytorch || package == "torch" || matches_any(module, "libtorch*.so|libc10*.so");
  traits.cupy = traits.cupy || package == "cupy" || package == "cupy_backends" || package == "cupyx";
  traits.jax = traits.jax || package == "jax" || package == "jaxlib";
  traits.numba = traits.numba || package == "numba" || package == "numba_cuda";
  traits.tensorflow = traits.tensorflow || package == "tensorflow";
  traits.transformers = traits.transformers || package == "transformers";
  if (package != "torch" || !python) return;
  const slashed_path path(frame.file);
  traits.data_loader = traits.data_loader || path.has("/utils/data/dataloader.py");
  traits.data_workers = traits.data_workers || path.has("/utils/data/_utils/worker.py");
  traits.compiled = traits.compiled || path.has("/_dynamo/") || path.has("/_inductor/");
}

void note_verdict(program_traits& traits, const host_verdict& verdict) {
  traits.data_workers =
      traits.data_workers || verdict.reason == host_reason::data_wait || verdict.reason == host_reason::data_worker;
  traits.data_loader = traits.data_loader || traits.data_workers || verdict.reason == host_reason::data_main;
}

std::optional<host_remedy> find_host_remedy(host_reason reason, const program_traits& traits, bool recurs) {
  const auto found = std::ranges::find_if(remedy_table::remedies, [&](const remedy_table::remedy_row& row) {
    return row.reason == reason && row.time != (recurs ? remedy_table::when::once : remedy_table::when::recurring) &&
           row.applies(traits);
  });
  return found == std::ranges::end(remedy_table::remedies) ? std::nullopt
                                                           : std::optional<host_remedy>({found->text, found->code});
}

}  // namespace sluice::metrics
