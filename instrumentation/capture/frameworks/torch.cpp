// Records every allocation and free of PyTorch's caching allocator as blocks of the framework layer. The hooks run
// while the allocator's mutex is held. So they take no lock, and never the GIL, because a thread that holds the GIL may
// be waiting for that mutex.
//
// Because of the mutex, no address is reused between its free and our record, so the hooks may take the time
// themselves. The sum of the blocks is exactly PyTorch's allocated bytes, because PyTorch reports a free when the free
// is requested. With backend:cudaMallocAsync, PyTorch reports nothing, and tensors are recorded as blocks of the
// driver's pool. With expandable_segments, a block may span several mappings; its parent is the mapping in which it
// begins.

#include "instrumentation/capture/frameworks/torch.hpp"

#include <dlfcn.h>
#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/blocks/live_blocks.hpp"
#include "instrumentation/capture/process/recording.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/stacks/autograd.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer_emit.hpp"

namespace c10 {

/// This type has the layout of PyTorch's type: two bytes, passed in a register.
struct Device {
  std::int8_t type;
  std::int8_t index;
};

// The ABI of PyTorch's c10/core/Allocator.h, unchanged since 1.12.
__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(void* address, std::int64_t bytes,
                                                                        std::size_t total_allocated,
                                                                        std::size_t total_reserved, Device device);
__attribute__((visibility("default"))) void reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t total_allocated,
                                                                        std::size_t total_reserved, Device device);

}  // namespace c10

namespace sluice::capture::torch {

namespace {

constexpr std::int8_t cuda_device = 1;  // c10::DeviceType::CUDA
constexpr const char* block_name = "PyTorch";

using usage_function = void (*)(void*, std::int64_t, std::size_t, std::size_t, c10::Device);
using failure_function = void (*)(std::int64_t, std::size_t, std::size_t, c10::Device);
SLUICE_HOT_DATA constinit std::atomic<usage_function> real_usage{nullptr};
std::atomic<failure_function> real_failure{nullptr};

constexpr const char* usage_symbol = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr const char* failure_symbol = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";

/// Finds PyTorch's own function. Must not return `ours`, which would then call itself endlessly.
template <class Function>
void find(void* library, const char* symbol, void* ours, std::atomic<Function>& function) {
  // Python loads libc10 with local scope, so RTLD_NEXT does not find it.
  void* found = library != nullptr ? dlsym(library, symbol) : nullptr;
  if (found == nullptr || found == ours) found = dlsym(RTLD_NEXT, symbol);
  if (found != nullptr && found != ours) function.store(reinterpret_cast<Function>(found), std::memory_order_release);
}

/// The last totals that PyTorch reported for a device. The allocator's mutex allows one writer at a time; readers retry
/// until they see consistent values (a sequence lock).
struct alignas(32) stated_totals {
  std::atomic<std::uint32_t> version{0};  ///< Odd while being changed.
  std::atomic<std::uint64_t> time{0};
  std::atomic<std::uint64_t> allocated{0};
  std::atomic<std::uint64_t> reserved{0};

  void set(std::uint64_t now, std::uint64_t in_use, std::uint64_t held) noexcept {
    const std::uint32_t begun = version.load(std::memory_order_relaxed) | 1U;
    version.store(begun, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    time.store(now, std::memory_order_relaxed);
    allocated.store(in_use, std::memory_order_relaxed);
    reserved.store(held, std::memory_order_relaxed);
    version.store(begun + 1, std::memory_order_release);
  }
};
stated_totals totals[max_devices];

/// Per device: whether the counters' names have been sent, and the time of the last values sent.
struct sent_totals {
  bool introduced = false;
  std::uint64_t time = 0;
};
sent_totals sent[max_devices];
gate reporting;

std::uint64_t counter_key(const char* name, std::uint32_t device) { return ring::intern(name) + device; }

void introduce(const char* name, std::uint32_t device) {
  ring::counter_record out{};
  out.header.time = ring::now();
  out.counter = counter_key(name, device);
  out.name = ring::intern(name);
  out.unit = raw(trace::counter_unit::bytes);
  out.device = device;
  ring::emit(out);
}

void send(const char* name, std::uint32_t device, std::uint64_t time, std::uint64_t bytes) {
  ring::counter_value_record out{};
  out.header.time = time;
  out.counter = counter_key(name, device);
  out.value = static_cast<double>(bytes);
  ring::emit(out);
}

constexpr const char* allocated_counter = "PyTorch allocated";
constexpr const char* reserved_counter = "PyTorch reserved";

void report_totals_of(std::uint32_t device) {
  const stated_totals& stated = totals[device];
  for (int attempt = 0; attempt < 64; ++attempt) {
    const std::uint32_t before = stated.version.load(std::memory_order_acquire);
    if (before == 0) return;  // Never reported.
    const std::uint64_t time = stated.time.load(std::memory_order_relaxed);
    const std::uint64_t allocated = stated.allocated.load(std::memory_order_relaxed);
    const std::uint64_t reserved = stated.reserved.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if ((before & 1U) != 0 || stated.version.load(std::memory_order_relaxed) != before) continue;
    if (time == sent[device].time) return;
    sent[device].time = time;
    if (!sent[device].introduced) {
      introduce(allocated_counter, device);
      introduce(reserved_counter, device);
      sent[device].introduced = true;
    }
    send(allocated_counter, device, time, allocated);
    send(reserved_counter, device, time, reserved);
    return;
  }
}

/// Key of the block name once the name has been sent to this writer; 0 before.
SLUICE_HOT_DATA constinit std::atomic<std::uint64_t> name_key{0};

SLUICE_RARE std::uint64_t send_name() {
  const std::uint64_t key = ring::intern(block_name);
  name_key.store(key, std::memory_order_relaxed);
  return key;
}

SLUICE_INLINE std::uint64_t name_of_blocks() {
  const std::uint64_t known = name_key.load(std::memory_order_relaxed);
  return known != 0 ? known : send_name();
}

std::uint32_t to_number(c10::Device device) {
  return device.index < 0 ? ring::no_device : static_cast<std::uint32_t>(device.index);
}

/// This and the next function run while the allocator's mutex is held, so a block's two records and its entry in the
/// table stay in order.
void block_appears(std::uint64_t address, std::uint64_t bytes, std::uint64_t now, std::uint32_t device) {
  ring::emit_framework_alloc(now, address, bytes, name_of_blocks(), current_stack(), device);
  live_blocks::add({address, bytes, trace::layer::framework, trace::memory_kind::device, device});
}

void block_goes(std::uint64_t address, std::uint64_t now) {
  live_blocks::remove(address, trace::layer::framework, trace::memory_kind::device);
  ring::emit_framework_free(now, address);
}

SLUICE_HOT void usage_changed(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                              c10::Device device) {
  if (address == nullptr || bytes == 0 || !recording()) return;
  const auto where = reinterpret_cast<std::uint64_t>(address);
  const std::uint32_t number = to_number(device);
  // Prefetches the memory that is written at the end, while the stack is walked.
  ring::expect_event();
  live_blocks::expect(where, trace::layer::framework);
  if (number < max_devices) ring::expect_write(&totals[number]);
  const std::uint64_t now = ring::now();
  if (bytes > 0) {
    block_appears(where, static_cast<std::uint64_t>(bytes), now, number);
  } else {
    block_goes(where, now);
  }
  if (number < max_devices) totals[number].set(now, allocated, reserved);
}

void out_of_memory(std::int64_t bytes, c10::Device device) {
  if (!recording()) return;
  ring::alloc_failed_record out{};
  out.header.time = ring::now();
  out.bytes = bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
  out.name = name_of_blocks();
  out.stack = current_stack();
  out.status = CUDA_ERROR_OUT_OF_MEMORY;
  out.device = to_number(device);
  out.layer = raw(trace::layer::framework);
  out.kind = raw(trace::memory_kind::device);
  ring::emit(out);
}

}  // namespace

void find_real_functions() noexcept {
  void* library = dlopen("libc10.so", RTLD_NOW | RTLD_NOLOAD);
  find(library, usage_symbol, reinterpret_cast<void*>(&c10::reportMemoryUsageToProfiler), real_usage);
  find(library, failure_symbol, reinterpret_cast<void*>(&c10::reportOutOfMemoryToProfiler), real_failure);
  autograd::find_real_functions();
}

void report_totals() noexcept {
  if (!reporting.lock()) return;
  for (std::uint32_t device = 0; device < max_devices; ++device) report_totals_of(device);
  reporting.unlock();
}

void forget_totals() noexcept {
  reporting.unlock();
  for (sent_totals& s : sent) s = {};
  name_key.store(0, std::memory_order_relaxed);
}

}  // namespace sluice::capture::torch

namespace torch_hooks = sluice::capture::torch;

/// PyTorch also calls this for some host tensors (shared tensors, or while its profiler runs). Such calls are only
/// passed on to PyTorch.
SLUICE_HOT void c10::reportMemoryUsageToProfiler(void* address, std::int64_t bytes, std::size_t total_allocated,
                                                 std::size_t total_reserved, Device device) {
  using namespace torch_hooks;
  if (device.type == cuda_device) usage_changed(address, bytes, total_allocated, total_reserved, device);
  auto real = real_usage.load(std::memory_order_acquire);
  if (real == nullptr) {  // CUDA has not started, so no mutex of the allocator is held.
    find_real_functions();
    real = real_usage.load(std::memory_order_acquire);
  }
  if (real != nullptr) real(address, bytes, total_allocated, total_reserved, device);
}

void c10::reportOutOfMemoryToProfiler(std::int64_t bytes, std::size_t total_allocated, std::size_t total_reserved,
                                      Device device) {
  using namespace torch_hooks;
  if (device.type == cuda_device) out_of_memory(bytes, device);
  auto real = real_failure.load(std::memory_order_acquire);
  if (real == nullptr) {
    find_real_functions();
    real = real_failure.load(std::memory_order_acquire);
  }
  if (real != nullptr) real(bytes, total_allocated, total_reserved, device);
}
