// The flush thread. Every 50 ms it collects finished activity records, writes the watermark (the time up to which
// device times are complete), and samples the driver's memory use. It blocks all signals. The recording leaves it out
// (`ring::start_recorder_thread`), because it is no thread of the program.

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "instrumentation/capture/blocks/faults.hpp"
#include "instrumentation/capture/blocks/live_set.hpp"
#include "instrumentation/capture/calls/bypass_check.hpp"
#include "instrumentation/capture/calls/copy_times.hpp"
#include "instrumentation/capture/frameworks/torch.hpp"
#include "instrumentation/capture/intercept/entry_points.hpp"
#include "instrumentation/capture/intercept/waits.hpp"
#include "instrumentation/capture/process/cupti_threads.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/other_profilers.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/python_samples/python_sampler.hpp"
#include "instrumentation/capture/stacks/native_stack.hpp"
#include "instrumentation/capture/stacks/stacks.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace sluice::capture {

namespace {

constexpr int period_ms = 50;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
pthread_cond_t flushed = PTHREAD_COND_INITIALIZER;
// The following are guarded by the mutex.
bool running = false;
bool finish = false;
bool woken = false;
std::uint64_t asked = 0;
std::uint64_t answered = 0;

timespec deadline(int milliseconds) {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += static_cast<long>(milliseconds % 1000) * 1'000'000L;
  t.tv_sec += milliseconds / 1000 + t.tv_nsec / 1'000'000'000L;
  t.tv_nsec %= 1'000'000'000L;
  return t;
}

// --- samples ---------------------------------------------------------------------------------------------------------

struct device_sample {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};
device_sample last_sample[max_devices];

std::size_t attribute(CUpti_ActivityAttribute which) {
  std::size_t value = 0;
  std::size_t size = sizeof value;
  const bool known = cupti.get_attribute != nullptr && cupti.get_attribute(which, &size, &value) == CUPTI_SUCCESS;
  return known ? value : 0;
}

/// Device memory that CUPTI allocates when a context is created: a number of buffers of each kind (3.2 MB for kernels
/// and copies, 8 MB for kernels launched by kernels, 16 MB for graphs launched by kernels; three of each). Measured on
/// an H200: 78.0 and 84.0 MiB more than without CUPTI; the formula gives 77.8. Reducing the last two sizes by their
/// attributes changed only the values that CUPTI reports, so they are not changed. This is an estimate: under load,
/// CUPTI allocates a few more buffers.
std::uint64_t recorder_bytes() {
  if (!cupti_delivers()) return 0;
  static const std::uint64_t bytes = [] {
    const std::size_t each = attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE) +
                             attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP) +
                             attribute(attribute_device_graph_buffer_bytes);
    return each * attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
  }();
  return bytes;
}

void sample_device(const context_entry& context, std::uint64_t time) {
  const std::uint32_t device = context.device.load();
  if (device >= max_devices || driver.memory_info == nullptr || driver.push_context == nullptr) return;
  if (driver.push_context(context.handle.load()) != CUDA_SUCCESS) return;
  std::size_t free = 0;
  std::size_t total = 0;
  const CUresult result = driver.memory_info(&free, &total);
  CUcontext popped = nullptr;
  driver.pop_context(&popped);
  note_result(context.id.load(), context.handle.load(), result);
  device_sample& last = last_sample[device];
  if (result != CUDA_SUCCESS || (free == last.free && total == last.total)) return;
  last = {free, total};
  ring::device_memory_record out{};
  out.header.time = time;
  out.header.flags = ring::flag_sampled;
  out.free_bytes = free;
  out.total_bytes = total;
  out.recorder_bytes = recorder_bytes();
  out.device = device;
  ring::emit(out);
}

/// Samples one pool. Call with the gate held. `time`: time of the record; 0: now.
void sample_pool_entry(pool_entry& pool, trace::pool_operation operation, std::uint64_t time = 0) {
  const std::uint64_t handle = pool.handle.load(std::memory_order_acquire);
  if (handle == 0 || driver.pool_attribute == nullptr) return;
  auto* const driver_handle = reinterpret_cast<CUmemoryPool>(handle);
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  if (driver.pool_attribute(driver_handle, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved) != CUDA_SUCCESS ||
      driver.pool_attribute(driver_handle, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used) != CUDA_SUCCESS) {
    return;
  }
  if (operation == trace::pool_operation::sample && reserved == pool.reserved && used == pool.used) return;
  cuuint64_t threshold = 0;
  driver.pool_attribute(driver_handle, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  pool.reserved = reserved;
  pool.used = used;
  ring::pool_state_record out{};
  out.header.time = time != 0 ? time : ring::now();
  out.header.flags = ring::flag_sampled;
  out.pool = handle;
  out.reserved_bytes = reserved;
  out.used_bytes = used;
  out.operation = raw(operation);
  out.threshold = threshold;
  ring::emit(out);
}

/// Samples the memory held by a device's graphs.
void sample_graph_memory(std::uint32_t device, std::uint64_t time) {
  static device_sample last[max_devices];  // Reserved and used.
  CUdevice handle = 0;
  if (!has_graph_pool(device) || driver.graph_memory == nullptr || driver.device_get == nullptr ||
      driver.device_get(&handle, static_cast<int>(device)) != CUDA_SUCCESS) {
    return;
  }
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  if (driver.graph_memory(handle, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) != CUDA_SUCCESS ||
      driver.graph_memory(handle, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) != CUDA_SUCCESS ||
      (reserved == last[device].total && used == last[device].free)) {
    return;
  }
  last[device] = {used, reserved};
  ring::pool_state_record out{};
  out.header.time = time;
  out.header.flags = ring::flag_sampled;
  out.pool = graph_pool(device);
  out.reserved_bytes = reserved;
  out.used_bytes = used;
  out.operation = raw(trace::pool_operation::sample);
  ring::emit(out);
}

/// Samples immediately after an allocation or free. Otherwise samples once a second, to see the effect of other
/// processes. All samples of a turn have the same time, so that a pool's reserved memory is part of the device's used
/// memory and does not count as untracked. Pools are queried last, so that growth of a pool in between is included.
void sample(bool last) {
  constexpr int quiet_periods = 1000 / period_ms;
  static int periods = quiet_periods;
  if (!memory_changed.exchange(false) && !last && ++periods < quiet_periods) return;
  periods = 0;
  if (!sampler_gate.lock()) return;
  const std::uint64_t time = ring::now();
  bool seen[max_devices] = {};
  for (const context_entry& context : contexts) {
    if (context.state.load(std::memory_order_acquire) != context_entry::alive) continue;
    const std::uint32_t device = context.device.load();
    if (device >= max_devices || seen[device]) continue;
    seen[device] = true;
    sample_device(context, time);
    sample_graph_memory(device, time);
  }
  for (pool_entry& pool : pools) sample_pool_entry(pool, trace::pool_operation::sample, time);
  sampler_gate.unlock();
}

// --- records ---------------------------------------------------------------------------------------------------------

constexpr unsigned warning = raw(trace::severity::warning);

/// Detects a profiler that took CUPTI's records unnoticed by `other_profilers.cpp`. There are two signs. The first: the
/// host has waited for work, and more records of that work are missing than fit into our buffers. The second: no record
/// has arrived for so long that a running kernel is unlikely to be the cause.
class rival_watch {
 public:
  /// Call after each flush; `last` is true after the final, forced flush.
  void check(const pending_work::summary& owed, bool last) {
    const buffer_counts now = count_buffers();
    const bool nothing_came = now.completed == completed_;
    looks_in_vain_ = nothing_came && owed.done >= few ? looks_in_vain_ + 1 : 0;
    completed_ = now.completed;
    if (reported_) return;
    const std::uint64_t held = (now.requested - now.completed) * max_records;
    const bool too_many = looks_in_vain_ >= 2 && owed.done > held;
    const bool too_long = looks_in_vain_ >= max_looks_in_vain;
    const bool none_at_the_end = last && nothing_came && owed.count >= few && !has_faulted();
    if (!too_many && !too_long && !none_at_the_end) return;
    reported_ = true;
    ring::message(warning,
                  "another profiler in this process has taken over CUPTI's activity records, or CUPTI has stopped "
                  "delivering them: "
                  "copies and kernels have no device times; allocations and calls are still recorded");
  }
  [[nodiscard]] bool reported() const { return reported_; }

 private:
  static constexpr std::uint64_t few = 16;
  static constexpr std::uint64_t max_records = 1024;  ///< Per buffer of 64 KiB; the smallest record takes 56 bytes.
  static constexpr int max_looks_in_vain = 10'000 / period_ms;
  std::uint64_t completed_ = 0;
  int looks_in_vain_ = 0;
  bool reported_ = false;
};
rival_watch rival;
std::uint64_t stated = 0;
constexpr int max_refusals = 20;
int refusals = 0;  ///< Consecutive failed flushes.

/// Writes a loss with its time span, because the records that another profiler has taken will never arrive.
void report_gap(const char* outcome) {
  ring::loss_record out{};
  out.header.flags = ring::flag_monotonic;
  out.header.time = taken_since();
  out.end = ring::monotonic_now();
  out.events = pending.give_up();
  ring::emit(out);
  char text[256];
  snprintf(text, sizeof text, "%s: %.1f s without device times, %llu calls without times for their work", outcome,
           static_cast<double>(out.end - out.header.time) / 1e9, static_cast<unsigned long long>(out.events));
  ring::message(warning, text);
}

/// Takes CUPTI's records back when the other profiler has stopped. Returns true once we have the records again. Until
/// then, there is nothing to collect.
bool take_back() {
  bool detached = false;
  if (!may_take_back(detached)) return false;
  if (detached) {
    if (!attach_again()) return false;
    // Allocations and frees in between were not seen; their number is unknown.
    ring::loss_record out{};
    out.header.flags = ring::flag_monotonic;
    out.header.time = taken_since();
    out.end = ring::monotonic_now();
    out.events = out.memory_events = 1;
    ring::emit(out);
  } else {
    // Records that the other profiler has not collected belong to it.
    cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    restart_activity();
  }
  report_gap("the other profiler has stopped, and device times are recorded again");
  taken_back();
  return true;
}

/// False until CUPTI has been flushed once since the start of this recording.
bool has_flushed = false;

/// Makes CUPTI return its buffers. CUPTI might start its thread at the first flush.
CUptiResult flush_cupti(bool last) {
  const std::uint32_t flags = last ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0;
  if (has_flushed) return cupti.flush_all(flags);
  has_flushed = true;
  const cupti_thread_watch watch;
  return cupti.flush_all(flags);
}

void flush(bool last) {
  if (!any_context.load(std::memory_order_acquire)) return;
  if (records_are_taken() && !take_back()) {
    if (last) report_gap("another profiler had CUPTI's records to the end");
    return;
  }
  const std::uint64_t begin = ring::now();
  if (entry_points::in_use() && sampler_gate.lock()) {
    copy_times::collect(last);
    sampler_gate.unlock();
  }
  if (cupti_delivers() && flush_cupti(last) != CUPTI_SUCCESS) {
    memory_changed.store(true);  // Its query shows whether the GPU has faulted.
    if (++refusals == max_refusals) {
      ring::message(warning, "CUPTI no longer delivers records: device times are missing from here on");
    }
    return;
  }
  refusals = 0;
  const pending_work::summary owed = pending.scan(begin);
  if (!entry_points::in_use()) rival.check(owed, last);
  // A forced flush delivers all records. Work that is still outstanding afterwards was never recorded, or a fault
  // prevented its record.
  const std::uint64_t until = last && !rival.reported() && !has_faulted() ? begin : owed.oldest;
  if (until <= stated) return;
  stated = until;
  ring::watermark_record out{};
  out.header.time = until;
  ring::emit(out);
}

void run_flushing() noexcept {
  if (driver.exchange_capture_mode != nullptr) {
    // Our queries must not end another thread's capture.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    driver.exchange_capture_mode(&mode);
  }
  constexpr unsigned turns_a_search = 1000 / period_ms;
  unsigned turns = 0;
  for (bool last = false; !last;) {
    pthread_mutex_lock(&mutex);
    const timespec until = deadline(period_ms);
    while (!finish && asked == answered && !woken) {
      if (wait_for_condition(&wake, &mutex, &until) == ETIMEDOUT) break;
    }
    last = finish;
    woken = false;
    const std::uint64_t query = asked;
    pthread_mutex_unlock(&mutex);

    torch::report_totals();
    if (++turns % turns_a_search == 0) {
      prepare_stacks();
      start_python_sampling();
      ring::refresh_recorder_threads();
    }
    watch_native_modules();
    bypass_check::poll(last);
    repair_live_set();
    if (options.samples) sample(last);
    if (options.flushes || last) flush(last);

    pthread_mutex_lock(&mutex);
    answered = query;
    running = !last;
    pthread_cond_broadcast(&flushed);
    pthread_mutex_unlock(&mutex);
  }
}

constexpr ring::recorder_loop flush_loop{"sluice-flush", run_flushing};

}  // namespace

void wake_flushing() noexcept {
  pthread_mutex_lock(&mutex);
  woken = true;
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&mutex);
}

bool start_flushing() noexcept {
  // The writer may not be the same as in the last recording.
  rival = {};
  has_flushed = false;
  for (device_sample& last : last_sample) last = {};
  pthread_mutex_lock(&mutex);
  running = true;
  finish = false;
  pthread_mutex_unlock(&mutex);
  const bool started = ring::start_recorder_thread(flush_loop);
  if (!started) forget_flushing();
  return started;
}

bool flush_now(int milliseconds) noexcept {
  pthread_mutex_lock(&mutex);
  bool done = false;
  if (running && !finish) {
    const std::uint64_t query = ++asked;
    const timespec until = deadline(milliseconds);
    pthread_cond_signal(&wake);
    while (running && answered < query && wait_for_condition(&flushed, &mutex, &until) != ETIMEDOUT) {
    }
    done = answered >= query;
  }
  pthread_mutex_unlock(&mutex);
  return done;
}

bool finish_flushing(int milliseconds) noexcept {
  pthread_mutex_lock(&mutex);
  finish = true;
  const timespec until = deadline(milliseconds);
  pthread_cond_signal(&wake);
  while (running && wait_for_condition(&flushed, &mutex, &until) != ETIMEDOUT) {
  }
  const bool done = !running;
  pthread_mutex_unlock(&mutex);
  return done;
}

void forget_flushing() noexcept {
  pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
  mutex = fresh;
  running = false;
  finish = woken = false;
  asked = answered = 0;
}

void sample_pools() noexcept {
  if (driver.pool_attribute == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool exchanged = driver.exchange_capture_mode != nullptr && driver.exchange_capture_mode(&mode) == CUDA_SUCCESS;
  if (sampler_gate.lock()) {
    for (pool_entry& pool : pools) sample_pool_entry(pool, trace::pool_operation::sample);
    sampler_gate.unlock();
  }
  if (exchanged) driver.exchange_capture_mode(&mode);
}

void sample_pool(std::uint64_t handle, trace::pool_operation operation) noexcept {
  if (!sampler_gate.lock()) return;
  for (pool_entry& pool : pools) {
    if (pool.handle.load() == handle) sample_pool_entry(pool, operation);
  }
  sampler_gate.unlock();
}

}  // namespace sluice::capture
