#pragma once

#include <atomic>
#include <cstdint>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/process/cuda_api.hpp"

/// The capture library's state: the recorded process's contexts, streams and pools, and the work whose device record is
/// still outstanding. The tables have fixed sizes and consist of atomics, so callbacks take no lock. Nothing here is
/// ever destroyed, because callbacks arrive until the process ends.
namespace sluice::capture {

/// The number that represents an enum value of the trace model in a record.
template <class Enum>
[[nodiscard]] constexpr std::uint8_t raw(Enum value) {
  return static_cast<std::uint8_t>(value);
}

inline constexpr unsigned max_devices = 32;
inline constexpr unsigned max_contexts = 64;
inline constexpr unsigned max_pools = 128;

/// A spin lock with a timeout. The flush thread holds `sampler_gate` while it queries contexts and pools. The handlers
/// of calls that destroy a context or a pool lock this gate at the call's entry, where they hold no other lock.
class gate {
 public:
  /// Returns false after one second: the holder is then stuck in the driver, for example after a GPU fault. Do not
  /// unlock in that case. Later calls return false at once until the gate is released.
  [[nodiscard]] bool lock() noexcept;
  void unlock() noexcept {
    stuck_.store(false, std::memory_order_relaxed);
    held_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> held_{false};
  std::atomic<bool> stuck_{false};
};
extern gate sampler_gate;

// --- contexts --------------------------------------------------------------------------------------------------------

struct context_entry {
  enum state_value : std::uint32_t { unused, claimed, fresh, alive, closing };
  std::atomic<std::uint32_t> state{unused};
  std::atomic<CUcontext> handle{nullptr};
  std::atomic<std::uint32_t> id{0};
  std::atomic<std::uint32_t> device{0};
};
extern context_entry contexts[max_contexts];
/// True once any context has been created; before that, there is nothing to flush or sample.
extern std::atomic<bool> any_context;
/// The number of contexts that have been added but not opened yet.
extern std::atomic<std::uint32_t> fresh_contexts;

/// Clears contexts, streams, pools and outstanding work. Call when another recording begins in this process, while no
/// other part of this library is running.
void forget_everything() noexcept;

/// Adds a context that CUPTI reports as being created, or that is seen for the first time. The context is not used
/// before `open_context`. Returns false if the context is already known.
bool add_context(CUcontext handle, std::uint32_t id, std::uint32_t device) noexcept;
/// True if a context with CUPTI's (or our) number `id` was added. O(1), lock-free.
[[nodiscard]] bool knows_context(std::uint32_t id) noexcept;
/// Marks context `id` as usable. Call after a driver call in this context returned. Takes one load, unless some context
/// is new.
void open_context(std::uint32_t id) noexcept;
void remove_context(CUcontext handle) noexcept;
/// Call before a context is destroyed: stops sampling the context, or all contexts of `device` if `handle` is null.
void close_contexts(CUcontext handle, std::uint32_t device) noexcept;
/// Call after `close_contexts` and the destroying call: remaining contexts become usable again (a primary context may
/// still have owners).
void reopen_contexts() noexcept;

/// True if a context of `device` is in use.
[[nodiscard]] bool has_context(std::uint32_t device) noexcept;
/// The number of destroyed contexts. A context number cached for a handle is valid while this number is unchanged.
extern std::atomic<std::uint32_t> contexts_gone;
/// Without CUPTI: our own number for `current`, the calling thread's current context. Takes a few loads; the first call
/// for a context queries the driver and announces the context. 0 if there are too many contexts.
[[nodiscard]] std::uint32_t context_id_of(CUcontext current) noexcept;
/// Without CUPTI: call after cuDevicePrimaryCtxRetain returned `context` for `device`.
void note_primary_context(std::uint32_t device, CUcontext context) noexcept;
/// Without CUPTI: call after a call that ended `context` or, if null, the primary context of `device`. That primary
/// context is removed if no owner is left, or in any case if `whoever_holds_it`.
void contexts_ended(CUcontext context, std::uint32_t device, bool whoever_holds_it) noexcept;

/// True after one of several contexts of a device was destroyed, because only the writer knows which blocks were freed
/// with it.
extern std::atomic<bool> live_blocks_unsure;

/// The device of context number `id`; `ring::no_device` if unknown. O(1), lock-free.
[[nodiscard]] std::uint32_t find_device(std::uint32_t context_id) noexcept;

// --- streams ---------------------------------------------------------------------------------------------------------

/// The key of a stream (`ring::stream_key`). It contains the stream's number: CUPTI's, or the driver's in memory mode.
/// For a new handle, asks for the number and announces the stream to the writer. Lock-free.
[[nodiscard]] std::uint64_t get_stream_key(CUcontext context, std::uint32_t context_id, CUstream stream,
                                           bool per_thread_default) noexcept;
/// Records the program's name for a stream; `name` is a string key.
void name_stream(CUstream stream, std::uint64_t name) noexcept;
void forget_stream(std::uint32_t context_id, CUstream stream) noexcept;

// --- pools -----------------------------------------------------------------------------------------------------------

struct pool_entry {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<std::uint32_t> device{0};
  std::uint64_t reserved = 0;  ///< Last sampled value; flush thread only.
  std::uint64_t used = 0;
};
extern pool_entry pools[max_pools];

/// Announces a pool to the writer, once. `name` is for display.
void add_pool(std::uint64_t handle, std::uint32_t device, const char* name) noexcept;
/// Announces a pool from which the program allocates, unless it is known. One load for the pool of the last call.
void know_pool(std::uint64_t handle, std::uint32_t device) noexcept;
void remove_pool(std::uint64_t handle) noexcept;
/// The pool that cuMemAllocAsync uses on `device`; 0 if unknown.
[[nodiscard]] std::uint64_t current_pool(std::uint32_t device) noexcept;
/// The key of the pool from which graphs on `device` allocate. The driver has no handle for this pool. Announces the
/// pool at first use.
[[nodiscard]] std::uint64_t graph_pool(std::uint32_t device) noexcept;
/// True if a graph on `device` has allocated memory.
[[nodiscard]] bool has_graph_pool(std::uint32_t device) noexcept;
/// Call after cuDeviceSetMemPool: clears the cached result of `current_pool`.
void forget_current_pool(std::uint32_t device) noexcept;

/// True if memory has been allocated or freed since the last sample.
extern std::atomic<bool> memory_changed;

// --- outstanding device work -----------------------------------------------------------------------------------------

/// The calls whose activity record has not arrived yet, indexed by correlation id. The watermark (the time up to which
/// the recording is complete) stays before these calls. There is one word per call, so a launch rarely accesses a cache
/// line that the flush thread has read:
///
///   63          46          32                    0
///   | call / 16384 | stream, hashed | time / 32768 |        at slot call % 16384; 0: nothing outstanding
///
/// If calls share a slot or streams share a hash, the watermark is too early by at most one call.
class pending_work {
 public:
  /// Adds a call at its entry, on its thread. `time` is on the rings' clock.
  void add(std::uint32_t call, std::uint64_t time) noexcept {
    slots_[call % size].store(word(call, 0, time), std::memory_order_release);
  }
  /// Sets the stream of a call, at its exit.
  void goes_to(std::uint32_t call, std::uint64_t time, std::uint64_t stream) noexcept {
    std::atomic<std::uint64_t>& slot = slots_[call % size];
    if (is_of(slot.load(std::memory_order_relaxed), call)) {
      slot.store(word(call, compute_hash(stream), time), std::memory_order_relaxed);
    }
  }
  /// Removes a call that made no device work, or whose work became a graph node.
  void remove(std::uint32_t call) noexcept {
    std::atomic<std::uint64_t>& slot = slots_[call % size];
    if (is_of(slot.load(std::memory_order_relaxed), call)) slot.store(0, std::memory_order_release);
  }
  /// Removes a call whose activity record arrived.
  void delivered(std::uint32_t call, std::uint64_t stream) noexcept;

  /// Call when the host has waited for a stream: work enqueued on `stream` (0: on all streams) before `time` is done.
  void is_done(std::uint64_t stream, std::uint64_t time) noexcept {
    done_[stream == 0 ? 0 : compute_hash(stream)].store(static_cast<std::uint32_t>(time >> time_unit_bits) | 1U,
                                                        std::memory_order_relaxed);
  }

  struct summary {
    std::uint64_t oldest;  ///< Start of the oldest outstanding call, up to 65536 ticks too early; else `limit`.
    std::uint64_t count;   ///< Calls with an outstanding record.
    std::uint64_t done;    ///< How many of these calls are known to be done on the device.
  };
  /// Finds the start of the oldest call before `limit`. Drops calls that never get a record (e.g. an empty copy). These
  /// are calls for which two scans found that the record of a later call on their stream had arrived. O(size); only one
  /// thread may scan.
  summary scan(std::uint64_t limit) noexcept;
  /// Removes all calls. No other thread may use this meanwhile.
  void forget() noexcept;

  /// Removes all calls, because another profiler took their records; returns their number. Scanning thread only.
  std::uint64_t give_up() noexcept;

 private:
  static constexpr std::uint32_t size = 16384;
  static constexpr unsigned time_unit_bits = 15;
  static constexpr std::uint64_t field_mask = size - 1;

  static std::uint64_t word(std::uint32_t call, std::uint64_t stream_hash, std::uint64_t time) noexcept {
    return (std::uint64_t{call / size} << 46) | (stream_hash << 32) |
           static_cast<std::uint32_t>(time >> time_unit_bits) | 1U;
  }
  static bool is_of(std::uint64_t word, std::uint32_t call) noexcept {
    return word != 0 && (word >> 46) == call / size;
  }
  /// A hash of a stream key: 1..16383. In a word, 0 means that the stream is unknown.
  static std::uint64_t compute_hash(std::uint64_t stream) noexcept {
    return ((stream * 0x9E3779B97F4A7C15U) >> 40) % field_mask + 1;
  }

  std::atomic<std::uint64_t> slots_[size];
  std::atomic<std::uint32_t> fronts_[size];  ///< By stream hash: the latest call whose record arrived.
  std::atomic<std::uint32_t> done_[size];    ///< By stream hash: time until which work is done. [0]: all streams.
  std::uint64_t passed_[size];               ///< Words of overdue calls in the last `scan`; its thread only.
};
extern pending_work pending;

/// Stores which executable graph a launch used, by correlation id, because the launch's activity record contains only
/// CUPTI's number for the graph. Keeps the last 4096 launches. Lock-free.
void note_graph_launch(std::uint32_t call, std::uint64_t graph) noexcept;
[[nodiscard]] std::uint64_t graph_of_launch(std::uint32_t call) noexcept;

/// Number of active captures. A launch into a captured stream only defines a graph node, so no device record will
/// arrive.
extern std::atomic<std::int32_t> captures;

/// True between pause and resume, when only memory and the program's own reports are recorded.
extern std::atomic<bool> paused;

// --- activity and the flush thread -----------------------------------------------------------------------------------

/// Registers our buffers and clock with CUPTI, and enables the record kinds that need no context.
void start_activity() noexcept;
/// Disables all activity records. Flush before this call.
void stop_activity() noexcept;
/// Informs CUPTI whether buffers are zeroed: ours are, another profiler's may not be.
void promise_zeroed_buffers(bool zeroed) noexcept;
/// Repeats the setup for existing contexts, after another profiler had CUPTI's records.
void restart_activity() noexcept;
/// Disables (`pause`) or enables (`resume`) the record kinds for device work.
void pause_activity() noexcept;
void resume_activity() noexcept;
/// Starts the records of managed-memory migrations on `device`, which need a context.
void start_migrations(std::uint32_t device) noexcept;
/// Call if managed memory is allocated on `device` in a process recorded without CUPTI. Only CUPTI reports migrations,
/// so the first call opens CUPTI, which takes some milliseconds.
void managed_memory_used(std::uint32_t device) noexcept;
/// True if CUPTI makes records, so that its buffers must be collected.
[[nodiscard]] bool cupti_delivers() noexcept;
/// Numbers of buffers that CUPTI requested and returned since the start.
struct buffer_counts {
  std::uint64_t requested;
  std::uint64_t completed;
};
[[nodiscard]] buffer_counts count_buffers() noexcept;

/// Wakes the flush thread; does not wait.
void wake_flushing() noexcept;
/// Starts the flush thread of this process.
bool start_flushing() noexcept;
/// Asks the flush thread to flush now and waits until it has done so, at most `milliseconds`.
bool flush_now(int milliseconds) noexcept;
/// Makes the flush thread flush for the last time, including incomplete records, and ends it. Waits at most
/// `milliseconds`.
bool finish_flushing(int milliseconds) noexcept;
/// Resets the state in a forked child, which has no flush thread.
void forget_flushing() noexcept;
/// Samples the sizes of all pools on the calling thread, which must not be in a callback.
void sample_pools() noexcept;
/// Samples one pool and records it as `operation`.
void sample_pool(std::uint64_t handle, trace::pool_operation operation) noexcept;

/// Sets whether the program is ending. Contexts that end with the program are not recorded as frees of their blocks.
void note_ending(bool ends) noexcept;

/// CUPTI's callback for the driver API and for resources.
void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
/// Selects the calls to handle in this mode. Returns true if all of them have a replacement entry point.
bool prepare_calls() noexcept;
/// Enables CUPTI's callbacks for the selected calls. Returns how many CUPTI refused. If `late`, contexts and streams
/// may be older than the subscription; they are announced when first seen.
unsigned enable_callbacks(CUpti_SubscriberHandle subscriber, bool late) noexcept;

}  // namespace sluice::capture
