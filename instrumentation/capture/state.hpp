#pragma once

#include <atomic>
#include <cstdint>

#include "core/trace/model/kinds.hpp"
#include "instrumentation/capture/start/cuda_api.hpp"

/// What the capture library remembers of its process: contexts, streams, pools, and which work the device still owes us
/// a record of. Fixed sizes, atomics, no locks on the callback paths. Nothing here is ever destroyed: callbacks come until
/// the process ends.
namespace sluice::capture {

/// The number that a record carries for one of the model's closed sets.
template <class Enum>
[[nodiscard]] constexpr std::uint8_t raw(Enum value) {
  return static_cast<std::uint8_t>(value);
}

inline constexpr unsigned max_devices = 32;
inline constexpr unsigned max_contexts = 64;
inline constexpr unsigned max_pools = 128;

/// The only lock: held by the flush thread while it asks the driver about contexts and pools, and taken by calls that
/// destroy them, at their entry edge, where they hold nothing.
class gate {
 public:
  /// False after a second: whoever holds it is stuck in the driver, which a fault of the GPU may bring about. Then there is nothing
  /// to unlock, and the next one waits no more until it has been let go.
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

// --- contexts -----------------------------------------------------------------------------------------------------------

struct context_entry {
  enum state_value : std::uint32_t { unused, claimed, fresh, alive, closing };
  std::atomic<std::uint32_t> state{unused};
  std::atomic<CUcontext> handle{nullptr};
  std::atomic<std::uint32_t> id{0};
  std::atomic<std::uint32_t> device{0};
};
extern context_entry contexts[max_contexts];
/// Any context has been created: before that there is nothing to flush or to sample.
extern std::atomic<bool> any_context;

/// Forgets contexts, streams, pools and what is owed: a recording begins in a process that had another before. Nothing else of
/// this library may be running.
void forget_everything() noexcept;

/// A context that CUPTI says is being created, or that is seen for the first time: nobody may use it before `open_context`.
/// False if it is known already.
bool add_context(CUcontext handle, std::uint32_t id, std::uint32_t device) noexcept;
/// O(1), lock-free.
[[nodiscard]] bool knows_context(std::uint32_t id) noexcept;
/// A call has returned in context `id`: it is whole. One load unless some context is new.
void open_context(std::uint32_t id) noexcept;
void remove_context(CUcontext handle) noexcept;
/// A destroying call begins: nobody samples these until `reopen_contexts`. Null handle: all of `device`.
void close_contexts(CUcontext handle, std::uint32_t device) noexcept;
/// It is over: what was not removed lives on (a primary context may have other owners).
void reopen_contexts() noexcept;

/// A context of `device` is in use.
[[nodiscard]] bool has_context(std::uint32_t device) noexcept;
/// How often a context has gone: a number remembered for a handle holds until the next one does.
extern std::atomic<std::uint32_t> contexts_gone;
/// Where CUPTI gives contexts no number: ours for the calling thread's current context, announced at first sight. A few loads; the
/// first time the driver is asked. 0: there are too many.
[[nodiscard]] std::uint32_t context_id_of(CUcontext current) noexcept;
/// Where CUPTI does not tell: `context` is what cuDevicePrimaryCtxRetain gave for `device`.
void note_primary_context(std::uint32_t device, CUcontext context) noexcept;
/// Likewise: a call has returned that ends `context`, or (null) the primary one of `device`, if nobody holds it any more or
/// `whoever_holds_it`.
void contexts_ended(CUcontext context, std::uint32_t device, bool whoever_holds_it) noexcept;

/// Contexts went, one of several on their device: which blocks went with them only the writer can tell.
extern std::atomic<bool> live_blocks_unsure;

/// The device of CUPTI's context number `id`, `collector::no_device` if unknown. O(1), lock-free.
[[nodiscard]] std::uint32_t device_of(std::uint32_t context_id) noexcept;

// --- streams ------------------------------------------------------------------------------------------------------------

/// CUPTI's number for a stream handle, as a `collector::stream_key`. Lock-free; at the first sight of a handle it asks CUPTI and
/// announces the stream.
[[nodiscard]] std::uint64_t stream_key_of(CUcontext context, std::uint32_t context_id, CUstream stream,
                                          bool per_thread_default) noexcept;
/// The program calls it so; `name` is a text's key.
void name_stream(CUstream stream, std::uint64_t name) noexcept;
void forget_stream(std::uint32_t context_id, CUstream stream) noexcept;

// --- pools --------------------------------------------------------------------------------------------------------------

struct pool_entry {
  std::atomic<std::uint64_t> handle{0};
  std::atomic<std::uint32_t> device{0};
  std::uint64_t reserved = 0;  ///< As last sampled; the flush thread's.
  std::uint64_t used = 0;
};
extern pool_entry pools[max_pools];

/// Announces a pool, once. `name` is shown to people.
void add_pool(std::uint64_t handle, std::uint32_t device, const char* name) noexcept;
void remove_pool(std::uint64_t handle) noexcept;
/// The pool that cuMemAllocAsync uses on `device`; 0 if the driver does not say.
[[nodiscard]] std::uint64_t current_pool(std::uint32_t device) noexcept;
/// The key of the pool that graphs on `device` take their memory from: announced at its first use. It has no handle.
[[nodiscard]] std::uint64_t graph_pool(std::uint32_t device) noexcept;
/// Some graph on `device` has memory of its own.
[[nodiscard]] bool has_graph_pool(std::uint32_t device) noexcept;
/// cuDeviceSetMemPool was called.
void forget_current_pool(std::uint32_t device) noexcept;

/// Memory has been allocated or freed since the last sample.
extern std::atomic<bool> memory_changed;

// --- work the device owes us ----------------------------------------------------------------------------------------------

/// Calls whose activity record has not come yet, by correlation id: what the watermark waits for. One word a call, so that
/// a launch touches a cache line that the flush thread has read as seldom as can be:
///
///   63          46          32                    0
///   | call / 16384 | stream, hashed | time / 32768 |        at slot call % 16384; 0: nothing is owed
///
/// Calls that meet in a slot, or streams that meet in a hash, make the watermark early by one call at worst.
class pending_work {
 public:
  /// At the entry of a call, on its thread; `time` in the rings' clock.
  void add(std::uint32_t call, std::uint64_t time) noexcept {
    slots_[call % size].store(word(call, 0, time), std::memory_order_release);
  }
  /// At its exit: the stream that it went to.
  void goes_to(std::uint32_t call, std::uint64_t time, std::uint64_t stream) noexcept {
    std::atomic<std::uint64_t>& slot = slots_[call % size];
    if (is_of(slot.load(std::memory_order_relaxed), call)) {
      slot.store(word(call, hash_of(stream), time), std::memory_order_relaxed);
    }
  }
  /// It came to nothing, or became a graph's node.
  void remove(std::uint32_t call) noexcept {
    std::atomic<std::uint64_t>& slot = slots_[call % size];
    if (is_of(slot.load(std::memory_order_relaxed), call)) slot.store(0, std::memory_order_release);
  }
  /// Its record has come.
  void delivered(std::uint32_t call, std::uint64_t stream) noexcept;

  /// The host has waited for `stream` (0: for all of them) since `time`: what was enqueued before is done.
  void is_done(std::uint64_t stream, std::uint64_t time) noexcept {
    done_[stream == 0 ? 0 : hash_of(stream)].store(static_cast<std::uint32_t>(time >> time_unit_bits) | 1U,
                                                   std::memory_order_relaxed);
  }

  struct summary {
    std::uint64_t oldest;  ///< `limit` when nothing older is owed; at most 65536 ticks before the call otherwise.
    std::uint64_t count;   ///< Calls that are owed a record.
    std::uint64_t done;    ///< Of those, calls whose work is known to be done.
  };
  /// The oldest time owed before `limit`. Gives up on calls that never get a record (an empty copy, say): a later one on
  /// their stream has been delivered since the last scan but one. O(size); one thread's.
  summary scan(std::uint64_t limit) noexcept;
  /// Nothing is owed. While nobody else uses this.
  void forget() noexcept;

  /// Their records will not come. Returns how many there were. The scanning thread's.
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
  /// 1..16383; 0 is a stream not known.
  static std::uint64_t hash_of(std::uint64_t stream) noexcept {
    return ((stream * 0x9E3779B97F4A7C15U) >> 40) % field_mask + 1;
  }

  std::atomic<std::uint64_t> slots_[size];
  std::atomic<std::uint32_t> fronts_[size];  ///< By a stream's hash: the latest call that was delivered.
  std::atomic<std::uint32_t> done_[size];  ///< Likewise: up to when its work is known to be done. At 0: of all streams.
  std::uint64_t passed_[size];             ///< Words that the last scan found passed by; the scanning thread's.
};
extern pending_work pending;

/// Which executable graph a launch is of, for the record that comes of it later and knows CUPTI's number only. The last
/// 4096 launches are known. Lock-free.
void note_graph_launch(std::uint32_t call, std::uint64_t graph) noexcept;
[[nodiscard]] std::uint64_t graph_of_launch(std::uint32_t call) noexcept;

/// Streams under capture: a launch into one is a graph node's definition, and the device owes nothing for it.
extern std::atomic<std::int32_t> captures;

/// The program wants only its memory recorded, and what it says itself, until it says otherwise.
extern std::atomic<bool> paused;

// --- activity and the flush thread ------------------------------------------------------------------------------------

/// Registers our buffers and our clock, and enables the kinds of records that need no context.
void start_activity() noexcept;
/// No record is made any more. What was made is flushed before.
void stop_activity() noexcept;
/// Whether CUPTI may take it that buffers are zeroes: ours are, another profiler's may not be.
void promise_zeroed_buffers(bool zeroed) noexcept;
/// All of it again, after another profiler had CUPTI's records, for contexts that are there already.
void restart_activity() noexcept;
/// The kinds of records that tell of work, off and on again.
void pause_activity() noexcept;
void resume_activity() noexcept;
/// What needs a context: managed-memory migrations.
void start_migrations(std::uint32_t device) noexcept;
/// In a process that did without CUPTI, managed memory was allocated on `device`: only CUPTI tells of its migrations. Opens it the
/// first time, which takes some milliseconds.
void managed_memory_used(std::uint32_t device) noexcept;
/// CUPTI is asked for records: its buffers are to be fetched.
[[nodiscard]] bool cupti_delivers() noexcept;
/// Buffers that CUPTI has asked for, and handed back, since the start.
struct buffer_counts {
  std::uint64_t requested;
  std::uint64_t completed;
};
[[nodiscard]] buffer_counts count_buffers() noexcept;

/// Lets the flush thread look at once. Does not wait.
void wake_flushing() noexcept;
/// Starts the flush thread of this process.
bool start_flushing() noexcept;
/// Asks the flush thread to flush now and waits until it has, at most `milliseconds`.
bool flush_now(int milliseconds) noexcept;
/// The last flush, incomplete records included; the flush thread ends. Waits at most `milliseconds`.
bool finish_flushing(int milliseconds) noexcept;
/// In a fork's child: the flush thread is not here.
void forget_flushing() noexcept;
/// Reads the sizes of all pools now, on the calling thread, which must be in no callback.
void sample_pools() noexcept;
/// Reads one pool's sizes now and reports them as `operation`.
void sample_pool(std::uint64_t handle, trace::pool_operation operation) noexcept;

/// The program ends, or does not yet: contexts that go at its end go with it, and that is no freeing.
void note_ending(bool ends) noexcept;

/// CUPTI's callback for the driver API and for resources.
void CUPTIAPI on_callback(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
/// The calls we handle are those of this mode, whoever tells of them. True if all have an entry point of their own.
bool prepare_calls() noexcept;
/// Asks CUPTI for the callbacks we handle. Returns how many it refused. With `late`, contexts and streams may be older than the
/// subscription: they are announced when they are first seen.
unsigned enable_callbacks(CUpti_SubscriberHandle subscriber, bool late) noexcept;

}  // namespace sluice::capture
