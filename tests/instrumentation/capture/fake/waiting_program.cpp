// A CUDA program whose threads wait: the main thread, and threads that were started while the driver was initialised.
// Each of the latter allocates `bytes_of_a_thread` bytes and waits once. The main thread fills memory `fills` times.

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

constexpr std::size_t bytes_of_a_thread = 100;
constexpr std::size_t most_threads = 64;
constexpr int fills = 20;

std::mutex mutex;
std::condition_variable nothing_happens;
std::atomic<bool> initialised{false};

/// Waits for another thread for 20 ms; no other thread ends the wait.
void wait_once() {
  std::unique_lock lock(mutex);
  nothing_happens.wait_until(lock, std::chrono::system_clock::now() + 20ms, [] { return false; });
}

void allocate_and_wait(CUcontext& context) {
  while (!initialised) std::this_thread::sleep_for(1ms);
  cuCtxSetCurrent(context);
  CUdeviceptr block = 0;
  cuMemAlloc(&block, bytes_of_a_thread);
  wait_once();
}

}  // namespace

int main() {
  CUcontext context = nullptr;
  std::vector<std::thread> others;
  std::atomic<bool> done{false};
  std::thread starter([&] {
    do {
      others.emplace_back(allocate_and_wait, std::ref(context));
      std::this_thread::sleep_for(500us);
    } while (!done && others.size() < most_threads);
  });
  cuInit(0);
  done = true;
  starter.join();
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  initialised = true;
  CUdeviceptr block = 0;
  cuMemAlloc(&block, 1 << 20);
  for (int i = 0; i < fills; ++i) {
    cuMemsetD8(block, 0, 1 << 20);
    wait_once();
  }
  for (std::thread& other : others) other.join();
  return 0;
}
