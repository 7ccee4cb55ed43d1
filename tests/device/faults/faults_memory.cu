// Small CUDA programs about device memory, and the main function. Usage: faults NAME faulty|fixed [--passes N]
#include <cstring>

#include "measure.cuh"

using namespace measure;

namespace {

// Cytnx-dev/Cytnx issue 521, "CUDA functions should not use CudaMalloc for temporary memory"
PROGRAM(cuda_malloc_in_loop) {
  const std::size_t bytes = 96 * mib;
  float *field = nullptr, *temporary = nullptr;
  DEVICE_ALLOC(field, bytes);
  CHECK(cudaMemset(field, 0, bytes));
  if (!faulty) DEVICE_ALLOC(temporary, bytes);
  timer.start();
  for (int step = 0; step < 30; ++step) {
    if (faulty) DEVICE_ALLOC(temporary, bytes);  // fault cuda_malloc_in_loop
    launch_work(temporary, field, bytes, 200);
    launch_work(field, temporary, bytes, 200);
    if (faulty) DEVICE_FREE(temporary);  // fault cuda_malloc_in_loop
  }
  timer.stop();
  if (!faulty) DEVICE_FREE(temporary);
  DEVICE_FREE(field);
}

// Theano/libgpuarray issue 25, "Do something about the fact that cudaFree does the equivalent of a DeviceSync()"
PROGRAM(cuda_free_in_pipeline) {
  constexpr int frames = 16;
  const std::size_t bytes = 48 * mib;
  float* inputs[frames];
  for (float*& input : inputs) {
    DEVICE_ALLOC(input, bytes);
    CHECK(cudaMemset(input, 0, bytes));
  }
  float* result = nullptr;
  DEVICE_ALLOC(result, bytes);
  std::vector<float> notes(1 << 18);
  timer.start();
  for (int frame = 0; frame < frames; ++frame) {
    launch_work(result, inputs[frame], bytes, 1500);
    if (faulty) DEVICE_FREE(inputs[frame]);  // fault cuda_free_in_pipeline
    for (std::size_t i = 0; i < notes.size(); ++i) notes[i] = static_cast<float>((i * 7919 + frame) % 4093);
    std::partial_sort(notes.begin(), notes.begin() + 512, notes.end());
  }
  timer.stop();
  if (!faulty) {
    for (float* input : inputs) DEVICE_FREE(input);
  }
  DEVICE_FREE(result);
  std::printf("notes %g\n", notes[0]);
}

// DrGPUM (ASPLOS 2023), pattern "early allocation": all allocations at the top of main
PROGRAM(cuda_all_at_top) {
  const std::size_t bytes = 256 * mib;
  float *in = nullptr, *scratch = nullptr, *summary = nullptr;
  DEVICE_ALLOC(in, bytes);
  DEVICE_ALLOC(scratch, bytes);
  if (faulty) DEVICE_ALLOC(summary, bytes);  // fault cuda_all_at_top
  CHECK(cudaMemset(in, 0, bytes));
  timer.start();
  for (int step = 0; step < 24; ++step) {
    launch_work(scratch, in, bytes, 100);
    launch_work(in, scratch, bytes, 100);
  }
  DEVICE_FREE(scratch);
  if (!faulty) DEVICE_ALLOC(summary, bytes);
  launch_work(summary, in, bytes, 10);
  timer.stop();
  DEVICE_FREE(summary);
  DEVICE_FREE(in);
}

// DrGPUM (ASPLOS 2023), pattern "late deallocation": all frees at the end of main
PROGRAM(cuda_all_freed_at_end) {
  const std::size_t bytes = 256 * mib;
  float *raw = nullptr, *clean = nullptr, *first = nullptr, *second = nullptr;
  DEVICE_ALLOC(raw, bytes);  // fault cuda_all_freed_at_end
  DEVICE_ALLOC(clean, bytes);
  CHECK(cudaMemset(raw, 0, bytes));
  timer.start();
  launch_work(clean, raw, bytes, 100);
  if (!faulty) DEVICE_FREE(raw);
  DEVICE_ALLOC(first, bytes);
  DEVICE_ALLOC(second, bytes);
  for (int step = 0; step < 24; ++step) {
    launch_work(first, clean, bytes, 100);
    launch_work(second, first, bytes, 100);
    launch_work(clean, second, bytes, 100);
  }
  timer.stop();
  if (faulty) DEVICE_FREE(raw);
  DEVICE_FREE(clean);
  DEVICE_FREE(first);
  DEVICE_FREE(second);
}

// DrGPUM (ASPLOS 2023), pattern "unused allocation"
PROGRAM(cuda_debug_buffer) {
  const std::size_t bytes = 128 * mib;
  float *a = nullptr, *b = nullptr, *trace = nullptr;
  DEVICE_ALLOC(a, bytes);
  DEVICE_ALLOC(b, bytes);
  if (faulty) DEVICE_ALLOC(trace, 3 * bytes);  // fault cuda_debug_buffer
  CHECK(cudaMemset(a, 0, bytes));
  timer.start();
  for (int step = 0; step < 24; ++step) {
    launch_work(b, a, bytes, 200);
    launch_work(a, b, bytes, 200);
  }
  timer.stop();
  if (faulty) DEVICE_FREE(trace);
  DEVICE_FREE(a);
  DEVICE_FREE(b);
}

__global__ void multiply(float* c, const float* a, const float* b, int n) {
  __shared__ float left[16][16], right[16][16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n / 16; ++tile) {
    left[threadIdx.y][threadIdx.x] = a[std::size_t(row) * n + tile * 16 + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[std::size_t(tile * 16 + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[std::size_t(row) * n + column] = sum;
}

// PolyBench/GPU, 3MM: G = (A B) (C D), each matrix with its own memory
PROGRAM(cuda_three_products) {
  constexpr int n = 4096;
  const std::size_t bytes = std::size_t{n} * n * sizeof(float);
  const dim3 block(16, 16), grid(n / 16, n / 16);
  float *a = nullptr, *b = nullptr, *c = nullptr, *d = nullptr, *e = nullptr, *f = nullptr, *g = nullptr;
  for (float** matrix : {&a, &b, &c, &d}) {
    DEVICE_ALLOC(*matrix, bytes);  // fault cuda_three_products
    launch_work(*matrix, *matrix, bytes, 50);
  }
  DEVICE_ALLOC(e, bytes);
  if (faulty) {
    DEVICE_ALLOC(f, bytes);  // fault cuda_three_products
    DEVICE_ALLOC(g, bytes);  // fault cuda_three_products
  }
  timer.start();
  multiply<<<grid, block>>>(e, a, b, n);
  if (!faulty) f = a;
  multiply<<<grid, block>>>(f, c, d, n);
  if (!faulty) g = b;
  multiply<<<grid, block>>>(g, e, f, n);
  CHECK(cudaGetLastError());
  timer.stop();
  for (float* matrix : {a, b, c, d, e}) DEVICE_FREE(matrix);
  if (faulty) {
    DEVICE_FREE(f);
    DEVICE_FREE(g);
  }
}

// jkjung-avt/tensorrt_demos pull request 190, "Optimize out the unnecessary cudaMemset()"
PROGRAM(cuda_memset_before_kernel) {
  const std::size_t bytes = 256 * mib;
  float *in = nullptr, *out = nullptr;
  DEVICE_ALLOC(in, bytes);
  DEVICE_ALLOC(out, bytes);
  CHECK(cudaMemset(in, 0, bytes));
  timer.start();
  for (int step = 0; step < 60; ++step) {
    if (faulty) CHECK(cudaMemsetAsync(out, 0, bytes));  // fault cuda_memset_before_kernel
    launch_work(out, in, bytes, 4);
  }
  timer.stop();
  DEVICE_FREE(in);
  DEVICE_FREE(out);
}

// NVIDIA developer forums and Rodinia-style codes: a frame's scratch memory is never freed
PROGRAM(cuda_leak_per_frame) {
  const std::size_t bytes = 40 * mib;
  float* frame = nullptr;
  DEVICE_ALLOC(frame, bytes);
  CHECK(cudaMemset(frame, 0, bytes));
  std::vector<float*> forgotten;
  timer.start();
  for (int step = 0; step < 24; ++step) {
    float* scratch = nullptr;
    DEVICE_ALLOC(scratch, bytes);  // fault cuda_leak_per_frame
    launch_work(scratch, frame, bytes, 500);
    launch_work(frame, scratch, bytes, 500);
    if (faulty) {
      forgotten.push_back(scratch);
    } else {
      DEVICE_FREE(scratch);
    }
  }
  timer.stop();
  for (float* scratch : forgotten) DEVICE_FREE(scratch);  // The next pass needs the memory.
  DEVICE_FREE(frame);
}

// A restart copy that stays on the device: needed at both ends of a run
PROGRAM(cuda_restart_copy) {
  const std::size_t bytes = 256 * mib;
  float *state = nullptr, *restart = nullptr, *scratch = nullptr;
  float* host = filled_pinned(bytes, 0);
  DEVICE_ALLOC(state, bytes);
  DEVICE_ALLOC(restart, bytes);  // fault cuda_restart_copy
  CHECK(cudaMemset(state, 0, bytes));
  launch_work(restart, state, bytes, 100);
  if (!faulty) {
    CHECK(cudaMemcpy(host, restart, bytes, cudaMemcpyDeviceToHost));
    DEVICE_FREE(restart);
  }
  timer.start();
  DEVICE_ALLOC(scratch, bytes);
  for (int step = 0; step < 60; ++step) {
    launch_work(scratch, state, bytes, 400);
    launch_work(state, scratch, bytes, 400);
  }
  DEVICE_FREE(scratch);
  if (!faulty) {
    DEVICE_ALLOC(restart, bytes);
    CHECK(cudaMemcpy(restart, host, bytes, cudaMemcpyHostToDevice));
  }
  launch_work(state, restart, bytes, 100);
  timer.stop();
  DEVICE_FREE(state);
  DEVICE_FREE(restart);
  CHECK(cudaFreeHost(host));
}

// JuliaGPU/CUDA.jl issue 1540, "Memory allocation becomes very slow when reserved bytes is large"
PROGRAM(cuda_pool_keeps_burst) {
  cudaMemPool_t pool{};
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t threshold = faulty ? UINT64_MAX : 64 * mib;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));  // fault cuda_pool_keeps_burst
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  float* large = nullptr;
  DEVICE_ALLOC_ASYNC(large, 900 * mib, stream);  // fault cuda_pool_keeps_burst
  launch_work(large, large, 900 * mib, 10, stream);
  DEVICE_FREE_ASYNC(large, stream);
  CHECK(cudaStreamSynchronize(stream));
  timer.start();
  for (int step = 0; step < 40; ++step) {
    float* small = nullptr;
    DEVICE_ALLOC_ASYNC(small, 16 * mib, stream);
    launch_work(small, small, 16 * mib, 4000, stream);
    DEVICE_FREE_ASYNC(small, stream);
  }
  timer.stop();
  CHECK(cudaStreamDestroy(stream));
}

// --- without a planted fault ---------------------------------------------------------------------------------------

CLEAN_PROGRAM(cuda_clean_two_fields) {
  const std::size_t bytes = 256 * mib;
  float *now = nullptr, *next = nullptr;
  DEVICE_ALLOC(now, bytes);
  DEVICE_ALLOC(next, bytes);
  CHECK(cudaMemset(now, 0, bytes));
  timer.start();
  for (int step = 0; step < 100; ++step) {
    launch_work(next, now, bytes, 100);
    std::swap(now, next);
  }
  timer.stop();
  DEVICE_FREE(now);
  DEVICE_FREE(next);
}

CLEAN_PROGRAM(cuda_clean_async_pool) {
  cudaMemPool_t pool{};
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  std::uint64_t threshold = 256 * mib;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  cudaStream_t stream{};
  CHECK(cudaStreamCreate(&stream));
  float* total = nullptr;
  DEVICE_ALLOC_ASYNC(total, 64 * mib, stream);
  CHECK(cudaMemsetAsync(total, 0, 64 * mib, stream));
  timer.start();
  for (int step = 0; step < 40; ++step) {
    float *first = nullptr, *second = nullptr;
    DEVICE_ALLOC_ASYNC(first, 64 * mib, stream);
    launch_work(first, total, 64 * mib, 1000, stream);
    DEVICE_ALLOC_ASYNC(second, 64 * mib, stream);
    launch_work(second, first, 64 * mib, 1000, stream);
    DEVICE_FREE_ASYNC(first, stream);
    launch_work(total, second, 64 * mib, 100, stream);
    DEVICE_FREE_ASYNC(second, stream);
  }
  timer.stop();
  DEVICE_FREE_ASYNC(total, stream);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
}

}  // namespace

int main(int count, char** words) {
  const std::string name = count > 1 ? words[1] : "";
  if (name == "list") {
    for (const auto& [each, program] : programs())
      std::printf("%s%s fixed\n", each.c_str(), program.clean ? "" : " faulty");
    return 0;
  }
  const std::string variant = count > 2 ? words[2] : "fixed";
  int passes = 3;
  for (int i = 3; i + 1 < count; ++i) {
    if (std::strcmp(words[i], "--passes") == 0) passes = std::max(1, std::atoi(words[i + 1]));
  }
  const auto found = programs().find(name);
  if (found == programs().end() || (variant != "fixed" && (variant != "faulty" || found->second.clean))) {
    std::fprintf(
        stderr,
        "faults: no program '%s %s'; expected: faults NAME faulty|fixed [--passes N]; `faults list` shows the names\n",
        name.c_str(), variant.c_str());
    return 2;
  }
  timer clock;
  for (int pass = 0; pass < passes + (passes > 1 ? 1 : 0); ++pass) found->second.run(variant == "faulty", clock);
  std::printf(
      "{\"program\": \"%s\", \"variant\": \"%s\", \"peak_bytes\": %zu, \"reserved_bytes\": %zu, \"ms\": %.3f}\n",
      name.c_str(), variant.c_str(), memory.peak, clock.reserved(), clock.median());
  return 0;
}
