// Stands in for libnvrtc: a compilation takes 20 ms of the CPU.
#include <time.h>

extern "C" __attribute__((visibility("default"))) int nvrtcCompileProgram(void* program, int count,
                                                                          const char* const* options) {
  timespec begin{};
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000L + now.tv_nsec - begin.tv_nsec < 20'000'000);
  return program == nullptr && options == nullptr ? count : -1;
}
