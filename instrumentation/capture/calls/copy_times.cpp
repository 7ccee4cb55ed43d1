#include "instrumentation/capture/calls/copy_times.hpp"

#include <string.h>

#include <atomic>

#include "instrumentation/capture/activity/delivery.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/ring/hot.hpp"

namespace sluice::capture::copy_times {

namespace {

using namespace trace;

// --- timed copies ----------------------------------------------------------------------------------------------------

/// A copy or memset in progress. Its events are created once and reused.
struct timed {
  enum state_value : std::uint32_t { unused, claimed, armed };
  std::atomic<std::uint32_t> state{unused};
  std::uint32_t round = 0;  ///< Round of the context's anchor when the copy began.
  CUevent before = nullptr;
  CUevent after = nullptr;
  std::uint64_t called = 0;  ///< Time of the call, on CLOCK_MONOTONIC.
  bool is_memset = false;
  bool waited = false;  ///< True if the call waits for the copy: its return is `copy.end`; `after` is not recorded.
  ring::copy_record copy{};
  ring::memset_record fill{};
};

/// An event whose host time is known. It relates the device's clock to the host's. An anchor is renewed every second,
/// because the clocks drift and the driver returns intervals as float milliseconds.
struct anchor {
  CUevent event = nullptr;
  std::uint64_t time = 0;  ///< When the event completed, on CLOCK_MONOTONIC.
};

constexpr unsigned timed_slots = 2048;
constexpr unsigned anchors_kept = 4;

/// State of one context. Events are destroyed with their context, so the state of a destroyed context is dropped.
struct clock_sync_state {
  std::atomic<std::uint32_t> context{0};  ///< The context's number; 0 if this object is unused.
  std::atomic<std::uint32_t> round{0};    ///< 0: no anchor yet. Once set, only the flush thread changes it.
  CUstream stream = nullptr;
  anchor anchors[anchors_kept];
  std::atomic<std::uint32_t> next{0};
  timed slots[timed_slots];
};
clock_sync_state clock_sync_states[max_contexts];
gate beginning;

/// The state of one thread: the copy that it is timing, and its budget for small copies.
struct thread_times {
  timed* current;
  std::uint64_t called;  ///< CLOCK_MONOTONIC, like all times here.
  std::uint64_t earned_until;
};
SLUICE_THREAD_LOCAL thread_times mine{};

// --- anchors ---------------------------------------------------------------------------------------------------------

/// Records an event in an empty stream and sets its time to the midpoint of the few microseconds that this takes.
/// Returns false if it takes too long.
bool drop(clock_sync_state& clock, anchor& at) {
  constexpr std::uint64_t timeout_ns = 2'000'000, good_ns = 10'000;
  constexpr int tries = 4;
  if (at.event == nullptr && driver.create_event(&at.event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) return false;
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t begin = ring::monotonic_now();
    if (driver.record_event(at.event, clock.stream) != CUDA_SUCCESS) return false;
    std::uint64_t end = begin;
    CUresult result = CUDA_ERROR_NOT_READY;
    while (result == CUDA_ERROR_NOT_READY && end - begin < timeout_ns) {
      result = driver.event_state(at.event);
      end = ring::monotonic_now();
    }
    if (result != CUDA_SUCCESS) return false;
    at.time = begin + (end - begin) / 2;
    if (end - begin < good_ns) break;
  }
  return true;
}

/// The state of a context; null if there is none. If `may_make` is true, the first caller creates the state, in the
/// current context.
clock_sync_state* of_context(std::uint32_t context, bool may_make) {
  if (context == 0) return nullptr;
  for (clock_sync_state& clock : clock_sync_states) {
    const std::uint32_t owner = clock.context.load(std::memory_order_acquire);
    if (owner == context) return clock.round.load(std::memory_order_acquire) != 0 ? &clock : nullptr;
    if (owner != 0) continue;
    if (!may_make || !beginning.lock()) return nullptr;
    std::uint32_t nobody = 0;
    const bool ours = clock.context.compare_exchange_strong(nobody, context);
    if (ours && driver.create_stream(&clock.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
        drop(clock, clock.anchors[1])) {
      clock.round.store(1, std::memory_order_release);
    }
    beginning.unlock();
    if (ours || nobody == context) return clock.round.load() != 0 ? &clock : nullptr;
  }
  return nullptr;
}

// --- classification --------------------------------------------------------------------------------------------------

bool begins_with(const char* text, const char* with) { return strncmp(text, with, strlen(with)) == 0; }

bool is_device_memory(std::uint64_t address) {
  unsigned type = 0;
  return driver.pointer_attribute != nullptr &&
         driver.pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS &&
         type != CU_MEMORYTYPE_HOST;
}

direction get_direction(const char* name, const gpu_work& w) {
  constexpr std::size_t prefix = sizeof "cuMemcpy" - 1;
  const char* way = name + prefix;
  const bool from_host = begins_with(way, "Hto");
  const bool to_host = begins_with(way, "DtoH") || begins_with(way, "AtoH");
  if (from_host) return direction::h2d;
  if (to_host) return direction::d2h;
  if (begins_with(way, "Dto") || begins_with(way, "Ato")) return direction::d2d;
  if (strstr(way, "Peer") != nullptr) return direction::p2p;
  // A unified address can be of any kind of memory.
  const bool source = w.from_array || is_device_memory(w.copies > 1 ? w.first_source : w.source);
  const bool destination = w.to_array || is_device_memory(w.copies > 1 ? w.first_destination : w.destination);
  if (source) return destination ? direction::d2d : direction::d2h;
  return destination ? direction::h2d : direction::h2h;
}

void describe(const call& c, const gpu_work& w, timed& t) {
  const bool asynchronous = strstr(c.entry->name, "Async") != nullptr;
  const std::uint32_t flags = ring::flag_estimated | (asynchronous ? std::uint32_t{ring::flag_asynchronous} : 0U);
  t.is_memset = begins_with(c.entry->name, "cuMemset");
  if (t.is_memset) {
    t.waited = false;
    t.fill = {};
    t.fill.header.flags = flags;
    t.fill.bytes = w.bytes;
    t.fill.stream = c.stream(w.stream);
    t.fill.address = w.destination;
    t.fill.value = w.value;
    t.fill.device = c.device();
    t.fill.correlation = c.correlation();
    return;
  }
  const direction way = get_direction(c.entry->name, w);
  // Copies within and between devices, and memsets, are asynchronous even in calls without Async in the name.
  t.waited = !asynchronous && (way == direction::h2d || way == direction::d2h || way == direction::h2h);
  t.copy = {};
  t.copy.header.flags = flags;
  t.copy.bytes = w.bytes;
  t.copy.stream = c.stream(w.stream);
  t.copy.device = c.device();
  t.copy.peer = ring::no_device;
  t.copy.correlation = c.correlation();
  t.copy.direction = raw(way);
  t.copy.copies = w.copies;
  // The writer knows the blocks. An address outside all blocks is plain host memory.
  if (way == direction::h2d || way == direction::h2h) t.copy.source_kind = raw(memory_kind::host);
  if (way == direction::d2h || way == direction::h2h) t.copy.destination_kind = raw(memory_kind::host);
  if (w.from_array) t.copy.source_kind = raw(memory_kind::array);
  if (w.to_array) t.copy.destination_kind = raw(memory_kind::array);
}

/// `begin` and `end` are on CLOCK_MONOTONIC; `end` is 0 if unknown.
void send(timed& t, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t stream = t.is_memset ? t.fill.stream : t.copy.stream;
  const std::uint32_t correlation = t.is_memset ? t.fill.correlation : t.copy.correlation;
  if (t.is_memset) {
    t.fill.header.time = begin;
    t.fill.end = end;
    deliver(t.fill);
  } else {
    t.copy.header.time = begin;
    t.copy.end = end;
    deliver(t.copy);
  }
  pending.delivered(correlation, stream);
}

/// Records an untimed copy as if it ran during its call, but no faster than the fastest link. This is accurate for
/// small copies, whose calls take about as long as the copy.
[[gnu::noinline]] void send_untimed(const call& c, const gpu_work& w) {
  constexpr std::uint64_t max_bytes_per_ns = 64;
  timed untimed;
  describe(c, w, untimed);
  const std::uint64_t now = ring::monotonic_now();
  const std::uint64_t soonest = mine.called + w.bytes / max_bytes_per_ns;
  const auto emit = [&](auto& record) {
    record.header.flags &= ~std::uint32_t{ring::flag_estimated};
    record.header.flags |= ring::flag_inferred | ring::flag_monotonic;
    record.header.time = mine.called;
    record.end = now > soonest ? now : soonest;
    ring::emit(record);
  };
  if (untimed.is_memset) {
    emit(untimed.fill);
  } else {
    emit(untimed.copy);
  }
  pending.delivered(c.correlation(), c.stream(w.stream));
}

/// The stream, as driver functions without the suffix `_ptsz` expect it.
CUstream named(const call& c, CUstream stream) {
  return stream == nullptr && c.per_thread ? CU_STREAM_PER_THREAD : stream;
}

bool may_time(std::uint64_t bytes) {
  constexpr std::uint64_t small = 64 * 1024, each_ns = 100'000, saved = 256;
  if (bytes >= small) return true;
  const std::uint64_t now = mine.called;
  if (mine.earned_until + saved * each_ns < now) mine.earned_until = now - saved * each_ns;
  if (mine.earned_until + each_ns > now) return false;
  mine.earned_until += each_ns;
  return true;
}

timed* claim(clock_sync_state& clock) {
  timed& t = clock.slots[clock.next.fetch_add(1, std::memory_order_relaxed) % timed_slots];
  std::uint32_t expected = timed::unused;
  if (!t.state.compare_exchange_strong(expected, timed::claimed, std::memory_order_acquire)) return nullptr;
  const auto make = [](CUevent& event) {
    return event != nullptr || driver.create_event(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
  };
  if (make(t.before) && make(t.after)) return &t;
  t.state.store(timed::unused, std::memory_order_release);
  return nullptr;
}

// --- reading ---------------------------------------------------------------------------------------------------------

/// The time at which `event` completed; 0 if the driver does not report it.
std::uint64_t get_time(const anchor& since, CUevent event) {
  float milliseconds = 0;
  if (driver.elapsed(&milliseconds, since.event, event) != CUDA_SUCCESS) return 0;
  return since.time + static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
}

/// Records a copy if it has ended, or in any case if `last`. Returns true if the copy needs no further handling.
bool finish(const clock_sync_state& clock, timed& t, bool last) {
  const CUresult result = driver.event_state(t.waited ? t.before : t.after);
  if (result == CUDA_ERROR_NOT_READY && !last) return false;
  const anchor& since = clock.anchors[t.round % anchors_kept];
  std::uint64_t begin = result == CUDA_SUCCESS ? get_time(since, t.before) : 0;
  std::uint64_t end = t.waited ? t.copy.end : 0;
  if (begin != 0 && !t.waited) end = get_time(since, t.after);
  // The anchor's time may be wrong by a few microseconds, but no copy can have started before its call.
  const std::uint64_t early = begin < t.called ? t.called - begin : 0;
  begin += early;
  if (end != 0 && !t.waited) end += early;
  // Both events may have the same tick of the device's clock. `end` 0 means unknown.
  if (end != 0 && end <= begin) end = begin + 1;
  send(t, begin, end);
  return true;
}

void collect(clock_sync_state& clock, CUcontext context, bool last) {
  bool any = false;
  for (timed& t : clock.slots) {
    if (t.state.load(std::memory_order_acquire) != timed::armed) continue;
    if (!any && driver.push_context(context) != CUDA_SUCCESS) return;
    any = true;
    if (finish(clock, t, last)) t.state.store(timed::unused, std::memory_order_release);
  }
  if (!any) return;
  constexpr std::uint64_t fresh_ns = 1'000'000'000;
  const std::uint32_t round = clock.round.load(std::memory_order_relaxed);
  const bool stale = ring::monotonic_now() - clock.anchors[round % anchors_kept].time > fresh_ns;
  if (!last && stale && drop(clock, clock.anchors[(round + 1) % anchors_kept])) {
    clock.round.store(round + 1, std::memory_order_release);
  }
  CUcontext popped = nullptr;
  driver.pop_context(&popped);
}

/// Drops the state of a destroyed context, whose events no longer exist. Copies still in progress get no end.
void forget(clock_sync_state& clock) {
  clock.round.store(0);
  for (timed& t : clock.slots) {
    if (t.state.load(std::memory_order_acquire) == timed::armed) {
      send(t, t.called, 0);
    }
    t.before = t.after = nullptr;
    t.state.store(timed::unused);
  }
  for (anchor& a : clock.anchors) a = {};
  clock.stream = nullptr;
  clock.context.store(0, std::memory_order_release);
}

}  // namespace

namespace {
/// Call this function during a capture. Returns true if events may be recorded in this stream. Returns false if the
/// stream itself is captured. Also returns false for the legacy default stream, because it waits for all blocking
/// streams, including the captured stream, and would end that capture.
bool is_beside(const call& c, CUstream stream) {
  const bool legacy = stream == CU_STREAM_LEGACY || (stream == nullptr && !c.per_thread);
  return !legacy && captured_graph(c, stream) == 0;
}
}  // namespace

void begin(const call& c, const gpu_work& w) noexcept {
  mine.current = nullptr;
  mine.called = ring::monotonic_now();
  const bool capturing = captures.load(std::memory_order_relaxed) > 0;
  if (!may_time(w.bytes) || (capturing && !is_beside(c, w.stream))) return;
  // Our own calls then use relaxed mode (entry_points.cpp), so creating or recording an event does not harm captures of
  // other streams. Creating a context's state waits for the device, so that is postponed until there is no capture.
  clock_sync_state* const clock = of_context(c.context(), !capturing);
  timed* const t = clock == nullptr ? nullptr : claim(*clock);
  if (t == nullptr) return;
  t->round = clock->round.load(std::memory_order_acquire);
  t->called = mine.called;
  if (driver.record_event(t->before, named(c, w.stream)) != CUDA_SUCCESS) {
    t->state.store(timed::unused, std::memory_order_release);
    return;
  }
  mine.current = t;
}

void end(const call& c, const gpu_work& w) noexcept {
  timed* const t = mine.current;
  mine.current = nullptr;
  if (t == nullptr) {
    if (c.ok() && captured_graph(c, w.stream) == 0) send_untimed(c, w);
    return;
  }
  if (!c.ok()) {
    t->state.store(timed::unused, std::memory_order_release);
    return;
  }
  describe(c, w, *t);
  if (t->waited) t->copy.end = ring::monotonic_now();
  if (!t->waited && driver.record_event(t->after, named(c, w.stream)) != CUDA_SUCCESS) {
    send(*t, t->called, 0);
    t->state.store(timed::unused, std::memory_order_release);
    return;
  }
  t->state.store(timed::armed, std::memory_order_release);
}

void collect(bool last) noexcept {
  for (clock_sync_state& clock : clock_sync_states) {
    const std::uint32_t id = clock.context.load(std::memory_order_acquire);
    if (id == 0) continue;
    const context_entry* there = nullptr;
    for (const context_entry& entry : contexts) {
      if (entry.state.load(std::memory_order_acquire) >= context_entry::fresh && entry.id.load() == id) there = &entry;
    }
    if (there == nullptr) {
      forget(clock);
    } else if (there->state.load(std::memory_order_acquire) == context_entry::alive) {
      collect(clock, there->handle.load(), last);
    }
  }
}

}  // namespace sluice::capture::copy_times
