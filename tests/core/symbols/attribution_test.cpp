#include "core/symbols/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/recordings/stacks.hpp"

namespace sluice::symbols {
namespace {

using testing::native;
using testing::python;
using frames = std::vector<testing::made_frame>;

const std::string packages = "/home/me/venv/lib/python3.12/site-packages/";
const std::string torch = packages + "torch/";
const std::string hugging = packages + "transformers/";
const auto main_line = python("<module>", "/home/me/train.py", 90);

/// Stacks of a recording, and their attribution.
class attribution_of_stacks : public ::testing::Test {
 protected:
  /// `stack`: innermost first.
  std::string of(const frames& stack, attribution by) {
    testing::recording recorded;
    testing::stack_maker maker(recorded);
    const trace::stack_id id = maker(stack);
    recorded.close();
    const auto trace = recorded.open()->latest();
    frame_cache book;
    attributor who(book, trace->tables(), frame_cache::lookup::at_once);
    const line_id line = who.of(id, by);
    EXPECT_EQ(who.of(id, by), line) << "a repeated query";
    return line == who.unknown(by) ? "unknown" : to_text(book.line(line));
  }
};

TEST_F(attribution_of_stacks, a_helper_is_named_by_its_line_and_by_who_called_it) {
  const frames stack{python("empty", torch + "functional.py", 5), python("alloc", "/home/me/util.py", 3),
                     python("work", "/home/me/train.py", 40), main_line};
  EXPECT_EQ(of(stack, attribution::line), "alloc at /home/me/util.py:3");
  EXPECT_EQ(of(stack, attribution::caller), "work at /home/me/train.py:40");
}

TEST_F(attribution_of_stacks, the_caller_of_a_recursion_is_who_began_it) {
  const frames stack{python("walk", "/home/me/train.py", 8), python("walk", "/home/me/train.py", 9),
                     python("walk", "/home/me/train.py", 9), main_line};
  EXPECT_EQ(of(stack, attribution::caller), "<module> at /home/me/train.py:90");
}

TEST_F(attribution_of_stacks, what_nobody_called_is_its_own_caller) {
  EXPECT_EQ(of({python("empty", torch + "functional.py"), main_line}, attribution::caller),
            "<module> at /home/me/train.py:90");
}

TEST_F(attribution_of_stacks, the_module_is_the_innermost_forward) {
  const frames stack{python("Linear.forward", torch + "nn/modules/linear.py", 134),
                     python("Module._call_impl", torch + "nn/modules/module.py", 1784),
                     python("GPT2MLP.forward", hugging + "models/gpt2/modeling_gpt2.py", 300),
                     python("Module._call_impl", torch + "nn/modules/module.py", 1784), main_line};
  EXPECT_EQ(of(stack, attribution::module), "Linear.forward at " + torch + "nn/modules/linear.py");
  EXPECT_EQ(of({stack.begin() + 1, stack.end()}, attribution::module),
            "GPT2MLP.forward at " + hugging + "models/gpt2/modeling_gpt2.py");
  EXPECT_EQ(of({python("Adam.step", torch + "optim/adam.py", 7), main_line}, attribution::module), "unknown");
}

// Importers and Python versions before 3.11 provide no classes.
TEST_F(attribution_of_stacks, a_forward_without_its_class_is_named_by_its_file) {
  EXPECT_EQ(of({python("forward", "/home/me/model.py", 3), main_line}, attribution::module),
            "forward at /home/me/model.py");
}

TEST_F(attribution_of_stacks, a_module_of_flax_is_called) {
  const frames stack{python("Dense.__call__", packages + "flax/linen/linear.py", 250),
                     python("Module._call_wrapped_method", packages + "flax/linen/module.py", 1000),
                     python("MLP.__call__", "/home/me/model.py", 20), main_line};
  EXPECT_EQ(of(stack, attribution::module), "Dense.__call__ at " + packages + "flax/linen/linear.py");
  EXPECT_EQ(of({python("PjitFunction.__call__", packages + "jax/_src/pjit.py", 9), main_line}, attribution::module),
            "unknown")
      << "jax only forwards the call";
}

TEST_F(attribution_of_stacks, the_module_of_native_code_is_its_class_or_namespace) {
  const frames stack{native("cudaMalloc", "/usr/lib/libcudart.so.13"),
                     native("solver::grid::allocate(unsigned long)", "/home/me/solver"),
                     native("main", "/home/me/solver")};
  EXPECT_EQ(of(stack, attribution::module), "solver::grid in /home/me/solver");
  EXPECT_EQ(
      of({native("net::LinearImpl::forward(at::Tensor const&)", "/home/me/infer"), native("main", "/home/me/infer")},
         attribution::module),
      "net::LinearImpl::forward in /home/me/infer");
  EXPECT_EQ(of({native("main", "/home/me/solver")}, attribution::module), "unknown");
}

TEST_F(attribution_of_stacks, the_caller_of_native_code_is_a_function_of_the_program) {
  const frames stack{native("cudaMalloc", "/usr/lib/libcudart.so.13"),
                     native("checked_malloc(unsigned long)", "/home/me/solver"),
                     native("solver::setup()", "/home/me/solver"), native("main", "/home/me/solver"),
                     native("_start", "/home/me/solver")};
  EXPECT_EQ(of(stack, attribution::line), "checked_malloc(unsigned long) in /home/me/solver");
  EXPECT_EQ(of(stack, attribution::caller), "solver::setup() in /home/me/solver");
  EXPECT_EQ(of({stack.begin() + 3, stack.end()}, attribution::caller), "main in /home/me/solver")
      << "what starts the program is not its caller";
}

TEST_F(attribution_of_stacks, the_package_is_that_which_asked_the_array_library) {
  const frames stack{python("Linear.forward", torch + "nn/modules/linear.py", 134),
                     python("wrapped", "/usr/lib/python3.12/contextlib.py", 81),
                     python("GPT2MLP.forward", hugging + "models/gpt2/modeling_gpt2.py", 300), main_line};
  EXPECT_EQ(of(stack, attribution::package), "transformers");
  EXPECT_EQ(of({stack[0], stack[1], main_line}, attribution::package), "the program");
  EXPECT_EQ(of({stack[0], stack[1]}, attribution::package), "torch") << "there is no other package";
  EXPECT_EQ(
      of({native("", "/usr/lib/libcudart.so.13"), native("solve()", "/home/me/libsolver.so.2")}, attribution::package),
      "libsolver");
}

// Generated code, as torch.compile writes it: its memory belongs to the line that called the compiled code.
TEST_F(attribution_of_stacks, generated_code_is_nobodys_line) {
  for (const char* file : {"/tmp/torchinductor_me/ab/cabc.py", "<eval_with_key>.12", "fx_generated_3a4b5c.py"}) {
    const frames stack{python("forward", file, 40), python("fn", torch + "_dynamo/eval_frame.py", 574),
                       python("main", "/home/me/part0.py", 9), main_line};
    EXPECT_EQ(of(stack, attribution::line), "main at /home/me/part0.py:9") << file;
    EXPECT_EQ(of(stack, attribution::caller), "<module> at /home/me/train.py:90") << file;
    EXPECT_EQ(of(stack, attribution::module), "unknown") << file;
    EXPECT_EQ(of(stack, attribution::package), "the program") << file;
  }
}

TEST_F(attribution_of_stacks, generated_code_that_names_its_origin_is_that_functions) {
  const frames stack{python("forward", "<eval_with_key>.5 from /home/me/net.py:33 in forward", 7), main_line};
  EXPECT_EQ(of(stack, attribution::line), "forward at /home/me/net.py:33");
  EXPECT_EQ(of(stack, attribution::module), "forward at /home/me/net.py");
  EXPECT_EQ(of({python("wrapped", "<eval_with_key>.0 from " + torch + "fx/experimental/proxy_tensor.py:551 in wrapped"),
                main_line},
               attribution::line),
            "<module> at /home/me/train.py:90");
}

TEST_F(attribution_of_stacks, paths_of_windows_are_divided_too) {
  const std::string in_venv = "D:\\proj\\.venv\\Lib\\site-packages\\";
  const frames stack{
      python("einsum", in_venv + "torch\\functional.py", 373), python("einsum", in_venv + "einops\\einops.py", 939),
      python("forward", "D:\\proj\\nets\\model.py", 39),
      python("_call_impl", in_venv + "torch\\nn\\modules\\module.py", 1790), python("<module>", "D:\\proj\\run.py", 9)};
  EXPECT_EQ(of(stack, attribution::line), "forward at D:\\proj\\nets\\model.py:39");
  EXPECT_EQ(of(stack, attribution::caller), "<module> at D:\\proj\\run.py:9");
  EXPECT_EQ(of(stack, attribution::module), "forward at D:\\proj\\nets\\model.py");
  EXPECT_EQ(of(stack, attribution::package), "einops");
  EXPECT_EQ(of({stack[0], stack[3]}, attribution::package), "torch");
}

TEST_F(attribution_of_stacks, the_owner_is_the_library_that_called_the_driver) {
  const frames stack{native("", torch + "lib/libc10_cuda.so"), python("empty", torch + "functional.py"), main_line};
  EXPECT_EQ(of(stack, attribution::owner), "PyTorch");
  EXPECT_EQ(of({native("", packages + "nvidia/nccl/lib/libnccl.so.2"), main_line}, attribution::owner), "NCCL");
  EXPECT_EQ(of({native("", packages + "jax_plugins/xla_cuda13/xla_cuda_plugin.so"), main_line}, attribution::owner),
            "JAX/XLA");
  EXPECT_EQ(of({native("", "/usr/lib/libcudart.so.13"), native("", "/home/me/solver")}, attribution::owner),
            "the program");
  EXPECT_EQ(of({python("empty", torch + "functional.py"), main_line}, attribution::owner), "unknown")
      << "an older recording";
}

TEST_F(attribution_of_stacks, a_call_through_ctypes_is_that_of_the_python_package) {
  const frames stack{native("", "/usr/lib/x86_64-linux-gnu/libffi.so.8"),
                     python("safe_cuda_api_call", packages + "numba_cuda/numba/cuda/cudadrv/driver.py", 320),
                     main_line};
  EXPECT_EQ(of(stack, attribution::owner), "Numba");
  EXPECT_EQ(of({stack[0], main_line}, attribution::owner), "the program");
}

TEST(attributions, have_names) {
  for (std::size_t i = 0; i < attribution_count; ++i) {
    const auto by = static_cast<attribution>(i);
    EXPECT_EQ(attribution_named(get_name(by)), by);
  }
  EXPECT_EQ(attribution_named("all"), std::nullopt);
}

TEST(names_of_code, are_taken_apart) {
  EXPECT_EQ(simple_name("GPT2MLP.forward"), "forward");
  EXPECT_EQ(simple_name("build.<locals>.forward"), "forward");
  EXPECT_EQ(simple_name("<module>"), "<module>");
  EXPECT_EQ(get_scope("solver::grid::allocate(unsigned long)"), "solver::grid");
  EXPECT_EQ(get_scope("void a::b<int, c::d>::run<float>(e::f)"), "a::b<int, c::d>");
  EXPECT_EQ(get_scope("(anonymous namespace)::pool::grow()"), "(anonymous namespace)::pool");
  EXPECT_EQ(get_scope("a::vector::operator()(int) const"), "a::vector");
  EXPECT_EQ(get_scope("main"), "");
  EXPECT_EQ(get_scope(""), "");
}

TEST(owners, are_known_by_the_files_of_their_code) {
  EXPECT_EQ(owner_of_module("/x/libtorch_cuda.so"), "PyTorch");
  EXPECT_EQ(owner_of_module("/x/site-packages/nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9"), "cuDNN");
  EXPECT_EQ(owner_of_module("/usr/lib/libcublasLt.so.13"), "cuBLAS");
  EXPECT_EQ(owner_of_module("/x/site-packages/cupy_backends/cuda/api/driver.cpython-312-x86_64-linux-gnu.so"), "CuPy");
  EXPECT_EQ(owner_of_module("/x/site-packages/bitsandbytes/libbitsandbytes_cuda130.so"), "bitsandbytes");
  EXPECT_EQ(owner_of_module("/usr/lib/libfoo.so.3"), "foo");
  EXPECT_EQ(owner_of_module("/home/me/solver"), "the program");
  EXPECT_EQ(owner_of_module("C:\\venv\\Lib\\site-packages\\torch\\lib\\cublas64_12.dll"), "cuBLAS");
  EXPECT_EQ(owner_of_module("C:\\venv\\Lib\\site-packages\\torch\\lib\\c10_cuda.dll"), "PyTorch");
  EXPECT_EQ(owner_of_module("C:\\Windows\\System32\\nvcuda.dll"), "");
  EXPECT_EQ(owner_of_module("D:\\proj\\solver.exe"), "the program");
  EXPECT_EQ(owner_of_module("/usr/lib/x86_64-linux-gnu/libcuda.so.580.159"), "");
  EXPECT_EQ(owner_of_module(""), "");
}

}  // namespace
}  // namespace sluice::symbols
