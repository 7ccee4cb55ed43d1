#include "core/metrics/host_causes/host_rules.hpp"

#include <algorithm>
#include <array>

#include "core/metrics/host_causes/patterns.hpp"

namespace sluice::metrics {
namespace {

/// The tables. A namespace of their own keeps the short names of reasons out of other files, if files are compiled
/// together.
namespace rule_tables {

using enum host_reason;

// Names were read in the sources and the dynamic symbol tables of: PyTorch 2.11, cuDNN 9, cuBLAS, NVRTC, NCCL and the
// runtime of CUDA 13, Triton 3, CuPy 14, JAX 0.11, CPython 3.8 to 3.13. NVIDIA's libraries have no symbols beside their
// exported ones, so what happens inside them is named by the call that entered them.
constexpr frame_rule work_rules[] = {
    // Python's runtime: whatever was running, this is why it stopped. (Modules/gcmodule.c, Python/gc.c, ceval_gil.c)
    {.reason = garbage_collection,
     .library = "Python",
     .module = "python*|libpython*",
     .function = "gc_collect_*|collect_with_callback*|_PyGC_Collect*|PyGC_Collect|_Py_RunGC*"},
    {.reason = gil,
     .library = "Python",
     .module = "python*|libpython*",
     .function = "take_gil*|PyEval_RestoreThread|PyEval_AcquireThread|PyGILState_Ensure|_PyThreadState_Attach"},

    // cuDNN: plans and benchmarks. (cudnn_graph's exports; aten/src/ATen/native/cudnn/{Conv_v8,MHA}.cpp; cudnn-frontend)
    {.reason = cudnn_benchmark,
     .library = "cuDNN",
     .function = "cudnnFind*Algorithm*|cudnn_frontend::time_sorted_plan*|*get_plans_from_find*"},
    {.reason = cudnn_plan,
     .library = "cuDNN",
     .function = "cudnnBackendFinalize|cudnnBackendInitialize|cudnnGetConvolution*Algorithm_v7|"
                 "cudnn_frontend::ExecutionPlanBuilder_v8::*|cudnn_frontend::EngineHeuristicsBuilder_v8::*|"
                 "cudnn_frontend::EngineConfigGenerator::*|cudnn_frontend::graph::Graph::build_plans|"
                 "cudnn_frontend::graph::Graph::create_execution_plans|cudnn_frontend::graph::Graph::check_support|"
                 "cudnn_frontend::graph::Graph::build_operation_graph|cudnn_frontend::graph::Graph::validate|"
                 "*get_configs_from_heuristics*|*generate_and_filter_plans*"},

    // Compilers. Triton's compiler.py also holds what runs at each launch.
    {.reason = module_loading,
     .library = "Triton",
     .function = "_init_handles|load_binary",
     .file = "triton/compiler/compiler.py|triton/backends/nvidia/driver.py"},
    {.reason = kernel_launch,
     .library = "Triton",
     .function = "launch_metadata|runner|__getitem__",
     .file = "triton/compiler/compiler.py"},
    {.reason = kernel_tuning,
     .library = "Triton",
     .function = "_bench|benchmark|check_disk_cache|do_bench*",
     .file = "triton/runtime/autotuner.py|triton/testing.py"},
    {.reason = kernel_tuning,
     .library = "TorchInductor",
     .function = "autotune_to_one_config|benchmark_all_configs|coordinate_descent_tuning|bench|benchmark*|tune*",
     .file = "torch/_inductor/runtime/triton_heuristics.py|torch/_inductor/runtime/benchmarking.py|"
             "torch/_inductor/select_algorithm.py|torch/_inductor/autotune_process.py"},
    {.reason = triton_compile, .library = "Triton", .module = "libtriton.so"},
    {.reason = triton_compile,
     .library = "Triton",
     .file =
         "triton/compiler/*|triton/backends/nvidia/compiler.py|triton/backends/compiler.py|triton/runtime/build.py"},
    {.reason = triton_compile,
     .library = "Triton",
     .function = "_do_compile|compile|create_binder|compile_module_from_src|make_launcher",
     .file = "triton/runtime/jit.py|triton/backends/nvidia/driver.py"},
    {.reason = torch_compile,
     .library = "TorchInductor",
     .file = "torch/_inductor/graph.py|torch/_inductor/scheduler.py|torch/_inductor/async_compile.py|"
             "torch/_inductor/codecache.py|torch/_inductor/codegen/*|torch/_inductor/compile_worker/*|"
             "torch/_inductor/fx_passes/*|torch/_inductor/pattern_matcher.py|torch/_inductor/cpp_builder.py"},
    {.reason = torch_compile,
     .library = "TorchInductor",
     .function = "compile_fx*|_compile_fx*|fx_codegen_and_compile|codegen_and_compile|fw_compiler*|bw_compiler*|"
                 "inference_compiler*|precompile*|_precompile*|_make_launchers",
     .file = "torch/_inductor/compile_fx.py|torch/_inductor/runtime/triton_heuristics.py"},
    {.reason = torch_compile,
     .library = "AOTAutograd",
     .function = "aot_module_simplified|create_aot_dispatcher_function|_create_aot_dispatcher_function|"
                 "dispatch_and_compile|aot_dispatch_autograd|aot_dispatch_base",
     .file = "torch/_functorch/*"},
    {.reason = torch_compile,
     .library = "TorchDynamo",
     .file = "torch/_dynamo/convert_frame.py|torch/_dynamo/symbolic_convert.py|torch/_dynamo/output_graph.py"},
    {.reason = torch_compile,
     .library = "TorchScript",
     .function = "script|trace|trace_module|_trace_impl|script_impl|_script_impl",
     .file = "torch/jit/_script.py|torch/jit/_trace.py"},
    {.reason = extension_build,
     .library = "PyTorch",
     .function = "load|load_inline|_jit_compile|_write_ninja_file_and_build_library|_run_ninja_build",
     .file = "torch/utils/cpp_extension.py"},
    {.reason = numba_compile,
     .library = "Numba",
     .file = "numba/core/compiler*|numba/core/typed_passes.py|numba/core/typeinfer.py|numba/core/codegen.py|"
             "numba/cuda/compiler.py|numba/cuda/codegen.py|numba/cuda/cudadrv/nvvm.py|"
             "numba_cuda/numba/cuda/compiler.py|numba_cuda/numba/cuda/codegen.py|"
             "numba_cuda/numba/cuda/cudadrv/nvvm.py|llvmlite/*"},
    {.reason = numba_compile, .library = "Numba", .module = "libllvmlite.so"},
    {.reason = nvrtc_compile, .library = "CuPy", .file = "cupy/cuda/compiler.py|cupy/cuda/_compiler_cache.py"},
    {.reason = xla_compile,
     .library = "XLA",
     .function = "backend_compile*|compile_or_get_cached|_compile_and_*|_cache_read|_cache_write",
     .file = "jax/_src/compiler.py"},
    {.reason = xla_compile,
     .library = "XLA",
     .module = "xla_extension*|libjax_common.so|_jax.so|xla_cuda_plugin*|_pywrap_tensorflow_internal.so|"
               "libtensorflow_*",
     .function = "xla::*Compiler::*|xla::HloPassPipeline::*|xla::gpu::CompileTo*|llvm::*|mlir::*"},
    {.reason = jax_trace,
     .library = "JAX",
     .function = "_trace_for_jit|_create_pjit_jaxpr|trace_to_jaxpr*|jit_trace|jit_lower|_resolve_and_lower|"
                 "lower_sharding_computation|_cached_lowering_to_hlo|lower_jaxpr_to_*|jaxpr_subcomp",
     .file = "jax/_src/pjit.py|jax/_src/api.py|jax/_src/interpreters/*"},
    {.reason = nvrtc_compile,
     .library = "NVRTC",
     .function = "nvrtcCompileProgram|at::cuda::jit::jit_pwise_function*|torch::jit::fuser::cuda::*"},
    {.reason = nvrtc_compile, .library = "NVRTC", .module = "libnvrtc*"},
    {.reason = ptx_compile,
     .library = "CUDA driver",
     .module = "libnvidia-ptxjitcompiler*|libnvJitLink*|libnvidia-nvvm*"},
    {.reason = ptx_compile, .library = "CUDA driver", .function = "cuLinkAddData*|cuLinkComplete|nvJitLinkComplete"},

    // Start of CUDA's libraries. cuBLASLt is asked for an algorithm at each call of cublasLtMatmul by PyTorch.
    {.reason = cublas_heuristics, .library = "cuBLAS", .function = "cublasLt*AlgoGetHeuristic*|cublasLt*AlgoGetIds*"},
    {.reason = library_setup, .library = "cuBLAS", .function = "cublasCreate_v2|cublasLtCreate|cublasXtCreate"},
    {.reason = library_setup, .library = "cuDNN", .function = "cudnnCreate"},
    {.reason = library_setup, .library = "cuFFT", .function = "cufftPlan*|cufftMakePlan*|cufftXtMakePlan*|cufftCreate"},
    {.reason = library_setup, .library = "cuSOLVER", .function = "cusolverDnCreate|cusolverSpCreate"},
    {.reason = library_setup, .library = "cuSPARSE", .function = "cusparseCreate"},
    {.reason = library_setup, .library = "cuRAND", .function = "curandCreateGenerator*"},
    {.reason = nccl_start,
     .library = "NCCL",
     .function = "ncclCommInit*|pncclCommInit*|ncclGetUniqueId|pncclGetUniqueId|ncclCommSplit|pncclCommSplit|"
                 "c10d::ProcessGroupNCCL::initNCCLComm|c10d::NCCLComm::create*"},
    {.reason = nccl_start,
     .library = "torch.distributed",
     .function = "init_process_group|_new_process_group_helper|new_group|new_subgroups*|rendezvous|"
                 "_*rendezvous_handler|_create_c10d_store",
     .file = "torch/distributed/distributed_c10d.py|torch/distributed/rendezvous.py"},
    {.reason = cuda_start, .library = "CUDA driver", .function = "cuInit|cuDevicePrimaryCtxRetain|cuCtxCreate*"},
    {.reason = cuda_start, .library = "PyTorch", .function = "_lazy_init", .file = "torch/cuda/__init__.py"},
    {.reason = graph_capture,
     .library = "CUDA",
     .function = "cuGraphInstantiate*|cudaGraphInstantiate*|cuStreamEndCapture*|cudaStreamEndCapture*|"
                 "at::cuda::CUDAGraph::capture_end|at::cuda::CUDAGraph::instantiate"},
    {.reason = graph_capture,
     .library = "PyTorch",
     .function = "capture_begin|capture_end|make_graphed_callables|_record|record_function",
     .file = "torch/cuda/graphs.py|torch/_inductor/cudagraph_trees.py"},
    {.reason = module_loading,
     .library = "CUDA driver",
     .function = "cuModuleLoad*|cuLibraryLoad*|cuModuleGetFunction|cuLibraryGetKernel|cuLibraryGetModule|"
                 "cuKernelGetFunction|cuFuncLoad|cudaLibraryLoad*|cuModuleGetGlobal*|cuLibraryGetGlobal"},

    // cuDNN: launches. After module_loading, because cuDNN loads its kernels when they are first executed.
    {.reason = kernel_launch,
     .library = "cuDNN",
     .function = "cudnnBackendExecute|cudnnBackendPopulateCudaGraph|cudnnBackendUpdateCudaGraph|cudnnRNN*|"
                 "cudnnConvolution*|cudnnBatchNormalization*|cudnnNormalization*|cudnnPooling*|cudnnActivation*|"
                 "cudnnSoftmax*|cudnnCTCLoss*|cudnnSet*|cudnnCreate*Descriptor|cudnnDestroy*Descriptor|"
                 "cudnn_frontend::graph::Graph::execute"},
    {.reason = cudnn_plan, .library = "cuDNN", .module = "libcudnn_engines*|libcudnn_heuristic*|libcudnn_graph*"},

    // Weights.
    {.reason = checkpoint_load,
     .library = "PyTorch",
     .function = "load|_load|_legacy_load|load_tensor|persistent_load",
     .file = "torch/serialization.py"},
    {.reason = checkpoint_save,
     .library = "PyTorch",
     .function = "save|_save|_legacy_save",
     .file = "torch/serialization.py"},
    {.reason = checkpoint_load,
     .library = "PyTorch",
     .function = "load_state_dict",
     .file = "torch/nn/modules/module.py"},
    {.reason = checkpoint_load, .library = "PyTorch", .file = "torch/distributed/checkpoint/state_dict_loader.py"},
    {.reason = checkpoint_save, .library = "PyTorch", .file = "torch/distributed/checkpoint/state_dict_saver.py"},
    {.reason = checkpoint_load,
     .library = "safetensors",
     .function = "load_file|load_model|load",
     .file = "safetensors/*"},
    {.reason = checkpoint_save,
     .library = "safetensors",
     .function = "save_file|save_model|save",
     .file = "safetensors/*"},
    {.reason = checkpoint_load,
     .library = "Transformers",
     .function = "from_pretrained|load_state_dict|_load_state_dict*|_load_pretrained_model",
     .file = "transformers/modeling_utils.py|transformers/core_model_loading.py"},
    {.reason = checkpoint_load, .library = "Orbax", .function = "restore*|_restore*", .file = "orbax/checkpoint/*"},
    {.reason = checkpoint_save, .library = "Orbax", .function = "save*|_save*", .file = "orbax/checkpoint/*"},

    // Calls of CUDA that take their time. (A copy in _local_scalar_dense_cuda, which is `.item()`, waits.)
    {.reason = gpu_wait,
     .library = "PyTorch",
     .function = "at::native::_local_scalar_dense_cuda*|c10::cuda::memcpy_and_sync|"
                 "c10::cuda::device_synchronize|c10::cuda::stream_synchronize"},
    {.reason = gpu_wait,
     .library = "PyTorch",
     .function = "synchronize",
     .file = "torch/cuda/__init__.py|torch/cuda/streams.py"},
    {.reason = gpu_wait,
     .library = "CUDA",
     .function = "cuStreamSynchronize*|cuCtxSynchronize*|cuEventSynchronize*|cudaStreamSynchronize*|"
                 "cudaDeviceSynchronize|cudaEventSynchronize|cuMemcpyDtoH_v2*|cuMemcpyHtoD_v2*|cudaMemcpy|cuMemcpy"},
    {.reason = gpu_wait,
     .library = "JAX",
     .function = "block_until_ready|_value",
     .file = "jax/_src/array.py|jax/_src/api.py"},
    {.reason = pinned_allocation,
     .library = "CUDA driver",
     .function = "cuMemHostAlloc*|cuMemAllocHost*|cuMemFreeHost|cuMemHostRegister*|cuMemHostUnregister|"
                 "cudaHostAlloc|cudaMallocHost|cudaFreeHost|cudaHostRegister|cudaHostUnregister"},
    {.reason = gpu_allocation,
     .library = "CUDA driver",
     .function =
         "cuMemAlloc_v2*|cuMemAllocPitch*|cuMemAllocManaged|cuMemFree_v2*|cuMemCreate|cuMemMap|cuMemUnmap|"
         "cuMemSetAccess|cuMemRelease|cuMemAddressReserve|cudaMalloc|cudaMallocManaged|cudaMallocPitch|cudaFree"},

    // Data. The process that launches kernels waits for workers, or loads the data itself (num_workers=0). A worker that
    // was forked still has the frames that started it. (torch/utils/data/dataloader.py and _utils/)
    {.reason = pin_thread,
     .library = "DataLoader",
     .function = "_pin_memory_loop",
     .file = "torch/utils/data/_utils/pin_memory.py"},
    {.reason = data_collate, .library = "DataLoader", .file = "torch/utils/data/_utils/collate.py"},
    {.reason = data_worker,
     .library = "DataLoader",
     .function = "_worker_loop",
     .file = "torch/utils/data/_utils/worker.py"},
    {.reason = data_wait,
     .library = "DataLoader",
     .function = "_try_get_data|_get_data|_process_data|_try_put_index",
     .file = "torch/utils/data/dataloader.py"},
    {.reason = data_start,
     .library = "DataLoader",
     .function = "_get_iterator|__init__|_shutdown_workers|_reset",
     .file = "torch/utils/data/dataloader.py"},
    {.reason = data_main, .library = "DataLoader", .file = "torch/utils/data/_utils/fetch.py"},
    {.reason = data_main,
     .library = "DataLoader",
     .function = "_SingleProcessDataLoaderIter.*",
     .file = "torch/utils/data/dataloader.py"},
    {.reason = data_wait,
     .library = "DataLoader",
     .function = "_next_data|__next__",
     .file = "torch/utils/data/dataloader.py"},
    {.reason = data_wait, .library = "TensorFlow", .file = "tensorflow/python/data/ops/iterator_ops.py"},
    {.reason = tokenizer, .library = "tokenizers", .module = "tokenizers/*.so|tokenizers.*.so"},
    {.reason = tokenizer, .library = "tiktoken", .module = "_tiktoken*.so"},
    {.reason = tokenizer, .library = "SentencePiece", .module = "_sentencepiece*.so|libsentencepiece*"},
    {.reason = tokenizer, .library = "tokenizers", .file = "tokenizers/*"},
    {.reason = tokenizer,
     .library = "Transformers",
     .file = "transformers/tokenization_*|transformers/models/*/tokenization_*"},
    {.reason = media_decoding,
     .library = "Pillow",
     .module = "PIL/*.so|_imaging*.so|_imagingft*.so|libjpeg*|libpng*|libwebp*|libtiff*"},
    {.reason = media_decoding, .library = "OpenCV", .module = "cv2/*.so|cv2.*.so|libopencv_*"},
    {.reason = media_decoding,
     .library = "FFmpeg",
     .module = "libavcodec*|libavformat*|libavutil*|libswscale*|libswresample*"},
    {.reason = media_decoding, .library = "Pillow", .file = "PIL/*"},
    {.reason = media_decoding,
     .library = "torchvision",
     .file = "torchvision/transforms/*|torchvision/io/*|torchvision/datasets/*"},
    {.reason = media_decoding, .library = "torchaudio", .file = "torchaudio/*|librosa/*|soundfile.py"},
    {.reason = media_decoding, .library = "Albumentations", .file = "albumentations/*|imgaug/*"},
    {.reason = media_decoding,
     .library = "Transformers",
     .file = "transformers/image_processing_*|transformers/image_transforms.py"},

    // Files, terminals, other processes, networks, by the Python file that asks.
    {.reason = file_read,
     .library = "NumPy",
     .file = "numpy/lib/_npyio_impl.py|numpy/lib/npyio.py|numpy/lib/_format_impl.py|numpy/lib/format.py"},
    {.reason = file_read, .library = "h5py", .file = "h5py/*"},
    {.reason = file_read, .library = "pandas", .file = "pandas/io/*"},
    {.reason = file_read, .library = "Datasets", .file = "datasets/*", .reach = rule_reach::shallow},
    {.reason = logging,
     .library = "Python",
     .module = "python*|libpython*",
     .function = "builtin_print*|_io_TextIOWrapper_write*"},
    {.reason = logging, .library = "logging", .file = "logging/__init__.py|logging/handlers.py"},
    {.reason = logging,
     .library = "tqdm",
     .function =
         "update|refresh|display|format_meter|print_status|status_printer|fp_write|moveto|close|clear|write|__init__",
     .file = "tqdm/*"},
    {.reason = logging, .library = "Weights & Biases", .file = "wandb/*"},
    {.reason = logging, .library = "TensorBoard", .file = "torch/utils/tensorboard/*|tensorboard/*|tensorboardX/*"},
    {.reason = logging, .library = "Rich", .file = "rich/*|loguru/*", .reach = rule_reach::shallow},
    {.reason = subprocess, .library = "Python", .file = "subprocess.py"},
    {.reason = subprocess,
     .library = "Python",
     .file = "multiprocessing/connection.py|multiprocessing/queues.py|multiprocessing/popen_*|"
             "multiprocessing/pool.py|multiprocessing/synchronize.py|multiprocessing/managers.py"},
    {.reason = network,
     .library = "Python",
     .file = "socket.py|ssl.py|http/client.py|urllib/request.py|urllib3/*|requests/*|httpx/*|httpcore/*|aiohttp/*|"
             "huggingface_hub/file_download.py|botocore/*"},
    {.reason = profiler, .library = "torch.profiler", .file = "torch/profiler/*|torch/autograd/profiler.py"},

    {.reason = sleep, .library = "Python", .module = "python*|libpython*", .function = "time_sleep*|pysleep*"},
    {.reason = sleep,
     .library = {},
     .function = "nanosleep|__nanosleep|clock_nanosleep*|__clock_nanosleep*|usleep|std::this_thread::sleep_for*"},
    {.reason = optimizer,
     .library = "PyTorch",
     .file = "torch/optim/adam*|torch/optim/sgd.py|torch/optim/optimizer.py|"
             "torch/optim/rms*|torch/optim/ada*|torch/optim/radam.py|torch/optim/nadam.py|torch/optim/lbfgs.py|"
             "torch/optim/_*|torch/optim/muon.py|torch/optim/asgd.py|torch/optim/rprop.py|torch/optim/lion.py",
     .reach = rule_reach::shallow},
    {.reason = optimizer,
     .library = "PyTorch",
     .function = "clip_grad_norm_|clip_grad_value_|_get_total_norm|_clip_grads_with_norm_",
     .file = "torch/nn/utils/clip_grad.py"},
    {.reason = autograd,
     .library = "PyTorch",
     .function =
         "torch::autograd::Engine::execute*|torch::autograd::python::PythonEngine::execute*|THPEngine_run_backward"},
    {.reason = autograd, .library = "PyTorch", .function = "_engine_run_backward", .file = "torch/autograd/graph.py"},
    {.reason = importing,
     .library = "Python",
     .file = "<frozen importlib*|importlib/__init__.py|importlib/_bootstrap*|<frozen zipimport>",
     .reach = rule_reach::shallow},
    {.reason = importing,
     .library = "dynamic linker",
     .module = "libc.so*|libc-*|libdl*|ld-linux*|ld-2*",
     .function = "dlopen*|__dlopen*|_dl_open*|dl_open_worker*|_dl_map_object*|_dl_relocate_object*|_dl_catch_*"},
};

constexpr frame_rule passing_rules[] = {
    // Calls of CUDA.
    {.reason = kernel_launch,
     .library = "CUDA",
     .function = "cuLaunch*|cudaLaunch*|__cudaLaunch*|cuGraphLaunch*|cudaGraphLaunch*|cuMemset*|cudaMemset*|"
                 "cuEventRecord*|cudaEventRecord*|cuStreamWaitEvent*|cudaStreamWaitEvent*|cudaGetLastError|"
                 "cudaPeekAtLastError|__cudaPushCallConfiguration|__cudaPopCallConfiguration|"
                 "cuStreamIsCapturing*|cudaStreamIsCapturing*"},
    {.reason = copy_call, .library = "CUDA", .function = "cuMemcpy*|cudaMemcpy*"},
    {.reason = kernel_launch, .library = "cuBLAS", .module = "libcublas*"},
    {.reason = kernel_launch, .library = "cuDNN", .module = "libcudnn*"},
    {.reason = kernel_launch, .library = "cuFFT", .module = "libcufft*"},
    {.reason = kernel_launch, .library = "cuSOLVER", .module = "libcusolver*"},
    {.reason = kernel_launch, .library = "cuSPARSE", .module = "libcusparse*"},
    {.reason = kernel_launch, .library = "cuRAND", .module = "libcurand*"},
    {.reason = collective_launch, .library = "NCCL", .module = "libnccl*"},
    {.reason = collective_launch,
     .library = "torch.distributed",
     .function = "c10d::ProcessGroupNCCL::*|c10d::Reducer::*|c10d::ops::*"},
    {.reason = collective_launch,
     .library = "torch.distributed",
     .file = "torch/distributed/distributed_c10d.py|torch/distributed/_functional_collectives.py|torch/distributed/"
             "fsdp/*|torch/distributed/_composable/*|torch/nn/parallel/distributed.py"},
    {.reason = kernel_launch, .library = "Triton", .module = "__triton_launcher*|cuda_utils*"},
    {.reason = profiler, .library = "CUPTI", .module = "libcupti*"},
    {.reason = profiler, .library = "Sluice", .module = "libsluice_capture*"},
    {.reason = profiler,
     .library = "torch.profiler",
     .function = "libkineto::*|torch::profiler::*|torch::autograd::profiler::*"},

    // Work on the CPU, below an operator or a call of Python.
    {.reason = cpu_compute, .library = "OpenMP", .module = "libgomp*|libiomp*|libomp*"},
    {.reason = cpu_compute, .library = "BLAS", .module = "libmkl*|libopenblas*|libscipy_openblas*|libblis*"},
    {.reason = cpu_compute,
     .library = "PyTorch",
     .module = "libtorch_cpu.so",
     .function =
         "at::native::AVX*|at::native::DEFAULT::*|at::native::cpu*|at::native::*::cpu_kernel*|at::parallel_for*|"
         "at::internal::invoke_parallel*|mkldnn*|dnnl::*|fbgemm::*|*::DEFAULT::*|*::AVX2::*|*::AVX512::*"},
    {.reason = cpu_compute, .library = "NumPy", .module = "numpy/*.so|_multiarray_umath*"},
    {.reason = cpu_compute, .library = "SciPy", .module = "scipy/*.so"},
    {.reason = cpu_compute, .library = "pandas", .module = "pandas/*.so"},
    {.reason = cpu_compute, .library = "NumPy", .file = "numpy/*"},
    {.reason = cpu_compute, .library = "SciPy", .file = "scipy/*"},
    {.reason = cpu_compute, .library = "scikit-learn", .file = "sklearn/*"},
    {.reason = cpu_compute, .library = "pandas", .file = "pandas/*"},

    // Frameworks.
    {.reason = autograd,
     .library = "PyTorch",
     .function = "torch::autograd::Engine::*|torch::autograd::Node::*|torch::autograd::AccumulateGrad::*|"
                 "torch::autograd::generated::*|torch::autograd::InputBuffer::*|torch::autograd::PyNode::*"},
    {.reason = dispatcher, .library = "PyTorch", .module = "libtorch*|libc10*|libcaffe2*|libshm*|_C.cpython*"},
    {.reason = dispatcher, .library = "PyTorch", .function = "c10::*|at::*|torch::*"},
    {.reason = dispatcher, .library = "CuPy", .module = "cupy/*.so|cupy_backends/*.so|cupyx/*.so"},
    {.reason = dispatcher,
     .library = "JAX",
     .module = "xla_extension*|libjax_common.so|_jax.so|jaxlib/*.so|xla_cuda_plugin*|jax_plugins/*.so"},
    {.reason = dispatcher, .library = "TensorFlow", .module = "_pywrap_tensorflow*|libtensorflow*"},
    {.reason = dispatcher, .library = "Numba", .module = "numba/*.so|numba_cuda/*.so"},
    {.reason = dispatcher, .library = "CUDA Python", .module = "cuda/bindings/*.so|cuda/core/*.so"},
    {.reason = framework_python, .library = "Triton", .file = "triton/*"},
    {.reason = framework_python, .library = "PyTorch", .file = "torch/*|functorch/*|torchgen/*"},
    {.reason = framework_python, .library = "Lightning", .file = "lightning/*|pytorch_lightning/*|lightning_fabric/*"},
    {.reason = framework_python, .library = "Transformers", .file = "transformers/*"},
    {.reason = framework_python, .library = "Diffusers", .file = "diffusers/*"},
    {.reason = framework_python, .library = "Accelerate", .file = "accelerate/*"},
    {.reason = framework_python, .library = "DeepSpeed", .file = "deepspeed/*"},
    {.reason = framework_python, .library = "timm", .file = "timm/*"},
    {.reason = framework_python, .library = "torchvision", .file = "torchvision/*"},
    {.reason = framework_python,
     .library = "PyTorch Geometric",
     .file = "torch_geometric/*|torch_scatter/*|torch_sparse/*"},
    {.reason = framework_python, .library = "JAX", .file = "jax/*|jaxlib/*"},
    {.reason = framework_python, .library = "Flax", .file = "flax/*|haiku/*|equinox/*|optax/*"},
    {.reason = framework_python, .library = "CuPy", .file = "cupy/*|cupyx/*|cupy_backends/*"},
    {.reason = framework_python, .library = "Numba", .file = "numba/*|numba_cuda/*"},
    {.reason = framework_python, .library = "TensorFlow", .file = "tensorflow/*|keras/*"},

    // The allocator of the C library, and what programs put in its place.
    {.reason = allocation,
     .library = "malloc",
     .module = "libc.so*|libc-*|libstdc++*|libjemalloc*|libtcmalloc*|libmimalloc*",
     .function =
         "malloc|_int_malloc*|calloc|realloc|_int_realloc*|free|cfree*|_int_free*|malloc_consolidate*|sysmalloc*|"
         "systrim*|unlink_chunk*|posix_memalign|aligned_alloc|_mid_memalign*|_int_memalign*|operator new*|"
         "operator delete*"},
    {.reason = allocation, .library = "malloc", .module = "libjemalloc*|libtcmalloc*|libmimalloc*"},
};

// Numbers of x86-64 Linux: arch/x86/entry/syscalls/syscall_64.tbl. Ordered by number.
constexpr system_call_rule system_calls[] = {
    {0, file_read, "read"},
    {1, file_write, "write"},
    {2, file_read, "open"},
    {4, file_read, "stat"},
    {5, file_read, "fstat"},
    {6, file_read, "lstat"},
    {7, network, "poll"},
    {8, file_read, "lseek"},
    {9, memory_mapping, "mmap"},
    {10, memory_mapping, "mprotect"},
    {11, memory_mapping, "munmap"},
    {12, memory_mapping, "brk"},
    {17, file_read, "pread64"},
    {18, file_write, "pwrite64"},
    {19, file_read, "readv"},
    {20, file_write, "writev"},
    {21, file_read, "access"},
    {23, network, "select"},
    {25, memory_mapping, "mremap"},
    {26, file_write, "msync"},
    {28, memory_mapping, "madvise"},
    {35, sleep, "nanosleep"},
    {40, file_read, "sendfile"},
    {42, network, "connect"},
    {43, network, "accept"},
    {44, network, "sendto"},
    {45, network, "recvfrom"},
    {46, network, "sendmsg"},
    {47, network, "recvmsg"},
    {56, subprocess, "clone"},
    {57, subprocess, "fork"},
    {58, subprocess, "vfork"},
    {59, subprocess, "execve"},
    {61, subprocess, "wait4"},
    {74, file_write, "fsync"},
    {75, file_write, "fdatasync"},
    {77, file_write, "ftruncate"},
    {78, file_read, "getdents"},
    {82, file_write, "rename"},
    {87, file_write, "unlink"},
    {89, file_read, "readlink"},
    {202, lock, "futex"},
    {217, file_read, "getdents64"},
    {230, sleep, "clock_nanosleep"},
    {232, network, "epoll_wait"},
    {247, subprocess, "waitid"},
    {257, file_read, "openat"},
    {262, file_read, "newfstatat"},
    {267, file_read, "readlinkat"},
    {269, file_read, "faccessat"},
    {270, network, "pselect6"},
    {271, network, "ppoll"},
    {281, network, "epoll_pwait"},
    {288, network, "accept4"},
    {295, file_read, "preadv"},
    {296, file_write, "pwritev"},
    {299, network, "recvmmsg"},
    {307, network, "sendmmsg"},
    {326, file_read, "copy_file_range"},
    {327, file_read, "preadv2"},
    {332, file_read, "statx"},
    {435, subprocess, "clone3"},
    {437, file_read, "openat2"},
    {439, file_read, "faccessat2"},
    {441, network, "epoll_pwait2"},
    {449, lock, "futex_waitv"},
};

/// Functions of the C library that wait in a system call. (glibc: nptl/, sysdeps/unix/sysv/linux/)
struct waiting_function {
  std::string_view function;
  std::int64_t number;
};
constexpr waiting_function waiting_functions[] = {
    {"pthread_cond_*wait*|__pthread_cond_*wait*|__futex_abstimed_wait*|futex_wait*|__lll_lock_wait*|lll_lock_wait*|"
     "pthread_mutex_lock*|___pthread_mutex_lock|__pthread_mutex_lock*|sem_wait*|sem_timedwait*|sem_clockwait*|"
     "__new_sem_wait*|pthread_join*|__pthread_clockjoin_ex|pthread_rwlock_*lock*|__pthread_rwlock_*lock*",
     202},
    {"read|__read|__libc_read|__GI___libc_read|__read_nocancel", 0},
    {"pread|pread64|__pread64*|__libc_pread64", 17},
    {"open|open64|openat|openat64|__open*|__libc_open*", 257},
    {"write|__write|__libc_write|__GI___libc_write|__write_nocancel", 1},
    {"pwrite|pwrite64|__pwrite64*", 18},
    {"fsync", 74},
    {"poll|__poll|__GI___poll|ppoll", 7},
    {"select|__select|pselect", 23},
    {"epoll_wait*|epoll_pwait*", 232},
    {"recv|__libc_recv|recvfrom|recvmsg|__libc_recvmsg", 45},
    {"accept|accept4|__libc_accept", 43},
    {"connect|__libc_connect", 42},
    {"wait4|waitpid|__waitpid|__wait4|waitid|__waitid", 61},
    {"fork|__fork|vfork|__vfork|posix_spawn*|__spawnix", 57},
    {"mmap|mmap64|__mmap*", 9},
    {"munmap|__munmap", 11},
    {"madvise|__madvise", 28},
    {"brk|sbrk|__brk|__sbrk", 12},
};
static_assert(std::ranges::is_sorted(system_calls, {}, &system_call_rule::number));

}  // namespace rule_tables

}  // namespace

std::span<const frame_rule> get_work_rules() { return rule_tables::work_rules; }
std::span<const frame_rule> get_passing_rules() { return rule_tables::passing_rules; }

bool is_plumbing(std::string_view module_file) {
  return module_file.empty() || module_file.starts_with('[') ||
         matches_any(module_file,
                     "libc.so*|libc-*|libm.so*|libm-*|libdl*|libpthread*|librt*|ld-linux*|ld-2*|libstdc++*|"
                     "libgcc_s*|linux-vdso*|python*|libpython*|libffi*|_ctypes*|libtcmalloc*|libjemalloc*");
}

bool is_cuda_driver(std::string_view module_file, std::string_view bare_function) {
  return matches_any(module_file, "libcuda.so*|libcudart*|libcuda-*|libnvidia-*|libcudadebugger*") ||
         matches_any(bare_function, "libcudart_static_*|cudart::*|__cudart*");
}

std::int64_t find_call_number(std::string_view module_file, std::string_view function) {
  if (!matches_any(module_file, "libc.so*|libc-*|libpthread*")) return -1;
  const auto found = std::ranges::find_if(
      rule_tables::waiting_functions,
      [&](const rule_tables::waiting_function& each) { return matches_any(function, each.function); });
  return found == std::ranges::end(rule_tables::waiting_functions) ? -1 : found->number;
}

const system_call_rule* find_system_call(std::int64_t number) {
  const auto found = std::ranges::lower_bound(rule_tables::system_calls, number, {}, &system_call_rule::number);
  return found != std::ranges::end(rule_tables::system_calls) && found->number == number ? &*found : nullptr;
}

}  // namespace sluice::metrics
