#include "core/metrics/host_causes/host_remedies.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "tests/core/metrics/host_causes/stacks.hpp"

namespace sluice::metrics {
namespace {

using namespace sluice::metrics::testing;
using enum host_reason;

program_traits read_traits(const stack& frames) {
  program_traits traits;
  for (const host_frame& each : frames) note_frame(traits, each);
  return traits;
}
std::string code_for(host_reason reason, const program_traits& traits, bool recurs = true) {
  const auto found = find_host_remedy(reason, traits, recurs);
  return found ? std::string(found->code) : "none";
}
std::string whole_text(const host_remedy& subject) { return std::string(subject.text) + std::string(subject.code); }

const program_traits pytorch{.pytorch = true, .python = true, .data_loader = true};
const program_traits cupy{.cupy = true, .python = true};
const program_traits jax{.jax = true, .python = true};
const program_traits numba{.numba = true, .python = true};
const program_traits plain{};

TEST(host_remedies, are_code_for_the_framework_that_the_program_uses) {
  EXPECT_EQ(code_for(cudnn_attention_plan, pytorch), "torch.backends.cuda.enable_cudnn_sdp(False)");
  EXPECT_EQ(code_for(kernel_launch, pytorch), "model = torch.compile(model, mode=\"reduce-overhead\")");
  EXPECT_NE(code_for(kernel_launch, cupy).find("cupy.fuse"), std::string::npos);
  EXPECT_NE(code_for(kernel_launch, jax).find("jax.jit"), std::string::npos);
  EXPECT_NE(code_for(kernel_launch, plain).find("cudaGraphLaunch"), std::string::npos);
  EXPECT_NE(code_for(copy_call, plain).find("cudaMallocHost"), std::string::npos);
  EXPECT_NE(code_for(copy_call, pytorch).find("non_blocking=True"), std::string::npos);
}

TEST(host_remedies, differ_for_costs_that_recur) {
  EXPECT_EQ(code_for(torch_compile, pytorch, true), "model = torch.compile(model, dynamic=True)");
  EXPECT_NE(code_for(torch_compile, pytorch, false).find("TORCHINDUCTOR_CACHE_DIR"), std::string::npos);
  EXPECT_EQ(code_for(module_loading, plain, false), "CUDA_MODULE_LOADING=EAGER");
  EXPECT_NE(code_for(nvrtc_compile, cupy, true).find("RawKernel"), std::string::npos);
  EXPECT_EQ(code_for(nvrtc_compile, cupy, false), "CUPY_CACHE_DIR=/a/lasting/folder");
  EXPECT_EQ(code_for(nvrtc_compile, pytorch, true), "torch.backends.cuda.enable_cudnn_sdp(False)");
  EXPECT_EQ(code_for(importing, pytorch, false), "none");
}

/// Fails if a remedy for this program contains one of the words.
void expect_without(const program_traits& traits, std::initializer_list<const char*> words) {
  for (std::size_t i = 0; i < 2 * host_reason_count; ++i) {
    const auto reason = static_cast<host_reason>(i / 2);
    const auto found = find_host_remedy(reason, traits, i % 2 == 0);
    for (const char* word : words) {
      EXPECT_EQ(found ? whole_text(*found).find(word) : std::string::npos, std::string::npos)
          << get_name(reason) << " contains " << word;
    }
  }
}

TEST(host_remedies, of_pytorch_are_given_to_programs_with_pytorch_only) {
  for (const program_traits& traits : {cupy, jax, numba, plain}) expect_without(traits, {"DataLoader", "torch."});
}

TEST(host_remedies, of_python_are_not_given_to_programs_without_python) {
  expect_without(plain, {"cupy", "jax", "import ", "gc.", "model", "multiprocessing"});
}

TEST(host_remedies, exist_for_each_recurring_cost_of_pytorch_and_for_no_catch_all_but_own_code) {
  EXPECT_TRUE(find_host_remedy(own_code, pytorch, true).has_value());
  for (const host_reason reason : {package_code, cuda_driver, native_code, system_code, mixed, unsampled})
    EXPECT_FALSE(find_host_remedy(reason, pytorch, true).has_value()) << get_name(reason);
  for (const host_reason reason :
       {cudnn_plan,     cudnn_benchmark, module_loading, triton_compile, torch_compile,      kernel_launch,
        copy_call,      dispatcher,      autograd,       optimizer,      framework_python,   gpu_wait,
        gpu_allocation, cpu_compute,     media_decoding, data_wait,      data_main,          data_worker,
        file_read,      logging,         page_fault,     allocation,     garbage_collection, gil,
        lock,           sleep,           not_scheduled})
    EXPECT_TRUE(find_host_remedy(reason, pytorch, true).has_value()) << get_name(reason);
}

TEST(program_traits, come_from_the_frames_of_samples) {
  const program_traits seen = read_traits(
      program() + stack{native(torch_cuda, "at::native::add"), python(dataloader_py, "DataLoader.__iter__")});
  EXPECT_TRUE(seen.pytorch && seen.python && seen.data_loader);
  EXPECT_FALSE(seen.cupy || seen.jax || seen.numba || seen.data_workers || seen.compiled || seen.transformers);
  const program_traits solver = read_traits({native(libcuda, "cuLaunchKernel"), native("/home/me/solver", "main")});
  EXPECT_FALSE(solver.python || solver.pytorch);
  program_traits traits = seen;
  host_verdict waits;
  waits.reason = data_wait;
  note_verdict(traits, waits);
  EXPECT_TRUE(traits.data_workers);
}

}  // namespace
}  // namespace sluice::metrics
