// A CUDA program that pauses its recording: copies and allocations before, during and after the pause. With an argument,
// it pauses only sampling, and computes for a while in each part.
#include <cuda.h>
#include <time.h>

#include "instrumentation/capture/sluice.h"

namespace {

void compute(long milliseconds) {
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 < milliseconds);
}

}  // namespace

int main(int argc, char**) {
  CUcontext context = nullptr;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  char host[64] = {};
  const auto work = [&] {
    CUdeviceptr block = 0;
    cuMemAlloc(&block, sizeof host);
    cuMemcpyHtoD(block, host, sizeof host);
    cuMemsetD8(block, 0, sizeof host);
    return block;
  };
  if (argc > 1) {
    work();
    compute(400);
    sluice_pause_sampling();
    sluice_pause_sampling();
    work();
    compute(600);
    sluice_resume_sampling();
    sluice_resume_sampling();
    work();
    compute(400);
    return 0;
  }
  const CUdeviceptr before = work();
  sluice_pause();
  sluice_pause();  // A second pause has no effect.
  work();
  work();
  cuMemFree(before);
  sluice_resume();
  work();
  sluice_resume();  // There is no pause to end.
  return 0;
}
