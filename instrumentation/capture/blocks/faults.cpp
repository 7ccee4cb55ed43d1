#include "instrumentation/capture/blocks/faults.hpp"

#include <atomic>

#include "core/trace/model/driver_results.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

// --- the last launches -----------------------------------------------------------------------------------------------

constexpr std::uint32_t kept_launches = 8;

/// A launch, written by its own thread and read by the thread that detects a fault. A reader skips a launch that is
/// being written.
struct launch_note {
  std::atomic<std::uint64_t> time{0};  ///< 0 while the other members are being written.
  std::atomic<std::uint64_t> name{0};
  std::atomic<std::uint64_t> stream{0};   ///< The driver's handle.
  std::atomic<std::uint64_t> context{0};  ///< CUPTI's number; top bit: stream 0 means the thread's own stream.
};
struct alignas(64) launch_trail {
  std::atomic<std::uint32_t> count{0};
  launch_note launches[kept_launches];
};
constexpr std::uint64_t per_thread_bit = std::uint64_t{1} << 63;

/// Further threads share these trails, and their last launches are then mixed.
constexpr std::uint32_t trail_count = 64;
launch_trail trails[trail_count];
std::atomic<std::uint32_t> next_trail{0};
SLUICE_THREAD_LOCAL launch_trail* own_trail = nullptr;

struct launch_seen {
  std::uint64_t time, name, stream;
};
constexpr std::size_t max_launches = 16;

/// The last launches of `context`, newest first.
std::size_t last_launches(std::uint32_t context, CUcontext handle, launch_seen (&seen)[max_launches]) {
  std::size_t count = 0;
  for (const launch_trail& trail : trails) {
    for (const launch_note& note : trail.launches) {
      const std::uint64_t time = note.time.load(std::memory_order_acquire);
      const std::uint64_t where = note.context.load(std::memory_order_relaxed);
      launch_seen one{time, note.name.load(std::memory_order_relaxed), note.stream.load(std::memory_order_relaxed)};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (time == 0 || note.time.load(std::memory_order_relaxed) != time) continue;
      if (context != 0 && static_cast<std::uint32_t>(where) != context) continue;
      if (count == max_launches && one.time <= seen[max_launches - 1].time) continue;
      one.stream =
          get_stream_key(handle, context, reinterpret_cast<CUstream>(one.stream), (where & per_thread_bit) != 0);
      std::size_t at = count < max_launches ? count++ : max_launches - 1;
      for (; at > 0 && seen[at - 1].time < one.time; --at) seen[at] = seen[at - 1];
      seen[at] = one;
    }
  }
  return count;
}

// --- contexts that have faulted --------------------------------------------------------------------------------------

std::atomic<std::uint32_t> faulted[max_contexts];  ///< Context numbers; 0 is a free slot.
std::atomic<bool> any_fault{false};

/// Adds a context to `faulted`. Returns false if it is already there, or if there is no space left.
bool enter(std::uint32_t context) {
  for (std::atomic<std::uint32_t>& slot : faulted) {
    std::uint32_t found = slot.load();
    if (found == 0 && slot.compare_exchange_strong(found, context)) return true;
    if (found == context) return false;
  }
  return false;
}

/// True if the failure of this thread's current call has been recorded.
SLUICE_THREAD_LOCAL bool failure_reported = false;

struct sighting {
  std::uint64_t time, end, name, stream;
  CUcontext handle;
  std::uint32_t context, correlation;
  CUresult result;
};

void report(const sighting& s) {
  // A call may have no context, for example if its context was destroyed.
  if (!enter(s.context == 0 ? ~std::uint32_t{0} : s.context)) return;
  any_fault.store(true, std::memory_order_release);
  launch_seen seen[max_launches];
  const std::size_t count = last_launches(s.context, s.handle, seen);
  ring::fault_record out{};
  out.header.time = s.time;
  out.end = s.end;
  out.name = s.name;
  out.stream = s.stream;
  out.status = s.result;
  out.context = s.context;
  out.correlation = s.correlation;
  out.count = count;
  static_assert(sizeof(launch_seen) == 3 * sizeof(std::uint64_t));
  ring::emit_with(&out.header, ring::record_type::fault, sizeof out, &seen[0].time, 3 * count);
  wake_flushing();
}

}  // namespace

SLUICE_HOT void note_launch(const call& c, std::uint64_t name, CUstream stream) noexcept {
  launch_trail* trail = own_trail;
  if (trail == nullptr) [[unlikely]] {
    trail = own_trail = &trails[next_trail.fetch_add(1, std::memory_order_relaxed) % trail_count];
  }
  const std::uint32_t number = trail->count.load(std::memory_order_relaxed);
  trail->count.store(number + 1, std::memory_order_relaxed);
  launch_note& note = trail->launches[number % kept_launches];
  note.time.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  note.name.store(name, std::memory_order_relaxed);
  note.stream.store(reinterpret_cast<std::uint64_t>(stream), std::memory_order_relaxed);
  note.context.store(c.context() | (c.per_thread ? per_thread_bit : 0), std::memory_order_relaxed);
  note.time.store(c.begin, std::memory_order_release);
}

void note_failure(const call& c, std::uint64_t stream) noexcept {
  failure_reported = true;
  if (!trace::is_gpu_fault(c.result)) return;
  report({c.begin, c.now, c.name, stream, c.data->context, c.context(), c.correlation(), c.result});
}

void call_failed(const call& c, std::uint64_t stream) {
  ring::api_call_record out{};
  out.header.time = c.begin;
  out.end = c.now;
  out.name = c.name;
  out.stream = stream;
  out.status = c.result;
  out.correlation = c.correlation();
  out.context = c.context();
  ring::emit(out);
  note_failure(c, stream);
}

void leave_failed(const call& c, edge_function exit) {
  failure_reported = false;
  if (exit != nullptr) exit(c);
  if (!failure_reported) call_failed(c, 0);
}

void note_result(std::uint32_t context_id, CUcontext context, CUresult result) noexcept {
  if (!trace::is_gpu_fault(result)) return;
  const std::uint64_t now = ring::now();
  report({now, now, ring::intern("the recorder (cuMemGetInfo)"), 0, context, context_id, 0, result});
}

bool has_faulted() noexcept { return any_fault.load(std::memory_order_acquire); }

void forget_faults() noexcept {
  for (std::atomic<std::uint32_t>& slot : faulted) slot.store(0);
  any_fault.store(false);
  for (launch_trail& trail : trails) {
    for (launch_note& note : trail.launches) note.time.store(0);
  }
}

}  // namespace sluice::capture
