// The model of a small language model that serves requests. It reads weights from a file, runs prompts of various sizes
// kernel by kernel, and launches a captured graph for each token that it generates.
#include "core/generate/model_builder.hpp"

namespace sluice::generate {
namespace {

class inference_builder : public model_builder {
 public:
  using model_builder::model_builder;

  model build() {
    enter(frame("<module>", "serve.py", 212));
    enter(frame("main", "serve.py", 188));
    weights();
    prompt();
    capture_and_decode();
    built.cache_bytes = 64 * width * 2 * 2 * layers / 8;
    return std::move(built);
  }

 private:
  static constexpr std::uint64_t width = 1024;
  static constexpr std::uint64_t longest_prompt = 1024;
  static constexpr std::uint64_t activation = longest_prompt * width * 2;
  static constexpr std::uint64_t words = 32'000;
  static constexpr int layers = 12;

  struct layer {
    slot qkv, out, up, down, norm;
  };

  slot weight(std::uint64_t bytes) {
    const slot s = tensor();
    copy(work_kind::copy_in, bytes, s, {{s, bytes}}).waits = bytes > 4'000'000;
    return s;
  }

  void weights() {
    into = &built.setup;
    gap = 250'000;
    enter(frame("load_weights", "serve.py", 61));
    words_ = weight(words * width * 2);
    for (int i = 0; i < layers; ++i) {
      layer l{};
      l.qkv = weight(3 * width * width * 2);
      l.out = weight(width * width * 2);
      l.up = weight(4 * width * width * 2);
      l.down = weight(4 * width * width * 2);
      l.norm = weight(2 * width * 2);
      layers_.push_back(l);
    }
    leave();
  }

  void prompt() {
    into = &built.forward;
    gap = 9'000;
    const std::uint32_t call = frame("_call_impl", "torch/nn/modules/module.py", 1790);
    const std::uint32_t linear = frame("forward", "torch/nn/modules/linear.py", 134);
    enter(frame("prefill", "serve.py", 120));
    const slot ids = tensor();
    slot x = tensor();
    copy(work_kind::copy_in, longest_prompt * 8, ids, {{ids, longest_prompt * 8}});
    launch({"void vectorized_gather_kernel<16, long>(char*, char*)", 4'000, 1024, 1, 64}, {{x, activation}},
           {words_, ids, x}, {ids});
    for (const layer& l : layers_) {
      const slot norm = tensor(), qkv = tensor(), attended = tensor(), out = tensor(), norm2 = tensor(), up = tensor(),
                 bent = tensor(), next = tensor();
      launch({"void rms_norm_kernel<__half>(__half*, __half const*)", 4'300, 1024, 1, 256, 24}, {{norm, activation}},
             {x, l.norm, norm}, {}, {call});
      launch({"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 61'000, 64, 8, 384, 168,
              214'016},
             {{qkv, 3 * activation}}, {norm, l.qkv, qkv}, {norm}, {call, linear});
      launch({"void rotary_embedding_and_cache_kernel<__half>(__half*, __half*)", 5'000, 1024, 1, 128}, {}, {qkv})
          .cached = true;
      operation& attention =
          launch({"void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>>(Flash_fwd_params)", 84'000, 16, 16,
                  128, 255, 81'920},
                 {{attended, activation}}, {qkv, attended}, {qkv}, {call});
      attention.cached = true;
      launch({"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 22'000, 64, 8, 384, 168,
              214'016},
             {{out, activation}}, {attended, l.out, x, out}, {attended, x}, {call, linear});
      launch({"void rms_norm_kernel<__half>(__half*, __half const*)", 4'300, 1024, 1, 256, 24}, {{norm2, activation}},
             {out, l.norm, norm2}, {}, {call});
      launch({"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1", 79'000, 64, 8, 384, 168,
              214'016},
             {{up, 4 * activation}}, {norm2, l.up, up}, {norm2}, {call, linear});
      launch({"void silu_and_mul_kernel<__half>(__half*, __half const*)", 7'000, 2048, 1, 512},
             {{bent, 2 * activation}}, {up, bent}, {up});
      launch({"sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", 76'000, 64, 8, 384, 168,
              214'016},
             {{next, activation}}, {bent, l.down, out, next}, {bent, out}, {call, linear});
      x = next;
    }
    const slot logits = tensor();
    launch({"void cublasLt::splitKreduce_kernel<32, 16, int, float, __half, __half>(cublasSplitKParams)", 12'000, 250,
            1, 512},
           {{logits, words * 4}}, {x, words_, logits}, {x, logits});
    leave();
  }

  void capture_and_decode() {
    built.graph_nodes = layers * 9 + 2;
    into = &built.backward;  // In this model, `backward` contains the operations for one token of each request.
    gap = 14'000;
    enter(frame("decode", "serve.py", 151));
    const slot ids = tensor(), places = tensor(), logits = tensor(), chosen = tensor();
    copy(work_kind::copy_in, 64 * 8, ids, {{ids, 64 * 8}});
    copy(work_kind::copy_in, 64 * 128 * 4, places, {{places, 64 * 128 * 4}});
    operation& graph = plain();
    graph.work = work_kind::graph;
    graph.duration = 1'450'000;
    operation& whole = launch(
        {"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)", 24'000, 16, 1, 544, 96}, {},
        {});
    whole.collective = true;
    launch({"void softmax_warp_forward<float, float, float, 15, false, false>(float*, float const*)", 9'000, 64},
           {{logits, 64 * words * 4}}, {logits, places});
    launch(
        {"void at::native::radix_sort_topk_kernel<float, unsigned int>(float*, long*)", 38'000, 64, 4, 256, 40, 8'192},
        {{chosen, 64 * 8}}, {logits, chosen}, {logits});
    copy(work_kind::copy_out, 64 * 8, chosen).waits = true;
    operation& end = plain();
    end.deaths = {ids, places, chosen};
    leave();
  }

  slot words_ = 0;
  std::vector<layer> layers_;
};

}  // namespace

model inference_model(stack_choice stacks) { return inference_builder(stacks).build(); }

}  // namespace sluice::generate
