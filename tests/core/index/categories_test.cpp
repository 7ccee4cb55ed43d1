// Categories of blocks with little information: no steps, no threads, or no uses. See also tensor_report_test.cpp.

#include "core/index/tensors/categories.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/index/tensor_facts.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"

namespace sluice::index {
namespace {

using testing::indexed;
using testing::mib;
using testing::native;
using testing::python;
using testing::recording;

constexpr std::uint64_t cublas_workspace = 32 * mib;

/// Builds PyTorch blocks of a process, one by one.
class made_blocks {
 public:
  made_blocks() : stack(recorded) { recorded.standard_tables(); }

  struct what {
    time_ns born = 0;
    time_ns died = trace::unknown_time;
    trace::stack_id stack{};
    std::uint64_t bytes = mib;
    std::uint64_t thread = 0;  ///< 0 in PyTorch's snapshots, which have no threads.
    std::uint64_t flags = 0;
  };
  std::uint64_t add(const what& subject) {
    auto row = recorded.event<trace::alloc_event>(subject.born);
    row.thread = trace::thread_id{subject.thread};
    row.block = trace::block_id{++blocks_};
    row.kind = trace::memory_kind::device;
    row.layer = trace::layer::framework;
    row.device = trace::device_id{1};
    row.bytes = subject.bytes;
    row.stack = subject.stack;
    row.flags = subject.flags;
    recorded.writer().add(row);
    if (subject.died != trace::unknown_time) recorded.add_free(subject.died, blocks_, trace::layer::framework);
    return blocks_;
  }
  void launch(time_ns time, std::string_view kernel, std::initializer_list<std::uint64_t> blocks) {
    for (const std::uint64_t block : blocks) {
      auto row = recorded.event<trace::touch_event>(time);
      row.block = trace::block_id{block};
      row.name = recorded.text(kernel);
      recorded.writer().add(row);
    }
  }
  void clear(time_ns time, std::uint64_t block) {
    auto row = recorded.event<trace::memset_event>(time);
    row.block = trace::block_id{block};
    row.enqueued = time;
    row.end = time + 1;
    recorded.writer().add(row);
  }
  void mark_steps(std::initializer_list<time_ns> begins) {
    std::int64_t number = 0;
    for (const time_ns begin : begins) {
      auto row = recorded.event<trace::marker_event>(begin);
      row.step = number++;
      recorded.writer().add(row);
    }
  }
  std::vector<category> categories() {
    recorded.close();
    const indexed loaded(recorded.open());
    std::vector<category> found;
    for (const block_category& each : loaded.index.tensors(*loaded.snapshot)->categories) found.push_back(each.kind);
    return found;
  }

  trace::stack_id main() { return stack({python("main", "/home/me/train.py", 12)}); }
  trace::stack_id forward() {
    return stack({python("Net.forward", "/home/me/net.py", 33), python("main", "/home/me/train.py", 20)});
  }
  trace::stack_id calls_backward() {
    return stack(
        {python("_make_grads", "/x/torch/autograd/__init__.py", 200), python("main", "/home/me/train.py", 21)});
  }

  recording recorded;
  testing::stack_maker stack;

 private:
  std::uint64_t blocks_ = 0;
};

// --- frames ---------------------------------------------------------------------------------------------------------

clue of_native(std::string_view function) { return stack_clues::of_frame("??", function); }

TEST(clues, of_autograd_are_backward_only_where_a_backward_pass_runs) {
  for (const char* backward :
       {"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor, std::allocator<at::Tensor> >&&)",
        "torch::autograd::generated::AddmmBackward0", "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)",
        "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)",
        "torch::autograd::python::PythonEngine::thread_init(int, std::shared_ptr<torch::autograd::ReadyQueue> const&)",
        "torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", "[inferred: the backward of]",
        "autograd::engine::evaluate_function: MmBackward0"})
    EXPECT_EQ(of_native(backward), clue::backward) << backward;
  for (const char* anywhere :
       {"torch::autograd::VariableType::(anonymous namespace)::bmm(c10::DispatchKeySet, at::Tensor const&)",
        "torch::autograd::VariableType::(anonymous namespace)::convolution_backward(c10::DispatchKeySet)",
        "torch::autograd::THPVariable_bmm(_object*, _object*, _object*)", "THPFunction_apply(_object*, _object*)",
        "torch::autograd::Function<MyBackward>::apply<at::Tensor&>(at::Tensor&)"})
    EXPECT_EQ(of_native(anywhere), clue::none) << anywhere;
  EXPECT_EQ(stack_clues::of_frame("/x/torch/autograd/__init__.py", "_make_grads"), clue::backward);
  EXPECT_EQ(stack_clues::of_frame("/x/torch/autograd/graph.py", "_engine_run_backward"), clue::backward);
  EXPECT_EQ(stack_clues::of_frame("/x/torch/autograd/function.py", "BackwardCFunction.apply"), clue::backward);
  EXPECT_EQ(stack_clues::of_frame("/x/torch/autograd/function.py", "Function.apply"), clue::none);
  EXPECT_EQ(stack_clues::of_frame("/x/torch/autograd/grad_mode.py", "no_grad.__enter__"), clue::none);
}

TEST(clues, are_in_the_names_of_the_profilers_ranges) {
  EXPECT_EQ(stack_clues::of_frame("", "Optimizer.step#AdamW.step"), clue::optimizer);
  EXPECT_EQ(stack_clues::of_frame("", "nn.Module: Linear_0"), clue::forward);
  EXPECT_EQ(stack_clues::of_frame("", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"), clue::data);
}

TEST(categories, of_what_libraries_request_are_workspace) {
  made_blocks blocks;
  const auto in_forward = [&](const char* function) {
    return blocks.stack({native("c10::cuda::CUDACachingAllocator::malloc", "libc10_cuda.so"),
                         native(function, "libtorch_cuda.so"), python("Net.forward", "/home/me/net.py", 33),
                         python("main", "/home/me/train.py", 20)});
  };
  blocks.add(
      {.born = 10, .died = 20, .stack = in_forward("at::native::run_conv_plan(cudnnContext*, at::Tensor const&)")});
  blocks.add({.born = 30, .stack = in_forward("at::cuda::getCurrentCUDABlasHandle()")});
  blocks.add({.born = 40, .died = 50, .stack = in_forward("at::native::empty_cuda(c10::ArrayRef<long>)")});
  EXPECT_EQ(blocks.categories(), (std::vector{category::workspace, category::workspace, category::activation}));
}

// --- without steps --------------------------------------------------------------------------------------------------

TEST(categories, of_a_forward_pass_that_is_all_there_is_are_activations) {
  made_blocks blocks;
  blocks.add({.born = 10, .died = 900, .stack = blocks.forward()});
  blocks.add({.born = 20, .died = 980, .stack = blocks.forward()});
  blocks.add({.born = 30, .stack = blocks.forward()});
  blocks.recorded.add_range(0, 1000);
  EXPECT_EQ(blocks.categories(), (std::vector{category::activation, category::activation, category::activation}))
      << "however long they are live, also in out-of-memory errors";
}

// --- one step -------------------------------------------------------------------------------------------------------

TEST(categories, of_what_lives_over_the_only_step_are_those_of_what_stays) {
  made_blocks blocks;
  blocks.add({.born = 10, .stack = blocks.main()});
  blocks.add({.born = 100, .died = 180, .stack = blocks.forward()});
  blocks.add({.born = 110, .died = 150, .stack = blocks.forward()});
  blocks.recorded.add_range(100, 200, "ProfilerStep#3");
  EXPECT_EQ(blocks.categories(), (std::vector{category::weight, category::activation, category::activation}));
}

// --- without threads ------------------------------------------------------------------------------------------------

TEST(categories, without_threads_are_gradients_where_no_python_runs_and_passes_do) {
  for (const bool calls_backward : {true, false}) {
    made_blocks blocks;
    blocks.add({.born = 10, .died = 50, .stack = blocks.forward()});
    blocks.add({.born = 20, .died = 21, .stack = calls_backward ? blocks.calls_backward() : blocks.main()});
    blocks.add({.born = 30, .died = 45});
    EXPECT_EQ(blocks.categories().at(2), calls_backward ? category::gradient : category::activation);
  }
}

// --- workspaces by their uses ---------------------------------------------------------------------------------------

/// There are two blocks of the backward pass that stay: in each step, products write to both, and an optimizer reads
/// one.
TEST(categories, of_what_only_products_name_step_after_step_are_workspace) {
  made_blocks blocks;
  const trace::stack_id backward = blocks.stack({native("torch::autograd::generated::AddmmBackward0", "libtorch.so")});
  const std::uint64_t scratch = blocks.add({.born = 110, .stack = backward, .bytes = cublas_workspace, .thread = 1});
  const std::uint64_t gradient = blocks.add({.born = 120, .stack = backward, .bytes = cublas_workspace, .thread = 1});
  blocks.mark_steps({100, 200, 300, 400});
  for (time_ns step = 100; step <= 400; step += 100) {
    blocks.clear(step + 30, scratch);
    for (time_ns layer = 0; layer < 3; ++layer)
      blocks.launch(step + 31 + layer, "nvjet_hsh_64x8_NTT", {scratch, gradient});
    blocks.launch(step + 40, "multi_tensor_apply_kernel", {gradient});
  }
  EXPECT_EQ(blocks.categories(), (std::vector{category::workspace, category::gradient}));
}

/// A block that the backward pass allocates, that is live for 20 ns, and that two kernels use.
struct passing_block {
  std::string_view kernel = "sm90_xmma_wgrad_implicit_gemm_f32";
  bool other_born = false;  ///< Another block is allocated while this block is live.

  [[nodiscard]] category category_of_it() const {
    made_blocks blocks;
    const trace::stack_id backward =
        blocks.stack({native("torch::autograd::generated::ConvolutionBackward0", "libtorch.so")});
    blocks.add({.born = 100, .died = 200, .stack = blocks.forward(), .thread = 1});
    const std::uint64_t block = blocks.add({.born = 110, .died = 130, .stack = backward, .thread = 1});
    blocks.add({.born = other_born ? 120 : 130, .died = 200, .stack = backward, .thread = 1});
    blocks.add({.born = 121, .died = 200, .stack = blocks.forward(), .thread = 2});
    blocks.clear(111, block);
    blocks.launch(112, kernel, {block});
    blocks.launch(113, "sm90_xmma_wgrad_implicit_gemm_f32", {block});
    return blocks.categories().at(1);
  }
};

TEST(categories, of_what_lives_for_one_call_of_a_library_are_workspace) {
  EXPECT_EQ(passing_block{}.category_of_it(), category::workspace);
  EXPECT_EQ((passing_block{.other_born = true}.category_of_it()), category::gradient) << "a result was made of it";
  EXPECT_EQ((passing_block{.kernel = "vectorized_elementwise_kernel"}.category_of_it()), category::gradient)
      << "which reads it";
}

// --- workspaces by their size ---------------------------------------------------------------------------------------

TEST(categories, of_the_first_block_that_stays_and_is_as_large_as_a_workspace_are_workspace_where_no_uses_are_known) {
  made_blocks blocks;
  blocks.add({.born = 0, .bytes = cublas_workspace, .flags = trace::born_before});
  blocks.add({.born = 10, .died = 100, .stack = blocks.forward()});
  blocks.add({.born = 20, .died = 21, .stack = blocks.calls_backward()});
  blocks.add({.born = 30, .bytes = cublas_workspace});
  blocks.add({.born = 40, .bytes = cublas_workspace});
  blocks.add({.born = 50, .died = 100, .stack = blocks.forward()});
  const auto found = blocks.categories();
  EXPECT_EQ(found[0], category::weight) << "its origin is unknown";
  EXPECT_EQ(found[3], category::workspace);
  EXPECT_EQ(found[4], category::gradient) << "the gradient of a weight of the same size";
}

TEST(categories, of_blocks_as_large_as_a_workspace_that_stay_and_nothing_names_are_workspace) {
  for (const bool named : {true, false}) {
    made_blocks blocks;
    const std::uint64_t first =
        blocks.add({.born = 10, .died = 20, .stack = blocks.forward(), .bytes = cublas_workspace});
    const std::uint64_t block = blocks.add({.born = 30, .stack = blocks.forward(), .bytes = cublas_workspace});
    blocks.launch(15, "elementwise_kernel", {first});
    if (named) {
      blocks.launch(40, "elementwise_kernel", {block});
      blocks.launch(50, "elementwise_kernel", {block});
    }
    blocks.recorded.add_range(0, 1000);
    EXPECT_EQ(blocks.categories().at(1), named ? category::activation : category::workspace);
  }
}

/// The program is tests/device/trial_workspaces.py, recorded on a GPU. At the peak, cuDNN tries an algorithm that takes
/// 2.55 GiB for 8 ms, on the thread of the backward passes.
TEST(categories, of_what_cudnn_takes_to_try_an_algorithm_are_workspace) {
  const indexed loaded(trace::file::open(SLUICE_SOURCE_DIR "/tests/data/trial_workspaces.sluice").value());
  const auto facts = loaded.index.tensors(*loaded.snapshot);
  const auto blocks = loaded.index.memory().blocks();
  std::size_t trials = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const block_record& block = blocks[i];
    if (block.layer != trace::layer::framework || block.bytes < 64 * mib) continue;  // All tensors are smaller.
    EXPECT_EQ(facts->categories[i].kind, category::workspace) << block.bytes;
    ++trials;
  }
  EXPECT_GT(trials, 0U);
}

}  // namespace
}  // namespace sluice::index
