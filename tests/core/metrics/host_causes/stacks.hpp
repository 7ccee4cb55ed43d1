#pragma once

#include <string_view>
#include <vector>

#include "core/metrics/host_causes/classify.hpp"

/// Stacks of host threads as a debugger or a sampler shows them, innermost frame first.
namespace sluice::metrics::testing {

inline constexpr std::string_view site = "/opt/venv/lib/python3.12/site-packages/";

inline host_frame native(std::string_view module, std::string_view function = {}) {
  return {trace::frame_kind::native, function, module, {}, 0};
}
inline host_frame python(std::string_view file, std::string_view function, std::uint64_t line = 1) {
  return {trace::frame_kind::python, function, {}, file, line};
}

using stack = std::vector<host_frame>;

/// Returns the frames of `inner` followed by those of `outer`.
inline stack operator+(stack inner, const stack& outer) {
  inner.insert(inner.end(), outer.begin(), outer.end());
  return inner;
}

// Modules.
inline constexpr std::string_view libc = "/usr/lib/x86_64-linux-gnu/libc.so.6";
inline constexpr std::string_view interpreter = "/usr/bin/python3.12";
inline constexpr std::string_view libcuda = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
inline constexpr std::string_view cudart =
    "/opt/venv/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
inline constexpr std::string_view torch_cuda = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
inline constexpr std::string_view torch_cpu = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so";
inline constexpr std::string_view torch_python = "/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_python.so";
inline constexpr std::string_view cudnn_graph =
    "/opt/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn_graph.so.9";
inline constexpr std::string_view cudnn_engines =
    "/opt/venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn_engines_runtime_compiled.so.9";

// Files of PyTorch.
inline constexpr std::string_view module_py = "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py";
inline constexpr std::string_view dataloader_py =
    "/opt/venv/lib/python3.12/site-packages/torch/utils/data/dataloader.py";

/// The program: train.py calls the model in model.py.
inline stack program() {
  return {python("/home/me/nanoGPT/model.py", "CausalSelfAttention.forward", 64),
          python(module_py, "Module._call_impl", 1750), python("/home/me/nanoGPT/train.py", "<module>", 280)};
}

/// What a call from Python to an operator of PyTorch looks like between the operator and the interpreter
/// (pytorch/pytorch issue 43253).
inline stack operator_call(std::string_view binding) {
  return {native(torch_cpu, "c10::Dispatcher::call<at::Tensor, at::Tensor const&, at::Tensor const&>(...) const"),
          native(torch_python, binding), native(interpreter, "cfunction_call"),
          native(interpreter, "_PyEval_EvalFrameDefault")};
}

}  // namespace sluice::metrics::testing
