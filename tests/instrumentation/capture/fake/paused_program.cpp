// A CUDA program that pauses its recording: copies and allocations before, during and after the pause.
#include <cuda.h>

#include "instrumentation/capture/sluice.h"

int main() {
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
