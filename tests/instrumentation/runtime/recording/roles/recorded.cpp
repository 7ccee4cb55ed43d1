// The programs of recorded_process_test.cpp. The command line selects one by name.
#include "tests/instrumentation/runtime/recording/roles/recorded.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/pool_library/sluice_pool.h"
#include "instrumentation/runtime/pool_memory_resource.hpp"

namespace sluice::runtime::recorded_roles {
namespace {

/// Ends right after it has freed its last blocks. Its ring has no room for these frees.
int frees_at_its_end_what_its_ring_cannot_say(const device_ref& device) {
  const auto p = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(device));
  const stream s(device);
  std::vector<void*> gone;
  for (int i = 0; i < 10; ++i) {
    gone.push_back(p->allocate(s, gone_bytes));
    (void)p->allocate(s, kept_bytes);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // By now the writer has received these events.
  const auto flood = [&] {
    const std::uint64_t before = ring::lost_memory_events();
    while (ring::lost_memory_events() == before) {
      for (int i = 0; i < 2000; ++i) p->deallocate(s, p->allocate(s, hit_bytes), hit_bytes);
    }
  };
  flood();
  for (void* const block : gone) p->deallocate(s, block, gone_bytes);
  flood();
  // Keeps the pool, like a program that ends without freeing its memory.
  [[maybe_unused]] static const auto* const held = new std::shared_ptr(p);
  std::exit(0);
}

/// Has one pool in the program and one in a library that it loads; each has its own rings.
int has_the_runtime_twice(const device_ref& device) {
  void* const library = dlopen(SLUICE_BINARY_DIR "/libsluice_pool.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 1;
  const auto theirs_malloc = reinterpret_cast<decltype(&::sluice_malloc)>(dlsym(library, "sluice_malloc"));
  const auto theirs_free = reinterpret_cast<decltype(&::sluice_free)>(dlsym(library, "sluice_free"));
  pool_memory_resource ours(std::make_shared<device_memory_resource>(device), {.name = "the program's"});
  const stream s(device);
  for (int i = 0; i < 100; ++i) {
    void* const mine = ours.allocate(s, gone_bytes);
    void* const theirs = theirs_malloc(gone_bytes, 0, nullptr);
    // Both number their pools from one, and each may free while the other's blocks are live.
    if (mine == nullptr || theirs == nullptr || mine == theirs) return 2;
    theirs_free(theirs, gone_bytes, 0, nullptr);
    ours.deallocate(s, mine, gone_bytes);
  }
  (void)ours.allocate(s, kept_bytes);
  (void)theirs_malloc(hit_bytes, 0, nullptr);
  std::exit(0);  // The pool is not destroyed.
}

}  // namespace
}  // namespace sluice::runtime::recorded_roles

int main(int argc, char** argv) {
  using namespace sluice::runtime;
  if (argc != 2) return 70;
  if (!is_available() || !sluice::ring::active()) return recorded_roles::no_device;
  const std::string_view role = argv[1];
  if (role == "frees_at_its_end_what_its_ring_cannot_say")
    return recorded_roles::frees_at_its_end_what_its_ring_cannot_say(devices().front());
  if (role == "has_the_runtime_twice") return recorded_roles::has_the_runtime_twice(devices().front());
  return 71;
}
