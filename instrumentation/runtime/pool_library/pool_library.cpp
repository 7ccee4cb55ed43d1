#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/graph/capture_list.hpp"
#include "instrumentation/runtime/memory/c_boundary.hpp"
#include "instrumentation/runtime/pool_library/sluice_pool.h"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/state/device_state.hpp"

#define SLUICE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace sluice::runtime;
using c_boundary::guarded, c_boundary::last_error;

namespace {

/// The state of this library for one device.
struct device_pools {
  explicit device_pools(const device_ref& d) : device(d) {}

  device_ref device;
  std::mutex mutex;
  pool_options options{.name = "libsluice_pool"};  ///< as configured
  std::uint64_t part_limit = 0;                    ///< limit that PyTorch has set, in bytes; 0: no limit
  std::atomic<pool_memory_resource*> pool{nullptr}, pinned{nullptr};
  std::mutex after_all_mutex;    ///< locked while captures are held off; no calls are made while it is locked
  std::vector<void*> after_all;  ///< freed, but waiting for the whole device

  pool_memory_resource& device_pool() {
    pool_memory_resource* there = pool.load(std::memory_order_acquire);
    if (there != nullptr) return *there;
    const std::lock_guard lock(mutex);
    // Never destroyed, because callers may free at process exit.
    if (pool.load() == nullptr)
      pool = new pool_memory_resource(std::make_shared<device_memory_resource>(device), with_limit());
    return *pool;
  }
  /// Call with the mutex held.
  [[nodiscard]] pool_options with_limit() const {
    pool_options chosen = options;
    if (part_limit != 0)
      chosen.limit_bytes = chosen.limit_bytes == 0 ? part_limit : std::min(chosen.limit_bytes, part_limit);
    return chosen;
  }
  void limit_there() {
    if (pool_memory_resource* there = pool.load()) there->set_limit(with_limit().limit_bytes);
  }
  pool_memory_resource& pinned_pool() {
    pool_memory_resource* there = pinned.load(std::memory_order_acquire);
    if (there != nullptr) return *there;
    const std::lock_guard lock(mutex);
    if (pinned.load() == nullptr) {
      pinned = new pinned_pool_resource(device, {.name = "libsluice_pool, pinned"});
    }
    return *pinned;
  }
};

const std::vector<std::unique_ptr<device_pools>>& all_pools() {
  static auto* const whole = [] {
    auto* pools = new std::vector<std::unique_ptr<device_pools>>;
    for (const device_ref& d : devices()) pools->push_back(std::make_unique<device_pools>(d));
    return pools;
  }();
  return *whole;
}

device_pools& get_pools(int device) {
  const auto& pools = all_pools();
  if (device < 0 || static_cast<std::size_t>(device) >= pools.size()) {
    throw error({status::invalid_value, 0, "libsluice_pool",
                 fmt::format("no device {}: there are {}, numbered from 0", device, pools.size())});
  }
  return *pools[static_cast<std::size_t>(device)];
}

/// The stream of a native handle. Caches the thread's last one, because creating it costs more than a hit.
template <foreign_captures captures = foreign_captures::asked_about>
const stream_ref& get_stream(const device_ref& device, void* stream) {
  thread_local std::optional<stream_ref> last;
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (!last || last->get() != handle || !(last->device() == device)) {
    last = stream_ref::from_native(device, handle, captures);
  }
  return *last;
}

/// The streams that the calling thread has set, by device.
std::map<int, void*>& chosen_streams() {
  thread_local std::map<int, void*> streams;
  return streams;
}

/// The stream that the calling thread has set for `device`; null if it has not set any, so that its stream is unknown.
void* const* chosen_stream(int device) {
  const auto found = chosen_streams().find(device);
  return found == chosen_streams().end() ? nullptr : &found->second;
}

/// The allocation streams of blocks that are freed without a stream argument. Does not store the default stream.
class allocation_streams {
 public:
  static allocation_streams& get() {
    static auto* const only = new allocation_streams;
    return *only;
  }
  void note(const void* address, int device, void* stream) {
    if (stream == nullptr && count_.load(std::memory_order_relaxed) == 0) return;
    const std::lock_guard lock(mutex_);
    if (stream == nullptr) {
      streams_.erase(address);
    } else {
      streams_[address] = {device, stream};
    }
    count_ = streams_.size();
  }
  /// Empty if the stream was forgotten after its work was done.
  std::optional<void*> take(const void* address) {
    if (count_.load(std::memory_order_relaxed) == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(address);
    if (found == streams_.end()) return nullptr;
    const std::optional<void*> stream = found->second.second;
    streams_.erase(found);
    count_ = streams_.size();
    return stream == forgotten ? std::nullopt : stream;
  }
  void forget(int device, void* stream) {
    const std::lock_guard lock(mutex_);
    for (auto& [address, subject] : streams_) {
      if (subject == std::pair{device, stream}) subject.second = forgotten;
    }
  }

 private:
  static inline char forgotten_mark = 0;
  static inline void* const forgotten = &forgotten_mark;

  std::mutex mutex_;
  std::unordered_map<const void*, std::pair<int, void*>> streams_;
  std::atomic<std::size_t> count_{
      0};  ///< relaxed is enough: a freeing thread got the address, and so the count, from the allocating thread
};

/// Additional streams whose work must be done before a block can be reused.
class recorded_streams {
 public:
  static recorded_streams& get() {
    static auto* const only = new recorded_streams;
    return *only;
  }
  void note(const void* address, void* stream) {
    const std::lock_guard lock(mutex_);
    std::vector<void*>& items = streams_[address];
    if (std::find(items.begin(), items.end(), stream) == items.end()) items.push_back(stream);
    count_ = streams_.size();
  }
  /// Costs one load. Relaxed is enough: a freeing thread got the address from the recording thread.
  [[nodiscard]] static bool any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  std::vector<void*> take(const void* address) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(address);
    if (found == streams_.end()) return {};
    std::vector<void*> streams = std::move(found->second);
    streams_.erase(found);
    count_ = streams_.size();
    return streams;
  }
  /// Call when the stream's work is done.
  void forget(void* stream) {
    const std::lock_guard lock(mutex_);
    for (auto& [address, streams] : streams_) std::erase(streams, stream);
  }

 private:
  static inline constinit std::atomic<std::size_t> count_{0};

  std::mutex mutex_;
  std::unordered_map<const void*, std::vector<void*>> streams_;
};

/// True if no event can order the two: only one is being captured, or they are in different captures.
bool in_different_orders(const sluice::backend::capture_info& a, const sluice::backend::capture_info& b) {
  return a.status != b.status || (a.status != sluice::backend::capture_status::none && a.id != b.id);
}

/// Makes later work on `later` wait for the current work on `earlier`, also inside one graph. A captured stream
/// and an uncaptured one cannot be ordered this way; in that case, the graph owns the memory.
void order(const device_ref& device, void* earlier, void* later) {
  sluice::backend::device& d = device.backend();
  const auto stream = get_stream(device, earlier).handle(), to = get_stream(device, later).handle();
  const auto captured_from = d.stream_capture(stream), captured_to = d.stream_capture(to);
  if (captured_from && captured_to && in_different_orders(*captured_from, *captured_to)) return;
  const auto event = d.create_event({});
  const bool ordered = event && d.record_event(*event, stream) && d.wait_event(to, *event);
  if (event) d.destroy_event(*event);
  if (!ordered) (void)d.sync_stream(stream);
}

template <foreign_captures captures = foreign_captures::asked_about>
void* allocate(pool_memory_resource& resource, std::size_t size, void* stream) {
  return resource.allocate(get_stream<captures>(resource.device(), stream), size, 512);
}

/// Checks a signed size from the C interface.
std::size_t checked(ssize_t size) {
  if (size < 0) throw error({status::invalid_value, 0, "sluice_malloc", fmt::format("negative size: {} bytes", size)});
  return static_cast<std::size_t>(size);
}

template <foreign_captures captures = foreign_captures::asked_about>
void give_back(pool_memory_resource& to, void* address, void* stream) {
  if (address == nullptr) return;
  if (!to.try_deallocate(get_stream<captures>(to.device(), stream), address)) {
    last_error::set(
        fmt::format("sluice_free: {} is not an allocated block of pool '{}'", fmt::ptr(address), to.name()).c_str());
  }
}

/// PyTorch does not check for null, so a failure must be a C++ exception, which it converts to a Python
/// exception. Throws through the caller's C++ library, if loaded: each copy of that library counts its own
/// exceptions, and the copy that is linked in here would not be the copy that catches.
[[noreturn]] void throw_at_caller(const char* line) {
  using thrower = void(const char*);
  static auto* const theirs = [] {
    void* const library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void* const found = library != nullptr ? dlsym(library, "_ZSt21__throw_runtime_errorPKc") : nullptr;
    return reinterpret_cast<thrower*>(found);
  }();
  if (theirs != nullptr) theirs(line);
  throw std::runtime_error(line);
}

template <foreign_captures captures>
void* allocate_or_throw(ssize_t size, int device, void* stream) {
  void* const address = guarded([&] {
    try {
      return allocate<captures>(get_pools(device).device_pool(), checked(size), stream);
    } catch (const out_of_memory& e) {
      // Programs search for these words to retry with less memory.
      throw std::runtime_error(fmt::format("CUDA out of memory. {}", e.what()));
    }
  });
  if (address == nullptr && last_error::there()) throw_at_caller(last_error::get());
  return address;
}

SLUICE_RARE void order_recorded(const device_ref& device, const void* address, void* stream) {
  for (void* const other : recorded_streams::get().take(address)) {
    if (other != stream) order(device, other, stream);
  }
}

template <foreign_captures captures>
void give_back_recorded(int device, void* address, void* stream) {
  device_pools& pools = get_pools(device);
  if (recorded_streams::any()) [[unlikely]]
    order_recorded(pools.device, address, stream);
  give_back<captures>(pools.device_pool(), address, stream);
}

}  // namespace

SLUICE_EXPORT void* sluice_malloc(ssize_t size, int device, void* stream) {
  return guarded([&] { return allocate(get_pools(device).device_pool(), checked(size), stream); });
}

SLUICE_EXPORT void sluice_free(void* address, ssize_t /*size*/, int device, void* stream) {
  guarded([&] { give_back_recorded<foreign_captures::asked_about>(device, address, stream); });
}

SLUICE_EXPORT int sluice_free_after_all(void* const* addresses, size_t count, int device) {
  return guarded([&] {
    device_pools& pools = get_pools(device);
    std::vector<void*> batch;
    {
      const captures_held_off held;
      {
        const std::lock_guard lock(pools.after_all_mutex);
        pools.after_all.insert(pools.after_all.end(), addresses, addresses + count);
        // Waiting for the device would break a capture.
        if (pools.after_all.empty() || capturing()) return 0;
        batch.swap(pools.after_all);
      }
      try {
        pools.device.sync();
      } catch (const error&) {
        const std::lock_guard lock(pools.after_all_mutex);
        pools.after_all.insert(pools.after_all.end(), batch.begin(), batch.end());
        throw;
      }
    }
    for (void* const address : batch) give_back(pools.device_pool(), address, nullptr);
    return last_error::there() ? 1 : 0;
  });
}

SLUICE_EXPORT void sluice_set_stream(int device, void* stream) {
  guarded([&] { chosen_streams()[device] = stream; });
}

SLUICE_EXPORT void* sluice_malloc_current(void* /*param*/, size_t size, int device) {
  return guarded([&] {
    const auto* chosen = chosen_stream(device);
    void* const stream = chosen != nullptr ? *chosen : nullptr;
    void* const address = allocate(get_pools(device).device_pool(), size, stream);
    if (address != nullptr) allocation_streams::get().note(address, device, stream);
    return address;
  });
}

SLUICE_EXPORT void sluice_free_current(void* /*param*/, void* address, int device) {
  guarded([&] {
    device_pools& pools = get_pools(device);
    const std::optional<void*> allocated_on = allocation_streams::get().take(address);
    const auto* chosen = chosen_stream(device);
    void* const current = chosen != nullptr ? *chosen : nullptr;
    if (address != nullptr && allocated_on && chosen != nullptr && *allocated_on != current) {
      order(pools.device, current, *allocated_on);
    }
    give_back(pools.device_pool(), address, allocated_on.value_or(current));
  });
}

SLUICE_EXPORT void* sluice_malloc_host(size_t size, int device, void* stream) {
  return guarded([&] { return allocate(get_pools(device).pinned_pool(), size, stream); });
}

SLUICE_EXPORT void sluice_free_host(void* address, int device, void* stream) {
  guarded([&] { give_back(get_pools(device).pinned_pool(), address, stream); });
}

SLUICE_EXPORT int sluice_pool_configure(int device, uint64_t limit_bytes, int ipc_capable) {
  return guarded([&] {
    device_pools& pools = get_pools(device);
    const std::lock_guard lock(pools.mutex);
    pools.options.limit_bytes = limit_bytes;
    pools.options.ipc_capable = ipc_capable != 0;
    pools.limit_there();
    return 0;
  });
}

SLUICE_EXPORT int sluice_pool_stats(int device, sluice_pool_figures* out) {
  return guarded([&] {
    if (out == nullptr) throw error({status::invalid_value, 0, "sluice_pool_stats", "`out` is null"});
    device_pools& pools = get_pools(device);
    const pool_stats s = pools.device_pool().stats();
    const memory_info whole = pools.device.memory();
    *out = {s.used,          s.requested,      s.reserved,        s.peak_used,      s.peak_reserved,
            s.largest_free,  s.limit,          s.used_blocks,     s.free_blocks,    s.segments,
            s.refused_frees, whole.free_bytes, whole.total_bytes, s.kept_for_graphs};
    return 0;
  });
}

SLUICE_EXPORT int sluice_pool_trim(int device, uint64_t keep_bytes) {
  return guarded([&] {
    device_pools& pools = get_pools(device);
    pools.device_pool().trim(keep_bytes);
    pools.pinned_pool().trim(keep_bytes);
    return 0;
  });
}

SLUICE_EXPORT int sluice_forget_stream(int device, void* stream) {
  return guarded([&] {
    const auto handle = sluice::backend::stream_handle{reinterpret_cast<std::uintptr_t>(stream)};
    get_pools(device).device.state()->retire(handle);
    if (stream != nullptr) {
      allocation_streams::get().forget(device, stream);
      recorded_streams::get().forget(stream);
    }
    return 0;
  });
}

// --- captures ----------------------------------------------------------------------------------------------

SLUICE_EXPORT int sluice_forget_capture(int device, uint64_t id) {
  return guarded([&] { return forget_capture(get_pools(device).device, id), 0; });
}

SLUICE_EXPORT void* sluice_torch_malloc(ssize_t size, int device, void* stream) {
  return allocate_or_throw<foreign_captures::announced>(size, device, stream);
}

SLUICE_EXPORT void* sluice_torch_malloc_asking(ssize_t size, int device, void* stream) {
  return allocate_or_throw<foreign_captures::asked_about>(size, device, stream);
}

SLUICE_EXPORT void sluice_torch_free(void* address, ssize_t /*size*/, int device, void* stream) {
  guarded([&] { give_back_recorded<foreign_captures::announced>(device, address, stream); });
}

SLUICE_EXPORT void sluice_torch_record_stream(void* address, void* stream) {
  guarded([&] {
    // PyTorch does not name the device, and also passes memory of other allocators.
    for (const auto& pool : all_pools()) {
      const pool_memory_resource* const there = pool->pool.load(std::memory_order_acquire);
      if (there != nullptr && there->owns(address)) return recorded_streams::get().note(address, stream);
    }
  });
}

SLUICE_EXPORT void sluice_torch_empty_cache(void) {
  guarded([&] {
    for (const auto& pool : all_pools()) {
      if (pool_memory_resource* const there = pool->pool.load(std::memory_order_acquire)) there->trim();
    }
  });
}

SLUICE_EXPORT void sluice_torch_memory_fraction(double fraction, int device) {
  guarded([&] {
    device_pools& pools = get_pools(device);
    const auto whole = static_cast<double>(pools.device.description().memory_bytes);
    const std::lock_guard lock(pools.mutex);
    pools.part_limit = fraction >= 1 ? 0 : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(fraction * whole));
    pools.limit_there();
  });
}

SLUICE_EXPORT void sluice_torch_begin(int device, uint64_t pool, uint64_t more_of_pool, void* takes) {
  guarded([&] {
    // Copy PyTorch's function object: it belongs to the caller.
    std::function<bool(void*)> asked;
    if (takes != nullptr) asked = *static_cast<const std::function<bool(void*)>*>(takes);
    announced_captures::begin(get_pools(device).device, {pool, more_of_pool}, [asked](std::uintptr_t stream) {
      return !asked || asked(reinterpret_cast<void*>(stream));
    });
  });
}

SLUICE_EXPORT void sluice_torch_end(int device, uint64_t pool, uint64_t more_of_pool) {
  guarded([&] { announced_captures::end(get_pools(device).device, {pool, more_of_pool}); });
}

SLUICE_EXPORT void sluice_torch_release(int device, uint64_t pool, uint64_t more_of_pool) {
  guarded([&] { announced_captures::release(get_pools(device).device, {pool, more_of_pool}); });
}

SLUICE_EXPORT const char* sluice_last_error(void) { return last_error::get(); }
