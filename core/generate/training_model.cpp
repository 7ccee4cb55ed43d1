// The model of a training step of a small GPT in PyTorch, with 5 blocks, and Adam with foreach kernels. Sizes,
// launches, touches and lifetimes are rounded values from the recording in assets/recordings.
#include "core/generate/model_builder.hpp"

namespace sluice::generate {
namespace {

constexpr std::uint64_t width = 256;
constexpr std::uint64_t tokens = 16 * 128;
constexpr std::uint64_t words = 2048;
constexpr std::uint64_t activation = tokens * width * 4;
constexpr int layers = 5;

constexpr auto gemm_a =
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel";
constexpr auto gemm_b =
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x128x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel";
constexpr auto gemm_c = "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nt_align1>(Params)";
constexpr auto split_k =
    "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>(cublasSplitKParams)";
constexpr auto layer_norm =
    "void at::native::vectorized_layer_norm_kernel<float, float>(int, float, float const*, float const*, float const*)";
constexpr auto layer_norm_input =
    "void at::native::layer_norm_grad_input_kernel_vectorized<float, float>(float const*, float const*)";
constexpr auto layer_norm_weight =
    "void at::native::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u, 32u, 256u>(long, long)";
constexpr auto attention = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel::Params)";
constexpr auto attention_back =
    "fmha_cutlassB_f32_aligned_64x64_k32_sm80(PyTorchMemEffAttention::AttentionBackwardKernel::Params)";
constexpr auto elementwise_copy = "void at::native::elementwise_kernel<128, 2, direct_copy_kernel_cuda>(int)";
constexpr auto add_kernel = "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>(int)";
constexpr auto multiply =
    "void at::native::vectorized_elementwise_kernel<4, BinaryFunctor<float, float, float, MulFunctor>>(int)";
constexpr auto gelu = "void at::native::vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>(int)";
constexpr auto gelu_back = "void at::native::vectorized_elementwise_kernel<4, GeluBackwardCUDAKernelImpl>(int)";
constexpr auto reduce = "void at::native::reduce_kernel<128, 4, ReduceOp<float, sum_functor>>(ReduceOp)";

/// A parameter, and the optimizer's state for that parameter.
struct parameter {
  slot value, gradient, mean, square, root;
  std::uint64_t bytes;
};

/// The tensors of one transformer block that the backward pass needs.
struct layer {
  parameter norm1_weight, norm1_bias, qkv_weight, qkv_bias, out_weight, out_bias;
  parameter norm2_weight, norm2_bias, up_weight, up_bias, down_weight, down_bias;
  slot input, norm1, mean1, rstd1, qkv, attended, statistic, gathered, middle, norm2, mean2, rstd2, wide, bent, output;
};

class training_builder : public model_builder {
 public:
  using model_builder::model_builder;

  model build() {
    frames();
    parameters();
    forward();
    backward();
    update();
    host_causes();
    return std::move(built);
  }

 private:
  void frames() {
    enter(frame("<module>", "train.py", 128));
    enter(frame("main", "train.py", 95));
    call_ = frame("_call_impl", "torch/nn/modules/module.py", 1790);
    linear_ = frame("forward", "torch/nn/modules/linear.py", 134);
    norm_ = frame("forward", "torch/nn/modules/normalization.py", 229);
    gelu_ = frame("forward", "torch/nn/modules/activation.py", 816);
  }

  parameter add_parameter(std::uint64_t bytes) {
    const parameter p{tensor(), tensor(), tensor(), tensor(), tensor(), bytes};
    copy(work_kind::copy_in, bytes, p.value, {{p.value, bytes}}).waits = true;
    all_.push_back(p);
    return p;
  }

  void parameters() {
    into = &built.setup;
    gap = 180'000;
    enter(frame("make", "train.py", 70));
    enter(frame("_apply", "torch/nn/modules/module.py", 965));
    word_ = add_parameter(words * width * 4);
    position_ = add_parameter(128 * width * 4);
    for (int i = 0; i < layers; ++i) {
      layer l{};
      l.norm1_weight = add_parameter(width * 4);
      l.norm1_bias = add_parameter(width * 4);
      l.qkv_weight = add_parameter(3 * width * width * 4);
      l.qkv_bias = add_parameter(3 * width * 4);
      l.out_weight = add_parameter(width * width * 4);
      l.out_bias = add_parameter(width * 4);
      l.norm2_weight = add_parameter(width * 4);
      l.norm2_bias = add_parameter(width * 4);
      l.up_weight = add_parameter(4 * width * width * 4);
      l.up_bias = add_parameter(4 * width * 4);
      l.down_weight = add_parameter(4 * width * width * 4);
      l.down_bias = add_parameter(width * 4);
      layers_.push_back(l);
    }
    head_weight_ = add_parameter(words * width * 4);
    head_bias_ = add_parameter(words * 4);
    // This creates the state of Adam, as its first step does.
    enter(frame("_init_group", "torch/optim/adam.py", 178));
    for (const parameter& p : all_) {
      launch({"void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>(int)", 2'000, 64},
             {{p.mean, p.bytes}, {p.square, p.bytes}}, {p.mean, p.square});
    }
    leave();
    leave();
    leave();
    gap = 11'000;
  }

  void linear(slot in, slot out, std::uint64_t bytes, const parameter& weight, const parameter& bias,
              const char* kernel, std::uint32_t duration, std::vector<slot> deaths = {}) {
    launch({kernel, duration, 32, static_cast<std::uint32_t>(bytes / activation * 4), 128, 128, 13'056}, {{out, bytes}},
           {in, weight.value, bias.value, out}, std::move(deaths), {call_, linear_});
  }

  void normalise(slot in, slot out, slot mean, slot rstd, const parameter& weight, const parameter& bias) {
    launch({layer_norm, 5'900, 2048, 1, 32, 39, 24}, {{out, activation}, {mean, tokens * 4}, {rstd, tokens * 4}},
           {in, weight.value, bias.value, out, mean, rstd}, {}, {call_, norm_});
  }

  void forward() {
    into = &built.forward;
    enter(frame("step", "train.py", 78));
    ids_ = tensor();
    copy(work_kind::copy_in, 16 * 129 * 8, ids_, {{ids_, 16 * 129 * 8}});
    enter(frame("forward", "train.py", 54));
    slot x = tensor();
    const slot embedded = tensor();
    launch({"void at::native::vectorized_gather_kernel<16, long>(char*, char*)", 3'100, 2048, 1, 64},
           {{embedded, activation}}, {word_.value, ids_, embedded});
    launch({"void at::native::elementwise_kernel<128, 2, CUDAFunctor_add<float>>(int)", 3'130, 2048}, {{x, activation}},
           {embedded, position_.value, x}, {embedded});
    for (int i = 0; i < layers; ++i) {
      layer& l = layers_[static_cast<std::size_t>(i)];
      enter(frame("forward", "train.py", static_cast<std::uint64_t>(28)));
      l.input = x;
      for (slot* s : {&l.norm1, &l.mean1, &l.rstd1, &l.qkv, &l.attended, &l.statistic, &l.gathered, &l.middle, &l.norm2,
                      &l.mean2, &l.rstd2, &l.wide, &l.bent, &l.output})
        *s = tensor();
      normalise(x, l.norm1, l.mean1, l.rstd1, l.norm1_weight, l.norm1_bias);
      linear(l.norm1, l.qkv, 3 * activation, l.qkv_weight, l.qkv_bias, gemm_a, 24'700);
      launch({attention, 20'100, 2, 8, 32, 168, 36'352}, {{l.attended, activation}, {l.statistic, 16 * 4 * 128 * 4}},
             {l.qkv, l.attended, l.statistic});
      launch({elementwise_copy, 3'870, 2048, 1, 128, 31}, {{l.gathered, activation}}, {l.attended, l.gathered});
      const slot projected = tensor();
      linear(l.gathered, projected, activation, l.out_weight, l.out_bias, gemm_a, 13'700);
      launch({add_kernel, 1'950, 512}, {{l.middle, activation}}, {x, projected, l.middle}, {projected});
      normalise(l.middle, l.norm2, l.mean2, l.rstd2, l.norm2_weight, l.norm2_bias);
      linear(l.norm2, l.wide, 4 * activation, l.up_weight, l.up_bias, gemm_b, 31'500);
      launch({gelu, 5'300, 2048}, {{l.bent, 4 * activation}}, {l.wide, l.bent}, {}, {call_, gelu_});
      const slot down = tensor();
      linear(l.bent, down, activation, l.down_weight, l.down_bias, gemm_a, 36'800);
      launch({add_kernel, 1'950, 512}, {{l.output, activation}}, {l.middle, down, l.output}, {down});
      x = l.output;
      leave();
    }
    logits_ = tensor();
    linear(x, logits_, tokens * words * 4, head_weight_, head_bias_, gemm_b, 61'000);
    leave();
    enter(frame("cross_entropy", "torch/nn/functional.py", 3504));
    softmax_ = tensor();
    loss_ = tensor();
    const slot total = tensor();
    launch({"void softmax_warp_forward<float, float, float, 11, true, false>(float*, float const*, int)", 14'000, 512},
           {{softmax_, tokens * words * 4}}, {logits_, softmax_});
    launch({"void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(float*)", 9'800, 1, 1, 32},
           {{loss_, 512}, {total, 512}}, {softmax_, ids_, loss_, total}, {logits_});
    total_ = total;
    leave();
    leave();
  }

  /// Adds the backward pass of a linear layer, which computes the gradients of the layer's input, weight (by a split
  /// sum) and bias.
  void linear_back(slot out_gradient, slot in_gradient, std::uint64_t in_bytes, slot in, const parameter& weight,
                   const parameter& bias, std::uint32_t duration, std::vector<slot> deaths) {
    launch({gemm_b, duration, 32, 4, 128, 126, 13'056}, {{in_gradient, in_bytes}},
           {out_gradient, weight.value, in_gradient});
    const bool splits = weight.bytes < 2'000'000;
    launch({gemm_c, duration + 9'000, 2, 12, 128, 122}, {{weight.gradient, weight.bytes}},
           {out_gradient, in, weight.gradient});
    if (splits) launch({split_k, 3'100, 96, 1, 512, 40}, {}, {weight.gradient});
    launch({reduce, 6'500, 8, 4, 32, 40, 16}, {{bias.gradient, bias.bytes}}, {out_gradient, bias.gradient},
           std::move(deaths));
  }

  void normalise_back(slot out_gradient, slot in_gradient, slot in, slot mean, slot rstd, const parameter& weight,
                      const parameter& bias, std::vector<slot> deaths) {
    launch({layer_norm_input, 7'300, 2048, 1, 128, 40, 16},
           {{in_gradient, activation}, {weight.gradient, weight.bytes}, {bias.gradient, bias.bytes}},
           {out_gradient, in, mean, rstd, weight.value, in_gradient});
    launch({layer_norm_weight, 8'200, 8, 1, 32, 40}, {}, {out_gradient, in, mean, rstd, weight.gradient, bias.gradient},
           std::move(deaths));
  }

  void backward() {
    into = &built.backward;
    autograd = true;
    gap = 14'000;
    slot above = tensor();
    const slot softmax_gradient = tensor();
    fill(tokens * words * 4, softmax_gradient).births = {{softmax_gradient, tokens * words * 4}};
    launch({"void at::native::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(float*)", 3'300, 1, 1, 32}, {},
           {softmax_gradient, ids_, total_, loss_}, {loss_, total_});
    const slot logits_gradient = tensor();
    launch({"void at::native::cunn_SoftMaxBackwardSmem<4, float, float, float>(float*)", 21'000, 2048, 1, 512},
           {{logits_gradient, tokens * words * 4}}, {softmax_gradient, softmax_, logits_gradient},
           {softmax_gradient, softmax_});
    linear_back(logits_gradient, above, activation, layers_.back().output, head_weight_, head_bias_, 52'000,
                {logits_gradient, layers_.back().output});
    for (auto each = layers_.rbegin(); each != layers_.rend(); ++each) {
      const layer& l = *each;
      const slot bent = tensor(), wide = tensor(), norm2 = tensor(), middle = tensor(), gathered = tensor(),
                 attended = tensor(), scratch = tensor();
      const slot q = tensor(), k = tensor(), v = tensor(), qkv = tensor(), norm1 = tensor(), below = tensor();
      linear_back(above, bent, 4 * activation, l.bent, l.down_weight, l.down_bias, 30'000, {l.bent});
      launch({gelu_back, 8'300, 2048}, {{wide, 4 * activation}}, {bent, l.wide, wide}, {bent, l.wide});
      linear_back(wide, norm2, activation, l.norm2, l.up_weight, l.up_bias, 34'000, {wide, l.norm2});
      normalise_back(norm2, middle, l.middle, l.mean2, l.rstd2, l.norm2_weight, l.norm2_bias,
                     {norm2, l.mean2, l.rstd2, l.middle});
      launch({add_kernel, 1'950, 512}, {}, {above, middle, above}, {middle});
      linear_back(above, gathered, activation, l.gathered, l.out_weight, l.out_bias, 12'000, {l.gathered});
      launch({elementwise_copy, 3'870, 2048, 1, 128, 31}, {{attended, activation}}, {gathered, attended}, {gathered});
      fill(16 * 4 * 8 * 4, scratch).births = {
          {scratch, 16 * 4 * 8 * 4}, {q, activation}, {k, activation}, {v, activation}};
      launch({multiply, 2'300, 512}, {}, {attended, l.attended, scratch});
      launch({attention_back, 49'000, 2, 64, 32, 192, 57'344}, {},
             {l.qkv, l.attended, l.statistic, attended, scratch, q, k, v},
             {scratch, attended, l.attended, l.statistic, l.qkv});
      launch({"void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 4, 64, 64>(OpaqueType)", 6'200, 528,
              3, 128},
             {{qkv, 3 * activation}}, {q, k, v, qkv}, {q, k, v});
      linear_back(qkv, norm1, activation, l.norm1, l.qkv_weight, l.qkv_bias, 27'000, {qkv, l.norm1});
      normalise_back(norm1, below, l.input, l.mean1, l.rstd1, l.norm1_weight, l.norm1_bias, {norm1, l.mean1, l.rstd1});
      launch({add_kernel, 1'950, 512}, {}, {above, below, above}, {below, l.input});
    }
    const slot summed = tensor();
    launch({reduce, 6'900, 128, 1, 32, 40, 16}, {{position_.gradient, position_.bytes}}, {above, position_.gradient});
    launch({"void at::native::embedding_backward_feature_kernel<float, float, long>(long const*)", 34'000, 8, 1, 32},
           {{word_.gradient, word_.bytes}, {summed, 16'384}}, {summed, ids_, above, word_.gradient},
           {summed, above, ids_});
    autograd = false;
  }

  /// Adds kernels over lists of the tensors of all parameters. The argument space is larger than needed, so it still
  /// contains addresses from the previous launch (`left`), which count as touches.
  void foreach_kernel(const std::string& functor, std::uint32_t duration, std::vector<slot parameter::*> lists,
                      std::vector<slot parameter::*> left = {}, bool roots_born = false, bool roots_die = false) {
    // This many tensors fit into the kernel's arguments.
    const std::size_t most = 110 / lists.size();
    lists.insert(lists.end(), left.begin(), left.end());
    for (std::size_t begin = 0; begin < all_.size(); begin += most) {
      std::vector<birth> births;
      std::vector<slot> touches, deaths;
      for (slot parameter::*list : lists) {
        for (std::size_t i = begin; i < std::min(begin + most, all_.size()); ++i) touches.push_back(all_[i].*list);
      }
      if (begin == 0 && roots_born) {
        for (const parameter& p : all_) births.push_back({p.root, p.bytes});
      }
      if (begin + most >= all_.size() && roots_die) {
        for (const parameter& p : all_) deaths.push_back(p.root);
      }
      launch(
          {"void at::native::multi_tensor_apply_kernel<" + functor + ">(TensorListMetadata)", duration, 96, 1, 512, 48},
          std::move(births), std::move(touches), std::move(deaths));
    }
  }

  void update() {
    into = &built.update;
    gap = 60'000;
    enter(frame("step", "train.py", 83));
    operation& reduced = launch(
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 90'000, 16, 1, 544, 96}, {},
        {});
    reduced.collective = true;
    enter(frame("wrapper", "torch/optim/optimizer.py", 533));
    enter(frame("_multi_tensor_adam", "torch/optim/adam.py", 791));
    foreach_kernel("TernaryOpScalarFunctor<float, 2, 2, 0>, LerpFunctor", 9'400,
                   {&parameter::mean, &parameter::gradient});
    foreach_kernel("BinaryOpScalarFunctor<float, 1, 1, 0>, multiplies", 6'700, {&parameter::square},
                   {&parameter::gradient});
    foreach_kernel("PointwiseOpScalarFunctor<float, 3, 3, 0>, multiplies", 12'100,
                   {&parameter::square, &parameter::gradient, &parameter::gradient});
    foreach_kernel("UnaryOpFunctor<float, 2, 1, 1>, Sqrt", 8'800, {&parameter::square, &parameter::root}, {}, true);
    foreach_kernel("BinaryOpScalarListFunctor<float, 1, 1, 0>, divides", 6'600, {&parameter::root},
                   {&parameter::square});
    foreach_kernel("BinaryOpScalarFunctor<float, 1, 1, 0>, plus", 6'600, {&parameter::root}, {&parameter::square});
    foreach_kernel("PointwiseOpScalarListFunctor<float, 3, 3, 0>, divides", 12'900,
                   {&parameter::value, &parameter::mean, &parameter::root}, {&parameter::square}, false, true);
    leave();
    leave();
    leave();
    // This is zero_grad(set_to_none=True).
    operation& end = plain();
    for (const parameter& p : all_) end.deaths.push_back(p.gradient);
    end.waits = true;
  }

  /// Adds what the host does while the device is idle (`generate_options::host_samples`).
  void host_causes() {
    const std::string torch = "/usr/lib/python3/dist-packages/torch/";
    const std::string library = torch + "lib/libtorch_cpu.so";
    const std::uint32_t forward = frame("forward", "train.py", 54);
    built.compile = host_work(90'000'000, sampled_stack({frame("step", "train.py", 78), forward}, "nvrtcCompileProgram",
                                                        "/usr/local/cuda/lib64/libnvrtc.so.12"));
    const std::uint32_t next =
        frame("_MultiProcessingDataLoaderIter._next_data", torch + "utils/data/dataloader.py", 1480);
    constexpr std::int64_t futex = 202;  // x86-64
    built.load = host_work(3'000'000,
                           sampled_stack({frame("batches", "train.py", 90), next}, "pthread_cond_timedwait",
                                         "/usr/lib/x86_64-linux-gnu/libc.so.6"),
                           trace::host_state::blocked, futex);
    const std::uint32_t save = frame("_save", torch + "serialization.py", 1250);
    built.save = host_work(25'000'000, sampled_stack({frame("save", "train.py", 101), save},
                                                     "caffe2::serialize::PyTorchStreamWriter::writeRecord", library));
    leave();  // main
    leave();  // <module>
    built.autograd_stack = sampled_stack({}, "torch::autograd::Engine::thread_main", library);
  }

  std::uint32_t call_ = 0, linear_ = 0, norm_ = 0, gelu_ = 0;
  std::vector<parameter> all_;
  parameter word_{}, position_{}, head_weight_{}, head_bias_{};
  std::vector<layer> layers_;
  slot ids_ = 0, logits_ = 0, softmax_ = 0, loss_ = 0, total_ = 0;
};

}  // namespace

model training_model(stack_choice stacks) { return training_builder(stacks).build(); }

}  // namespace sluice::generate
