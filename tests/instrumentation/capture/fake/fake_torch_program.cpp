// fake_torch_program: a "PyTorch program" for machines without PyTorch or a GPU. Like Python, it loads its libraries
// with local symbols.
//
//   fake_torch_program native|expandable|threads|fork|out-of-memory LEDGER    allocates from the fake caching allocator
//   fake_torch_program retry LEDGER       as native, and then a block for which the cache must be emptied
//   fake_torch_program late|killed LEDGER as native, then frees a block in a static destructor, or ends by SIGKILL
//   fake_torch_program async LEDGER       by cuMemAllocAsync, as PyTorch with backend:cudaMallocAsync: reports nothing
//   fake_torch_program host LEDGER        host tensors only; never uses CUDA
//
// The ledger has one line for each action, in order: alloc ADDRESS BYTES, free ADDRESS, and at the end
// totals ALLOCATED RESERVED and real USAGE_CALLS FAILURES (the reports that reached libc10 itself).
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/instrumentation/capture/fake/fake_c10.hpp"
#include "tests/instrumentation/capture/fake/fake_c10_cuda.hpp"

namespace {

std::mutex ledger_mutex;
std::vector<std::string> ledger;

void say(const std::string& line) {
  std::lock_guard lock(ledger_mutex);
  ledger.push_back(line);
}

template <class Function>
Function find(void* library, const char* name) {
  auto* const found = reinterpret_cast<Function>(dlsym(library, name));
  if (found == nullptr) {
    std::fprintf(stderr, "fake_torch_program: %s is missing\n", name);
    std::exit(2);
  }
  return found;
}

void* allocate(fake_allocator& allocator, std::size_t bytes) {
  void* address = allocator.allocate(bytes);
  if (address != nullptr)
    say("alloc " + std::to_string(reinterpret_cast<std::uintptr_t>(address)) + " " + std::to_string(bytes));
  return address;
}
void release(fake_allocator& to, void* address) {
  say("free " + std::to_string(reinterpret_cast<std::uintptr_t>(address)));
  to.release(address);
}

/// Blocks of many sizes, some larger than a segment. A third of them stay allocated to the end.
void work(fake_allocator& with, unsigned seed) {
  std::vector<void*> held;
  for (unsigned i = 0; i < 300; ++i) {
    seed = seed * 1664525 + 1013904223;
    const std::size_t bytes = ((seed >> 8) % 64 + 1) * (i % 50 == 0 ? 65536U : 512U);
    held.push_back(allocate(with, bytes));
    if (i % 3 != 0) {
      const std::size_t which = (seed >> 4) % held.size();
      release(with, held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

/// Frees a block after everything else, like a tensor in a global variable.
struct late_release {
  fake_allocator* to = nullptr;
  void* block = nullptr;
  ~late_release() {
    if (block != nullptr) to->release(block);
  }
};
late_release at_the_very_end;

/// A data loader's worker: shares host tensors and never uses CUDA. Runs no destructors at its end, like
/// multiprocessing's workers.
int worker(fake_allocator& torch) {
  const pid_t child = fork();
  if (child == 0) {
    int tensor[64];
    torch.report_host_tensor(tensor, sizeof tensor);
    torch.report_host_tensor(tensor, -static_cast<std::int64_t>(sizeof tensor));
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void start_cuda() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  CUcontext context = nullptr;
  find<CUresult (*)(unsigned)>(driver, "cuInit")(0);
  find<CUresult (*)(CUcontext*, CUdevice)>(driver, "cuDevicePrimaryCtxRetain")(&context, 0);
  find<CUresult (*)(CUcontext)>(driver, "cuCtxSetCurrent")(context);
}

void work_asynchronously() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto alloc = find<CUresult (*)(CUdeviceptr*, std::size_t, CUstream)>(driver, "cuMemAllocAsync");
  for (std::size_t i = 1; i <= 20; ++i) {
    CUdeviceptr address = 0;
    alloc(&address, i * 512, nullptr);
    say("alloc " + std::to_string(address) + " " + std::to_string(i * 512));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string mode = argv[1];
  const std::string folder = std::string(argv[0]).substr(0, std::string(argv[0]).rfind('/'));
  void* torch = dlopen((folder + "/libc10_cuda.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (torch == nullptr) {
    std::fprintf(stderr, "fake_torch_program: %s\n", dlerror());
    return 2;
  }
  fake_allocator& allocator = *find<fake_allocator* (*)(bool)>(torch, "fake_torch_allocator")(mode == "expandable");
  int status = 0;
  if (mode == "host") {
    int tensor[64];
    allocator.report_host_tensor(tensor, sizeof tensor);
  } else {
    start_cuda();
    if (mode == "async") {
      work_asynchronously();
    } else if (mode == "threads") {
      std::thread other([&] { work(allocator, 7); });
      work(allocator, 1);
      other.join();
    } else {
      work(allocator, 1);
    }
    if (mode == "late") {
      at_the_very_end.to = &allocator;
      at_the_very_end.block = allocate(allocator, 512);
    }
    if (mode == "fork") status = worker(allocator);
    if (mode == "retry") {
      // The device has 8 GiB.
      constexpr std::size_t gib = std::size_t{1} << 30;
      release(allocator, allocate(allocator, 5 * gib));
      if (allocate(allocator, 6 * gib) == nullptr) status = 3;
    }
    if (mode == "out-of-memory" && allocator.allocate(std::size_t{1} << 50) != nullptr) status = 3;
  }
  const fake_c10_calls reported =
      find<fake_c10_calls (*)()>(dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD), "fake_c10_was_called")();
  std::ofstream out(argv[2]);
  for (const std::string& line : ledger) out << line << '\n';
  out << "totals " << allocator.allocated() << ' ' << allocator.reserved() << '\n';
  out << "real " << reported.usage << ' ' << reported.failures << '\n';
  out.close();
  if (mode == "killed") kill(getpid(), SIGKILL);
  return status == 0 ? 0 : 3;
}
