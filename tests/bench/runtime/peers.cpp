#include "tests/bench/runtime/peers.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "instrumentation/runtime/async_pool_resource.hpp"
#include "instrumentation/runtime/callback_memory_resource.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"

namespace sluice::bench {

namespace {

using namespace runtime;

/// PyTorch's caching allocator, as torch_peer.cpp exports it.
struct torch_functions {
  void* (*allocate)(std::size_t bytes, void* stream) = nullptr;
  void (*free)(void* address) = nullptr;
  void (*empty)() = nullptr;
};

const torch_functions& torch() {
  static const torch_functions found = [] {
    torch_functions f;
    const char* path = std::getenv("SLUICE_BENCH_TORCH");
    if (path == nullptr) return f;
    void* library = dlopen(path, RTLD_NOW);
    if (library == nullptr) {
      std::fprintf(stderr, "runtime_benchmarks: no PyTorch: %s\n", dlerror());
      return f;
    }
    f.allocate = reinterpret_cast<decltype(f.allocate)>(dlsym(library, "torch_peer_allocate"));
    f.free = reinterpret_cast<decltype(f.free)>(dlsym(library, "torch_peer_free"));
    f.empty = reinterpret_cast<decltype(f.empty)>(dlsym(library, "torch_peer_empty"));
    return f;
  }();
  return found;
}

/// PyTorch's allocator as a resource, without additional virtual calls and without std::function.
class torch_resource final : public memory_resource {
 public:
  explicit torch_resource(const device_ref& device) : memory_resource(device, memory_space::device) {}
  ~torch_resource() override { torch().empty(); }

 protected:
  void* do_allocate(const stream_ref& stream, std::size_t bytes) override {
    return torch().allocate(bytes, reinterpret_cast<void*>(stream.get()));
  }
  void do_deallocate(const stream_ref&, void* address, std::size_t) noexcept override { torch().free(address); }
};

}  // namespace

std::vector<peer> find_peers(const device_ref& device) {
  std::vector<peer> peers = {
      {"sluice",
       [device]() -> resource_ptr {
         return std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device));
       }},
      {"cudaMalloc", [device]() -> resource_ptr { return std::make_shared<device_memory_resource>(device); }},
      {"cudaMallocAsync, threshold 0",
       [device]() -> resource_ptr { return std::make_shared<async_pool_resource>(device); }},
      {"cudaMallocAsync, threshold max",
       [device]() -> resource_ptr {
         return std::make_shared<async_pool_resource>(device,
                                                      async_pool_options{.release_threshold = ~std::uint64_t{0}});
       }},
  };
  if (!device.simulated() && torch().allocate != nullptr) {
    peers.push_back({"PyTorch's c10", [device]() -> resource_ptr { return std::make_shared<torch_resource>(device); }});
  }
  return peers;
}

}  // namespace sluice::bench
