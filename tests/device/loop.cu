// A plain CUDA program with a loop, for run-trainings: simulates heat in a plate until the change is small. NVTX marks
// show where its steps start.
// loop [STEPS]

#include <cstdio>
#include <cstdlib>

#include <nvtx3/nvToolsExt.h>

namespace {

constexpr int side = 1024;

__global__ void flow(const float* from, float* to) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x),
            y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x < 1 || y < 1 || x >= side - 1 || y >= side - 1) return;
  const int at = y * side + x;
  to[at] = 0.25F * (from[at - 1] + from[at + 1] + from[at - side] + from[at + side]);
}

__global__ void difference(const float* a, const float* b, float* sum) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at < side * side) atomicAdd(sum, fabsf(a[at] - b[at]));
}

__global__ void heat(float* plate, int step) { plate[(step % side) * side] = 100; }

void need(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 12;
  float *a = nullptr, *b = nullptr, *sum = nullptr;
  need(cudaMalloc(&a, sizeof(float) * side * side));
  need(cudaMalloc(&b, sizeof(float) * side * side));
  need(cudaMalloc(&sum, sizeof(float)));
  need(cudaMemset(a, 0, sizeof(float) * side * side));
  need(cudaMemset(b, 0, sizeof(float) * side * side));
  for (int step = 0; step < steps; ++step) {
    nvtxMarkA("truth step");
    need(cudaMemset(sum, 0, sizeof(float)));
    heat<<<1, 1>>>(a, step);
    for (int i = 0; i < 4; ++i) {
      flow<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(a, b);
      flow<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(b, a);
    }
    difference<<<side * side / 256, 256>>>(a, b, sum);
    float change = 0;
    need(cudaMemcpy(&change, sum, sizeof change, cudaMemcpyDeviceToHost));
  }
  need(cudaDeviceSynchronize());
  std::printf("{\"steps\": %d}\n", steps);
}
