#include "instrumentation/capture/stacks/driver_caller.hpp"

#include <string.h>

#include <atomic>

#include "instrumentation/capture/stacks/modules.hpp"
#include "instrumentation/ring/hot.hpp"

namespace sluice::capture {

namespace {

/// Size of the table of known addresses, which is indexed by their low bits. The top bit of an entry is set for CUDA's
/// code. Addresses have 47 bits and are never 0.
constexpr std::size_t slots = 1024;
constexpr std::uint64_t is_cuda_bit = std::uint64_t{1} << 63;
constinit std::atomic<std::uint64_t> known[slots];

bool is_cuda_file(const char* path) {
  if (path == nullptr) return false;
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* own : {"libcuda.so", "libcudart.so", "libcudart-", "libcupti.so", "libcupti-"}) {
    if (strncmp(name, own, strlen(own)) == 0) return true;
  }
  return false;
}

SLUICE_RARE std::uint64_t look_up(std::uint64_t pc) {
  loaded_module module;
  const bool cuda = find_module(pc - 1, module) && is_cuda_file(module.path);
  return pc | (cuda ? is_cuda_bit : 0);
}

bool is_cuda(std::uint64_t pc) {
  std::atomic<std::uint64_t>& slot = known[pc % slots];
  std::uint64_t found = slot.load(std::memory_order_relaxed);
  if ((found & ~is_cuda_bit) != pc) {
    found = look_up(pc);
    slot.store(found, std::memory_order_relaxed);
  }
  return (found & is_cuda_bit) != 0;
}

}  // namespace

std::size_t driver_caller(const std::uint64_t* frames, std::size_t count) noexcept {
  std::size_t at = 0;
  while (at < count && is_cuda(frames[at])) ++at;
  return at;
}

void forget_driver_callers() noexcept {
  for (auto& slot : known) slot.store(0, std::memory_order_relaxed);
}

}  // namespace sluice::capture
