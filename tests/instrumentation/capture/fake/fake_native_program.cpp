// fake_native_program LIBRARY LIBRARY: a "CUDA program" with known native stacks. It allocates from the fake driver
// through functions of every shape; the number of bytes identifies the function:
//
//   1000 main    2000 a thread    3000 + i the i-th shape of this program, 4000 + i and 5000 + i of the two libraries,
//   which are loaded one after the other (usually at the same address)    6000 a forked child    7000 a signal handler
//
// Prints whether both libraries were loaded at the same address.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "tests/instrumentation/capture/fake/flush_thread.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"

namespace {

using sluice::test::shape;

void* driver = nullptr;
CUresult (*allocate)(CUdeviceptr*, std::size_t) = nullptr;

template <class Function>
Function find(const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(driver, name));
  if (found == nullptr) {
    std::fprintf(stderr, "fake_native_program: %s is missing\n", name);
    std::exit(2);
  }
  return found;
}

[[gnu::noinline]] void allocate_bytes(std::size_t bytes) {
  CUdeviceptr address = 0;
  if (allocate(&address, bytes) != CUDA_SUCCESS) std::exit(3);
}
void allocate_through(void* bytes) {
  allocate_bytes(*static_cast<const std::size_t*>(bytes));
  asm volatile("" : : : "memory");
}

void run_all(const shape* shapes, std::size_t first) {
  for (std::size_t i = 0; shapes[i].name != nullptr; ++i) {
    std::size_t bytes = first + i;
    shapes[i].run(allocate_through, &bytes);
  }
}

const shape* run_library(const char* path, std::size_t first) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "fake_native_program: %s\n", dlerror());
    std::exit(2);
  }
  const shape* const shapes = reinterpret_cast<const shape* (*)()>(dlsym(library, "shapes_library"))();
  run_all(shapes, first);
  dlclose(library);
  sluice::fake::wait_for_flush(500'000);  // The recorder checks for unloaded libraries ten times in this period.
  return shapes;
}

[[gnu::noinline]] void in_a_thread() {
  allocate_bytes(2000);
  asm volatile("" : : : "memory");
}
void in_a_handler(int) {
  allocate_bytes(7000);
  asm volatile("" : : : "memory");  // No tail call, which would leave no frame.
}

}  // namespace

int main(int argc, char** argv) {
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (argc != 3 || driver == nullptr) return 2;
  CUcontext context = nullptr;
  find<CUresult (*)(unsigned)>("cuInit")(0);
  find<CUresult (*)(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain")(&context, 0);
  find<CUresult (*)(CUcontext)>("cuCtxSetCurrent")(context);
  allocate = find<CUresult (*)(CUdeviceptr*, std::size_t)>("cuMemAlloc_v2");

  allocate_bytes(1000);
  std::thread(in_a_thread).join();
  run_all(sluice::test::shapes_plain(), 3000);
  const bool same_place = run_library(argv[1], 4000) == run_library(argv[2], 5000);
  std::signal(SIGUSR1, in_a_handler);
  std::raise(SIGUSR1);
  const pid_t child = fork();
  if (child == 0) {
    allocate_bytes(6000);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::puts(same_place ? "same place" : "different places");
  return status == 0 ? 0 : 4;
}
