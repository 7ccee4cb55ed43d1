#include "core/metrics/host_causes/classify.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/core/metrics/host_causes/stacks.hpp"

// The stacks are written after real ones; each says where it was seen. "issue N" is one of pytorch/pytorch.
namespace sluice::metrics {
namespace {

using namespace sluice::metrics::testing;
using trace::host_state;
using enum host_reason;

host_verdict judge(const stack& frames, host_state state = host_state::running, std::int64_t system_call = -1) {
  return classify(std::span<const host_frame>(frames), state, system_call);
}
/// "reason of library".
std::string name(const host_verdict& verdict) {
  return std::string(get_name(verdict.reason)) + (verdict.library.empty() ? "" : " of ") + std::string(verdict.library);
}
std::string judged(const stack& frames, host_state state = host_state::running, std::int64_t system_call = -1) {
  return name(judge(frames, state, system_call));
}
/// The path of a file in site-packages. Frames do not own their texts, so it is kept.
std::string_view in_site(std::string_view file) {
  static std::set<std::string> kept;
  return *kept.insert(std::string(site) + std::string(file)).first;
}

// aten/src/ATen/native/cudnn/MHA.cpp: run_cudnn_SDP_fprop calls graph->build_plans(handle); cuDNN's libraries export no
// names for what they do inside, and their engines compile with NVRTC.
TEST(host_stacks, cudnn_attention_plans_are_told_from_other_plans) {
  const std::string_view nvrtc = in_site("nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const stack attention = stack{native(libc, "_int_malloc"),
                                native(nvrtc),
                                native(cudnn_engines),
                                native(cudnn_graph),
                                native(cudnn_graph, "cudnnBackendFinalize"),
                                native(torch_cuda, "cudnn_frontend::graph::Graph::build_plans(cudnnContext*, bool)"),
                                native(torch_cuda, "at::native::run_cudnn_SDP_fprop(long, long, at::Tensor const&)")} +
                          operator_call("torch::autograd::THPVariable_scaled_dot_product_attention") + program();
  const host_verdict verdict = judge(attention);
  EXPECT_EQ(name(verdict), "cudnn_attention_plan of cuDNN");
  EXPECT_EQ(attention[verdict.user_frame].line, 64U);
  EXPECT_TRUE(is_first_time(verdict.reason));

  const stack convolution =
      stack{native(cudnn_engines), native(cudnn_graph, "cudnnBackendFinalize"),
            native(torch_cuda, "cudnn_frontend::ExecutionPlanBuilder_v8::build()"),
            native(torch_cuda, "at::native::(anonymous namespace)::try_configs(std::vector<int>&)")} +
      operator_call("torch::autograd::THPVariable_conv2d") + program();
  EXPECT_EQ(judged(convolution), "cudnn_plan of cuDNN");
}

TEST(host_stacks, code_inside_cudnn_without_an_entry_point_builds_plans) {
  EXPECT_EQ(judged(stack{native(cudnn_engines), native(cudnn_graph)} + program()), "cudnn_plan of cuDNN");
}

// A plan that exists already is executed: a launch, although the same libraries are on the stack and the parameters of
// run_conv_plan name a type of cudnn_frontend.
TEST(host_stacks, executing_a_cudnn_plan_is_a_launch) {
  const stack frames =
      stack{native(libcuda), native(libcuda, "cuLaunchKernelEx"), native(cudnn_engines),
            native(cudnn_graph, "cudnnBackendExecute"),
            native(torch_cuda,
                   "at::native::(anonymous namespace)::run_conv_plan(cudnnContext*, at::Tensor const&, "
                   "cudnn_frontend::ExecutionPlan_v8 const&)")} +
      program();
  EXPECT_EQ(judged(frames), "kernel_launch of cuDNN");
}

// The stack of issue 122308: cuDNN 8.
TEST(host_stacks, cudnn_8_launches) {
  const std::string infer = "/home/mxb/3rdparty/libtorch201_cuda118/lib/libcudnn_cnn_infer.so.8";
  EXPECT_EQ(
      judged({native(libcuda), native(libcuda), native(infer),
              native(infer, "cudnn::cnn::EngineInterface::execute(cudnn::backend::VariantPack const&, CUstream_st*)"),
              native("/home/mxb/demo", "main")}),
      "kernel_launch of cuDNN");
}

// Conv_v8.cpp: get_plans_from_find.
TEST(host_stacks, the_benchmark_of_cudnn_has_its_own_reason) {
  const stack frames =
      stack{native(libcuda), native(libcuda, "cuEventSynchronize"), native(cudart, "cudaEventSynchronize"),
            native(torch_cuda,
                   "cudnn_frontend::time_sorted_plan<(cudnn_frontend::CudnnFindSamplingTechnique)0>("
                   "cudnnContext*)"),
            native(torch_cuda, "at::native::(anonymous namespace)::get_plans_from_find(cudnnContext*)")} +
      program();
  EXPECT_EQ(judged(frames), "cudnn_benchmark of cuDNN");
}

TEST(host_stacks, cublas_asks_its_heuristics_and_creates_handles) {
  const std::string_view lt = in_site("nvidia/cublas/lib/libcublasLt.so.12");
  const std::string_view cublas = in_site("nvidia/cublas/lib/libcublas.so.12");
  EXPECT_EQ(judged(stack{native(lt), native(lt, "cublasLtMatmulAlgoGetHeuristic"),
                         native(torch_cuda, "bool at::cuda::blas::gemm_and_bias<float>(bool, bool)")} +
                   program()),
            "cublas_heuristics of cuBLAS");
  EXPECT_EQ(
      judged(stack{native(libcuda), native(libcuda, "cuModuleLoadDataEx"), native(cublas),
                   native(cublas, "cublasCreate_v2"), native(torch_cuda, "at::cuda::getCurrentCUDABlasHandle()")} +
             program()),
      "library_setup of cuBLAS");
  EXPECT_EQ(judged(stack{native(libcuda), native(libcuda, "cuLaunchKernelEx"), native(cudart), native(lt),
                         native(lt, "cublasLtMatmul")} +
                   program()),
            "kernel_launch of CUDA");
}

TEST(host_stacks, lazy_loading_is_told_from_launching) {
  const stack outer = stack{native(torch_cuda, "at::native::sin_kernel_cuda(at::TensorIteratorBase&)")} + program();
  EXPECT_EQ(judged(stack{native(libcuda), native(libcuda, "cuLibraryLoadData"), native(cudart),
                         native(cudart, "cudaLaunchKernel")} +
                   outer),
            "module_loading of CUDA driver");
  EXPECT_EQ(judged(stack{native(libcuda), native(libcuda, "cuLaunchKernel"), native(cudart),
                         native(cudart, "cudaLaunchKernel")} +
                   outer),
            "kernel_launch of CUDA");
  const std::string jit = "/usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.580.159";
  EXPECT_EQ(judged(stack{native(jit), native(libcuda), native(libcuda, "cuModuleLoadData")} + outer),
            "ptx_compile of CUDA driver");
}

// A program that contains CUDA's runtime (libcudart_static): its own frames are not its own code.
TEST(host_stacks, a_plain_cuda_program_launches_from_its_own_line) {
  const std::string app = "/home/me/app/build/solver";
  const stack frames{native(libcuda), native(libcuda, "cuLaunchKernel"), native(app, "cudaLaunchKernel"),
                     native(app, "step(float*, int)"), native(app, "main")};
  const host_verdict verdict = judge(frames);
  EXPECT_EQ(name(verdict), "kernel_launch of CUDA");
  EXPECT_EQ(verdict.user_frame, 3U);
  EXPECT_EQ(judged({native(app, "build_neighbours(float*)"), native(app, "main")}), "own_code");
}

// triton-lang/triton: python/triton/compiler/compiler.py, runtime/jit.py.
TEST(host_stacks, triton_compiles_by_its_own_files_only) {
  const std::string_view compiler = in_site("triton/compiler/compiler.py"), jit = in_site("triton/runtime/jit.py");
  EXPECT_EQ(judged(stack{native(in_site("triton/_C/libtriton.so")), python(compiler, "compile"),
                         python(jit, "JITFunction._do_compile"), python(jit, "JITFunction.run")} +
                   program()),
            "triton_compile of Triton");
  // ptxas is a child process (backends/nvidia/compiler.py).
  EXPECT_EQ(judged(stack{python("/usr/lib/python3.12/subprocess.py", "Popen._try_wait"),
                         python(in_site("triton/backends/nvidia/compiler.py"), "CUDABackend.make_cubin")} +
                       program(),
                   host_state::blocked, 61),
            "triton_compile of Triton");
  EXPECT_EQ(judged(stack{python(jit, "JITFunction.run")} + program()), "framework_python of Triton");
  EXPECT_EQ(
      judged(stack{python(compiler, "CompiledKernel.launch_metadata"), python(jit, "JITFunction.run")} + program()),
      "kernel_launch of Triton");
  EXPECT_EQ(judged({python("/home/me/src/triton_utils.py", "compile"), python("/home/me/train.py", "<module>")}),
            "own_code");
  EXPECT_EQ(judged({python("/home/me/triton/compiler/compiler.py", "compile")}), "own_code");
}

// Issues 143552 and 125263.
TEST(host_stacks, torch_compile_names_its_part) {
  const stack dynamo{python(in_site("torch/_dynamo/convert_frame.py"), "_compile.<locals>.compile_inner"),
                     python(in_site("torch/_dynamo/eval_frame.py"), "_TorchDynamoContext.__call__.<locals>._fn")};
  const stack inductor{python(in_site("torch/_inductor/scheduler.py"), "Scheduler.__init__"),
                       python(in_site("torch/_inductor/compile_fx.py"), "fx_codegen_and_compile"),
                       python(in_site("torch/_functorch/aot_autograd.py"), "aot_module_simplified")};
  EXPECT_EQ(judged(inductor + dynamo + program()), "torch_compile of TorchInductor");
  EXPECT_EQ(judged(dynamo + program()), "torch_compile of TorchDynamo");
  // A compiled model that runs has eval_frame.py and generated code on its stack, too.
  EXPECT_EQ(judged(stack{python("/tmp/torchinductor_me/ab/cabc.py", "call"),
                         python(in_site("torch/_inductor/output_code.py"), "CompiledFxGraph.__call__"),
                         python(in_site("torch/_dynamo/eval_frame.py"), "_TorchDynamoContext.__call__.<locals>._fn")} +
                   program()),
            "framework_python of PyTorch");
}

// A call of NVRTC that was recorded in Python's stacks only: the library that called NVRTC is the one to name.
TEST(host_stacks, what_cudnn_compiles_is_a_plan) {
  const host_frame compile = native({}, "nvrtcCompileProgram");
  EXPECT_EQ(judged(stack{compile, native(cudnn_engines)} + program()), "cudnn_plan of cuDNN");
  EXPECT_EQ(judged(stack{compile} + program()), "nvrtc_compile of NVRTC");
}

// cupy/cupy: cupy/cuda/compiler.py; numba-cuda; jax/_src/compiler.py and pjit.py.
TEST(host_stacks, other_compilers) {
  const stack mine{python("/home/me/gmm.py", "main", 30)};
  EXPECT_EQ(judged(stack{native("/usr/local/cuda/lib64/libnvrtc.so.13"),
                         native("/usr/local/cuda/lib64/libnvrtc.so.13", "nvrtcCompileProgram"),
                         python(in_site("cupy/cuda/compiler.py"), "_NVRTCProgram.compile")} +
                   mine),
            "nvrtc_compile of CuPy");
  EXPECT_EQ(judged(stack{python(in_site("numba/core/compiler_machinery.py"), "PassManager.run"),
                         python(in_site("numba/core/compiler.py"), "compile_extra")} +
                   mine),
            "numba_compile of Numba");
  const std::string_view pjit = in_site("jax/_src/pjit.py");
  EXPECT_EQ(judged(stack{native(in_site("jaxlib/libjax_common.so")),
                         python(in_site("jax/_src/compiler.py"), "backend_compile_and_load"),
                         python(in_site("jax/_src/interpreters/pxla.py"), "MeshComputation.compile"),
                         python(pjit, "_cpp_pjit.<locals>.cache_miss")} +
                   mine),
            "xla_compile of XLA");
  EXPECT_EQ(judged(stack{python(in_site("jax/_src/interpreters/mlir.py"), "lower_jaxpr_to_module"),
                         python(pjit, "_cpp_pjit.<locals>.cache_miss")} +
                   mine),
            "jax_trace of JAX");
}

// Issue 52916, and NVIDIA/nccl.
TEST(host_stacks, ranks_connect_once_and_launch_collectives) {
  const std::string_view nccl = in_site("nvidia/nccl/lib/libnccl.so.2");
  EXPECT_EQ(judged(stack{native(libc, "accept"), native(nccl), native(nccl, "ncclCommInitRankConfig"),
                         native(torch_cuda, "c10d::ProcessGroupNCCL::initNCCLComm(std::string const&)")} +
                       program(),
                   host_state::blocked, 43),
            "nccl_start of NCCL");
  EXPECT_EQ(judged(stack{native(nccl, "ncclGroupEnd"),
                         native(torch_cuda, "c10d::ProcessGroupNCCL::allreduce_impl(at::Tensor&)")} +
                   program()),
            "collective_launch of NCCL");
}

// Issues 95944 and 170860.
TEST(host_stacks, reading_a_value_waits_for_the_gpu) {
  const stack frames =
      stack{native(libcuda), native(libcuda), native(cudart), native(cudart, "cudaMemcpyAsync"),
            native(torch_cuda,
                   "at::native::_local_scalar_dense_cuda(at::Tensor const&)::{lambda()#1}::operator()() "
                   "const [clone .isra.100]")} +
      operator_call("torch::autograd::THPVariable_item(_object*, _object*)") + program();
  EXPECT_EQ(judged(frames), "gpu_wait of PyTorch");
  // A copy alone.
  EXPECT_EQ(judged(stack{native(libcuda), native(cudart, "cudaMemcpyAsync"),
                         native(torch_cuda, "at::native::copy_kernel_cuda(at::TensorIterator&, bool)")} +
                   program()),
            "copy_call of CUDA");
  EXPECT_EQ(judged(stack{native(libc, "clock_gettime"), native(libcuda), native(cudart, "cudaDeviceSynchronize")} +
                   program()),
            "gpu_wait of CUDA");
}

TEST(host_stacks, an_operator_costs_the_dispatcher_the_allocator_or_the_launch) {
  const stack call = operator_call("torch::autograd::THPVariable_add(_object*, _object*, _object*)") + program();
  EXPECT_EQ(judged(call), "dispatcher of PyTorch");
  EXPECT_EQ(judged(stack{native(libc, "_int_malloc"), native(libc, "malloc"),
                         native("/usr/lib/libstdc++.so.6", "operator new(unsigned long)")} +
                   call),
            "allocation of malloc");
  EXPECT_EQ(judged(stack{native(torch_cpu, "at::native::AVX2::vectorized_loop2d(char**)"),
                         native(torch_cpu, "at::native::add_kernel(at::TensorIteratorBase&)")} +
                   call),
            "cpu_compute of PyTorch");
}

// torch/csrc/autograd/engine.cpp: the thread of a device.
TEST(host_stacks, the_backward_pass_runs_on_the_engines_thread) {
  const stack engine{native(torch_cpu, "torch::autograd::Engine::evaluate_function(std::shared_ptr<GraphTask>&)"),
                     native(torch_cpu, "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&)"),
                     native(libc, "start_thread")};
  EXPECT_EQ(judged(engine), "autograd of PyTorch");
  EXPECT_EQ(judged(stack{native(libcuda, "cuLaunchKernel"), native(cudart, "cudaLaunchKernel")} + engine),
            "kernel_launch of CUDA");
  // Meanwhile the thread that called backward() waits for it.
  EXPECT_EQ(judged(stack{native(libc, "__futex_abstimed_wait_cancelable64"),
                         native(torch_cpu,
                                "torch::autograd::Engine::execute_with_graph_task(std::shared_ptr<GraphTask> const&)"),
                         native(torch_python, "THPEngine_run_backward(_object*, _object*, _object*)"),
                         python(in_site("torch/autograd/graph.py"), "_engine_run_backward")} +
                       program(),
                   host_state::blocked, 202),
            "autograd of PyTorch");
}

TEST(host_stacks, an_optimizers_loop_owns_its_launches_but_not_the_programs_closure) {
  const stack loop{python(in_site("torch/optim/adamw.py"), "_single_tensor_adamw"),
                   python(in_site("torch/optim/optimizer.py"), "Optimizer.profile_hook_step.<locals>.wrapper")};
  EXPECT_EQ(judged(stack{native(libcuda, "cuLaunchKernel")} + loop + program()), "optimizer of PyTorch");
  const stack closure{native(libcuda, "cuLaunchKernel"), python("/home/me/train.py", "closure")};
  EXPECT_EQ(judged(closure + stack{python(in_site("torch/optim/lbfgs.py"), "LBFGS.step")} + program()),
            "kernel_launch of CUDA");
  EXPECT_EQ(judged(stack{python(in_site("torch/optim/lr_scheduler.py"), "LRScheduler.step")} + program()),
            "framework_python of PyTorch");
}

// torch/utils/data/dataloader.py and _utils/{fetch,worker,pin_memory,collate}.py.
TEST(host_stacks, the_data_loader_waits_or_works) {
  const stack next{python(dataloader_py, "_BaseDataLoaderIter.__next__")};
  const stack queue{python("/usr/lib/python3.12/selectors.py", "PollSelector.select"),
                    python("/usr/lib/python3.12/multiprocessing/connection.py", "wait"),
                    python("/usr/lib/python3.12/multiprocessing/queues.py", "Queue.get")};
  EXPECT_EQ(judged(queue +
                       stack{python(dataloader_py, "_MultiProcessingDataLoaderIter._try_get_data"),
                             python(dataloader_py, "_MultiProcessingDataLoaderIter._next_data")} +
                       next + program(),
                   host_state::blocked, 7),
            "data_wait of DataLoader");
  const stack fetch{python("/home/me/nanoGPT/data.py", "Images.__getitem__", 12),
                    python(in_site("torch/utils/data/_utils/fetch.py"), "_MapDatasetFetcher.fetch")};
  const stack decode{native(in_site("PIL/_imaging.cpython-312-x86_64-linux-gnu.so")),
                     python(in_site("PIL/Image.py"), "Image.resize")};
  const stack in_main =
      decode + fetch + stack{python(dataloader_py, "_SingleProcessDataLoaderIter._next_data")} + next + program();
  EXPECT_EQ(judged(in_main), "data_main of DataLoader");
  EXPECT_EQ(in_main[judge(in_main).user_frame].line, 12U);
  // A forked worker still has the frames that started it.
  EXPECT_EQ(judged(decode + fetch +
                   stack{python(in_site("torch/utils/data/_utils/worker.py"), "_worker_loop"),
                         python("/usr/lib/python3.12/multiprocessing/popen_fork.py", "Popen._launch"),
                         python(dataloader_py, "_MultiProcessingDataLoaderIter.__init__"),
                         python(dataloader_py, "DataLoader.__iter__")} +
                   program()),
            "data_worker of DataLoader");
  EXPECT_EQ(judged(stack{python("/usr/lib/python3.12/multiprocessing/popen_fork.py", "Popen._launch"),
                         python(dataloader_py, "_MultiProcessingDataLoaderIter.__init__"),
                         python(dataloader_py, "DataLoader._get_iterator")} +
                       program(),
                   host_state::in_kernel, 56),
            "data_start of DataLoader");
  EXPECT_EQ(judged(queue + stack{python(in_site("torch/utils/data/_utils/pin_memory.py"), "_pin_memory_loop")},
                   host_state::blocked, 7),
            "pin_thread of DataLoader");
  EXPECT_EQ(judged({python(in_site("torch/utils/data/_utils/collate.py"), "collate_tensor_fn")}),
            "data_collate of DataLoader");
  EXPECT_EQ(judged(decode + program()), "media_decoding of Pillow");
  // An own class of that name, and an own file.
  EXPECT_EQ(judged({python("/home/me/utils/data/dataloader.py", "DataLoader._try_get_data")}), "own_code");
}

TEST(host_stacks, a_progress_bar_around_a_loader_is_not_logging) {
  const stack bar{python(in_site("tqdm/std.py"), "tqdm.__iter__")};
  EXPECT_EQ(judged(stack{python(dataloader_py, "_MultiProcessingDataLoaderIter._try_get_data")} + bar + program(),
                   host_state::blocked, 7),
            "data_wait of DataLoader");
  EXPECT_EQ(judged(stack{python("/home/me/train.py", "batches", 5)} + bar + program()), "own_code");
  EXPECT_EQ(judged(stack{python(in_site("tqdm/std.py"), "tqdm.refresh")} + bar + program()), "logging of tqdm");
}

TEST(host_stacks, tokenizers_and_checkpoints) {
  const stack slow{python(in_site("transformers/tokenization_utils_base.py"), "PreTrainedTokenizerBase.__call__")};
  EXPECT_EQ(judged(stack{native(in_site("tokenizers/tokenizers.abi3.so"))} + slow + program()),
            "tokenizer of tokenizers");
  EXPECT_EQ(judged(slow + program()), "tokenizer of Transformers");
  const std::string_view serialization = in_site("torch/serialization.py");
  EXPECT_EQ(
      judged(stack{native(libc, "read"), python(serialization, "_load"), python(serialization, "load")} + program(),
             host_state::in_kernel, 0),
      "checkpoint_load of PyTorch");
  EXPECT_EQ(
      judged(stack{python(serialization, "_save"), python(serialization, "save")} + program(), host_state::blocked, 1),
      "checkpoint_save of PyTorch");
}

// Python/gc.c; Python/ceval_gil.c; issue 119262.
TEST(host_stacks, pythons_runtime_interrupts_whatever_ran) {
  EXPECT_EQ(judged(stack{native(interpreter, "visit_decref"), native(interpreter, "gc_collect_main.constprop.0"),
                         native(interpreter, "_PyEval_EvalFrameDefault")} +
                   program()),
            "garbage_collection of Python");
  EXPECT_EQ(judged(stack{native(libc, "pthread_cond_timedwait"), native(interpreter, "take_gil"),
                         native(interpreter, "PyEval_RestoreThread"),
                         native(torch_python, "torch::autograd::THPVariable_add(_object*)")} +
                       program(),
                   host_state::blocked, 202),
            "gil of Python");
  // The program may have a function of that name.
  EXPECT_EQ(judged({native("/home/me/app", "gc_collect_main")}), "own_code");
}

TEST(host_stacks, importing_ends_where_the_program_runs_a_function) {
  const stack importlib{python("<frozen importlib._bootstrap>", "_call_with_frames_removed"),
                        python("<frozen importlib._bootstrap>", "_find_and_load")};
  EXPECT_EQ(judged(stack{python(in_site("torch/__init__.py"), "<module>")} + importlib + program()),
            "import of Python");
  EXPECT_EQ(judged(stack{python("/home/me/settings.py", "<module>")} + importlib + program()), "import of Python");
  // A module that trains when it is imported.
  EXPECT_EQ(judged(stack{python("/home/me/run.py", "train"), python("/home/me/run.py", "<module>")} + importlib),
            "own_code");
  EXPECT_EQ(judged(stack{native(libcuda, "cuLaunchKernel"), python("/home/me/run.py", "train"),
                         python("/home/me/run.py", "<module>")} +
                   importlib),
            "kernel_launch of CUDA");
}

TEST(host_stacks, a_system_call_names_what_a_bare_line_waits_for) {
  EXPECT_EQ(judged(program(), host_state::in_kernel, 17), "file_read");
  EXPECT_EQ(judge(program(), host_state::in_kernel, 17).system_call, "pread64");
  EXPECT_EQ(judged(program(), host_state::blocked, 202), "lock");
  EXPECT_EQ(judged(program(), host_state::blocked, 230), "sleep");
  EXPECT_EQ(judged(program(), host_state::blocked, 232), "network");
  EXPECT_EQ(judged(program(), host_state::blocked, 61), "subprocess");
  EXPECT_EQ(judged(program(), host_state::in_kernel, 28), "memory_mapping");
  EXPECT_EQ(judged({}, host_state::blocked, 202), "lock");
  // ioctl is how the driver talks to the GPU, and says nothing.
  EXPECT_EQ(judged(stack{native(libcuda), native(libcuda, "cuLaunchKernel")} + program(), host_state::in_kernel, 16),
            "kernel_launch of CUDA");
}

TEST(host_stacks, an_unknown_system_call_is_told_by_the_c_librarys_function) {
  const stack waits =
      stack{native(libc, "__futex_abstimed_wait_common"), native(libc, "pthread_cond_wait@@GLIBC_2.3.2"),
            native(torch_cpu, "c10::ThreadPool::waitWorkComplete()")} +
      program();
  EXPECT_EQ(judged(waits, host_state::blocked), "lock");
  EXPECT_EQ(judged(waits, host_state::running), "dispatcher of PyTorch");
  EXPECT_EQ(
      judged(stack{native(libc, "__libc_read"), native(interpreter, "_Py_read")} + program(), host_state::in_kernel),
      "file_read");
  // A function of the program may be named like one of the C library.
  EXPECT_EQ(judged({native("/home/me/app", "read"), native("/home/me/app", "main")}, host_state::blocked), "own_code");
}

TEST(host_stacks, the_kernel_without_a_system_call_is_a_page_fault_where_memory_is_touched) {
  EXPECT_EQ(judged(stack{native(libc, "__memset_avx2_unaligned_erms")} + program(), host_state::in_kernel),
            "page_fault");
  EXPECT_EQ(judged({native(libc, "unknown")}, host_state::in_kernel), "system_code");
}

TEST(host_stacks, a_thread_without_a_cpu_is_not_scheduled_whatever_it_ran) {
  const stack frames = stack{native(cudnn_engines), native(cudnn_graph, "cudnnBackendFinalize")} + program();
  const host_verdict verdict = judge(frames, host_state::runnable);
  EXPECT_EQ(verdict.reason, not_scheduled);
  EXPECT_EQ(frames[verdict.user_frame].line, 64U);
}

TEST(host_stacks, without_a_rule_the_place_is_told_and_is_no_reason) {
  const host_verdict line = judge(stack{native(interpreter, "_PyEval_EvalFrameDefault")} + program());
  EXPECT_EQ(line.reason, own_code);
  EXPECT_EQ(line.frame, 1U);
  EXPECT_EQ(judged(stack{python("/usr/lib/python3.12/random.py", "Random.choice")} + program()), "own_code");
  EXPECT_EQ(judged(stack{python(in_site("einops/einops.py"), "rearrange")} + program()), "package_code of einops");
  EXPECT_EQ(judged({native("/usr/lib/x86_64-linux-gnu/libfoo.so.3", "bar")}), "package_code of libfoo");
  EXPECT_EQ(judged(stack{native(libcuda), native(libcuda, "cuCtxGetCurrent")} + program()),
            "cuda_driver of CUDA driver");
  EXPECT_EQ(judged({}), "unsampled");
  for (const host_reason each : {own_code, package_code, cuda_driver, native_code, system_code, mixed, unsampled}) {
    EXPECT_TRUE(is_catch_all(each)) << get_name(each);
    EXPECT_FALSE(is_first_time(each)) << get_name(each);
  }
}

TEST(host_stacks, a_recorder_or_profiler_counts_only_where_it_is_innermost) {
  const std::string capture = "/opt/sluice/libsluice_capture.so";
  EXPECT_EQ(judged(stack{native(capture, "emit"), native(libcuda), native(libcuda, "cuLaunchKernel")} + program()),
            "profiler of Sluice");
  EXPECT_EQ(judged(stack{native(libcuda, "cuMemAlloc_v2"), native(capture, "cuMemAlloc_v2")} + program()),
            "gpu_allocation of CUDA driver");
}

TEST(host_stacks, a_source_checkout_of_pytorch_is_pytorch) {
  EXPECT_EQ(judged(stack{python("/home/me/pytorch/torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch")} +
                   program()),
            "data_main of DataLoader");
}

TEST(host_reasons, have_one_name_and_words) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < host_reason_count; ++i) {
    const auto reason = static_cast<host_reason>(i);
    EXPECT_TRUE(names.insert(get_name(reason)).second) << get_name(reason);
    EXPECT_FALSE(get_words(reason).empty());
    EXPECT_FALSE(is_catch_all(reason) && is_first_time(reason)) << get_name(reason);
  }
}

// Every reason can be reached: by a rule, by a system call, or by code.
TEST(host_rules, name_every_reason_and_no_catch_all) {
  std::set<host_reason> reached{cudnn_attention_plan, page_fault,  lock,        sleep,       not_scheduled, own_code,
                                package_code,         cuda_driver, native_code, system_code, mixed,         unsampled};
  const auto add = [&](std::span<const frame_rule> rules) {
    for (const frame_rule& each : rules) {
      reached.insert(each.reason);
      EXPECT_FALSE(is_catch_all(each.reason));
      EXPECT_FALSE(each.module.empty() && each.function.empty() && each.file.empty()) << "a rule that matches all";
      EXPECT_TRUE(each.file.empty() || each.module.empty()) << "a frame is native or of Python";
    }
  };
  add(get_work_rules());
  add(get_passing_rules());
  for (std::int64_t number = 0; number < 512; ++number)
    if (const system_call_rule* const rule = find_system_call(number)) reached.insert(rule->reason);
  for (std::size_t i = 0; i < host_reason_count; ++i)
    EXPECT_TRUE(reached.contains(static_cast<host_reason>(i))) << get_name(static_cast<host_reason>(i));
  EXPECT_EQ(find_system_call(-1), nullptr);
  EXPECT_EQ(find_system_call(16), nullptr);
  EXPECT_EQ(find_system_call(99999), nullptr);
}

}  // namespace
}  // namespace sluice::metrics
