#include "instrumentation/capture/blocks/contents.hpp"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "instrumentation/capture/own_memory.hpp"
#include "instrumentation/capture/process/content_hash.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/process/state.hpp"
#include "instrumentation/capture/time_budget.hpp"
#include "instrumentation/ring/hot.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::capture {

namespace {

using ring::content_stage;
using trace::content_check;

/// Time limit for one copy in ns: pages of a mapped file may have to be read from disk.
constexpr std::uint64_t longest_look = 20'000'000;

SLUICE_THREAD_LOCAL time_budget this_budget;

enum class memory_place { pageable, pinned, managed, elsewhere };

bool is_host(memory_place where) { return where == memory_place::pageable || where == memory_place::pinned; }

/// With unified addressing, any pointer may be passed to any copy. The driver reports the kind of memory that it
/// allocated, but does not know ordinary program memory.
memory_place get_place(std::uint64_t address, memory_side said) {
  const memory_place unknown = said == memory_side::host ? memory_place::pinned : memory_place::elsewhere;
  if (driver.pointer_attributes == nullptr) return unknown;
  unsigned type = 0;
  unsigned managed = 0;
  CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
  void* values[] = {&type, &managed};
  if (driver.pointer_attributes(2, wanted, values, address) != CUDA_SUCCESS) return unknown;
  if (managed != 0) return memory_place::managed;
  if (type == 0) return memory_place::pageable;
  return type == CU_MEMORYTYPE_HOST ? memory_place::pinned : memory_place::elsewhere;
}

void emit(content_stage stage, std::uint64_t time, std::uint32_t correlation, content_check check,
          const content_hash& content = {}) {
  ring::content_record out{};
  out.header.time = time;
  out.hash = content.hash;
  out.bytes = content.bytes;
  out.correlation = correlation;
  out.check = raw(check);
  out.stage = raw(stage);
  ring::emit(out);
}

copy_source get_source(const gpu_work& w) {
  if (w.shape.address != 0) return w.shape;
  return {.address = w.source, .row_bytes = w.bytes};
}
copy_source get_destination(const gpu_work& w) {
  if (w.to_shape.address != 0) return w.to_shape;
  return {.address = w.destination, .row_bytes = w.bytes};
}

/// Hashes host memory and records the hash of the copy with id `correlation`.
void read_content(content_stage stage, std::uint64_t time, std::uint32_t correlation, const copy_source& memory) {
  const std::uint64_t begin = ring::monotonic_now();
  if (!this_budget.begin(begin, options.duplicates_percent)) {
    return emit(stage, time, correlation, content_check::over_budget);
  }
  const content_hash found = hash_content(memory, ring::monotonic_now, begin + longest_look, this_budget.is_ample());
  switch (found.outcome) {
    case reading::done:
      emit(stage, time, correlation, get_bytes(memory) <= whole_limit ? content_check::exact : content_check::sampled,
           found);
      break;
    case reading::too_slow:
      emit(stage, time, correlation, content_check::over_budget);
      break;
    case reading::unreadable:
      emit(stage, time, correlation, content_check::unreadable);
      break;
  }
  this_budget.spend(ring::monotonic_now() - begin);
}

void look_at_source(const call& c, const gpu_work& w) {
  const std::uint64_t begin = ring::monotonic_now();
  // The time of the driver's query is part of the budget, too.
  if (!this_budget.begin(begin, options.duplicates_percent)) {
    return emit(content_stage::source, c.begin, c.correlation(), content_check::over_budget);
  }
  const memory_place where = get_place(w.source, w.from);
  this_budget.spend(ring::monotonic_now() - begin);
  if (is_host(where)) return read_content(content_stage::source, c.begin, c.correlation(), get_source(w));
  if (where == memory_place::managed) emit(content_stage::source, c.begin, c.correlation(), content_check::unreadable);
}

/// True if the driver copies to pageable memory through its own buffers; the call then returns when all data has
/// arrived. A device that accesses pageable memory directly may still be writing when the call returns.
bool stages_pageable(const call& c) {
  int reaches = 1;
  const CUresult known = driver.device_attribute == nullptr
                             ? CUDA_ERROR_NOT_FOUND
                             : driver.device_attribute(&reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                                       static_cast<CUdevice>(c.device()));
  return known == CUDA_SUCCESS && reaches == 0;
}

// --- copies to the host that may not have ended ----------------------------------------------------------------------

struct awaited_copy {
  enum state_value : std::uint32_t { unused, claimed, armed };
  std::atomic<std::uint32_t> state{unused};
  // While the copy is armed, any thread may read these members. Only the thread that claimed the copy may use the
  // members after `event_recorded`.
  std::atomic<std::uint32_t> context{0};
  std::atomic<std::uint64_t> stream{0};  ///< A key.
  std::atomic<std::uint64_t> called{0};  ///< Time of the call's return, on the rings' clock.
  std::atomic<std::uint64_t> begin{0};   ///< Address range of the destination.
  std::atomic<std::uint64_t> end{0};
  std::atomic<std::uint64_t> event{0};  ///< The first event recorded after the copy; 0: none.
  std::atomic<std::uint64_t> event_recorded{0};

  std::uint32_t correlation = 0;
  copy_source to = {};
};

constexpr unsigned max_awaited = 128;
constinit awaited_copy awaited[max_awaited];
constinit std::atomic<int> awaiting{0};
constinit std::atomic<unsigned> next_awaited{0};

/// The address after the last byte.
std::uint64_t get_end(const copy_source& s) {
  if (s.rows == 0 || s.slice_rows == 0) return s.address;
  const std::uint64_t last = s.rows - 1;
  return s.address + last / s.slice_rows * s.slice_pitch + last % s.slice_rows * s.pitch + s.row_bytes;
}

bool any_awaited() { return awaiting.load(std::memory_order_relaxed) > 0; }

void release(awaited_copy& a) {
  a.event.store(0, std::memory_order_relaxed);
  a.state.store(awaited_copy::unused, std::memory_order_release);
  awaiting.fetch_sub(1, std::memory_order_relaxed);
}

/// Calls `use` for each outstanding copy that `wanted` accepts, and removes that copy. Each copy is used by one thread
/// only.
template <class Wanted, class Use>
void take_awaited(Wanted&& wanted, Use&& use) {
  for (awaited_copy& a : awaited) {
    if (a.state.load(std::memory_order_acquire) != awaited_copy::armed || !wanted(a)) continue;
    std::uint32_t expected = awaited_copy::armed;
    if (!a.state.compare_exchange_strong(expected, awaited_copy::claimed, std::memory_order_acquire)) continue;
    // The condition is checked again, because the slot may have been reused for another copy before this thread claimed
    // it.
    if (!wanted(a)) {
      a.state.store(awaited_copy::armed, std::memory_order_release);
      continue;
    }
    use(a);
    release(a);
  }
}

void give_up(const awaited_copy& a) { emit(content_stage::arrived, ring::now(), a.correlation, content_check::none); }

void read_result(const awaited_copy& a) { read_content(content_stage::arrived, ring::now(), a.correlation, a.to); }

void await(const call& c, const gpu_work& w) {
  const unsigned first = next_awaited.fetch_add(1, std::memory_order_relaxed);
  for (unsigned i = 0; i < max_awaited; ++i) {
    awaited_copy& a = awaited[(first + i) % max_awaited];
    std::uint32_t expected = awaited_copy::unused;
    if (!a.state.compare_exchange_strong(expected, awaited_copy::claimed, std::memory_order_acquire)) continue;
    a.correlation = c.correlation();
    a.to = get_destination(w);
    a.context = c.context();
    a.stream = c.stream(w.stream);
    a.called = c.now;
    a.begin = a.to.address;
    a.end = get_end(a.to);
    awaiting.fetch_add(1, std::memory_order_relaxed);
    a.state.store(awaited_copy::armed, std::memory_order_release);
    return;
  }
  emit(content_stage::arrived, c.now, c.correlation(), content_check::none);
}

/// Gives up the results that the copy `w` reads or overwrites, because they may change at a time unknown to us.
void give_up_touched(const gpu_work& w) {
  const bool many = w.bytes == UINT64_MAX;  // A batch: its addresses are not known yet.
  const copy_source source = get_source(w);
  const copy_source to = get_destination(w);
  const auto meets = [](const awaited_copy& a, const copy_source& b) {
    return a.begin < get_end(b) && b.address < a.end;
  };
  take_awaited([&](const awaited_copy& a) { return many || meets(a, source) || meets(a, to); }, give_up);
}

/// Restores the program's errno in the destructor.
struct errno_kept {
  int value = errno;
  errno_kept() = default;
  errno_kept(const errno_kept&) = delete;
  ~errno_kept() { errno = value; }
};

}  // namespace

void note_content(const call& c, const gpu_work& w) noexcept {
  const errno_kept kept;
  if (any_awaited()) give_up_touched(w);
  if (w.from == memory_side::device || w.source == 0 || w.bytes == 0 || captured_graph(c, w.stream) != 0) return;
  look_at_source(c, w);
}

result_place announce_result(const call& c, const gpu_work& w) noexcept {
  if (w.to == memory_side::device || w.destination == 0 || w.bytes == 0 || w.copies != 1 ||
      captured_graph(c, w.stream) != 0) {
    return result_place::none;
  }
  const errno_kept kept;
  if (w.from != memory_side::device && !w.from_array && get_place(w.source, w.from) != memory_place::elsewhere) {
    return result_place::none;
  }
  const memory_place where = get_place(w.destination, w.to);
  if (where == memory_place::elsewhere) return result_place::none;
  emit(content_stage::awaited, c.begin, c.correlation(), content_check::none);
  if (where == memory_place::managed) return result_place::untouched;
  const bool waits = strstr(c.entry->name, "Async") == nullptr;
  return waits || (where == memory_place::pageable && stages_pageable(c)) ? result_place::written
                                                                          : result_place::to_come;
}

void note_result(const call& c, const gpu_work& w, result_place place) noexcept {
  const errno_kept kept;
  switch (place) {
    case result_place::none:
      return;
    case result_place::written:
      return read_content(content_stage::arrived, c.now, c.correlation(), get_destination(w));
    case result_place::to_come:
      return await(c, w);
    case result_place::untouched:
      return emit(content_stage::arrived, c.now, c.correlation(), content_check::unreadable);
  }
}

void results_ended(const call& c, std::uint64_t stream) noexcept {
  if (!any_awaited()) return;
  const errno_kept kept;
  const std::uint32_t context = c.context();
  take_awaited(
      [&](const awaited_copy& a) {
        return a.called <= c.begin && (stream != 0 ? a.stream == stream : a.context == context);
      },
      read_result);
}

bool results_are_awaited() noexcept { return any_awaited(); }

void results_precede(const call& c, std::uint64_t event, std::uint64_t stream) noexcept {
  if (!any_awaited()) return;
  for (awaited_copy& a : awaited) {
    if (a.state.load(std::memory_order_acquire) != awaited_copy::armed) continue;
    const std::uint64_t known = a.event.load(std::memory_order_relaxed);
    if (a.stream == stream && a.called <= c.begin) {
      if (known != 0) continue;
      a.event_recorded.store(c.now, std::memory_order_relaxed);
      a.event.store(event, std::memory_order_release);
    } else if (known == event) {
      a.event.store(0, std::memory_order_relaxed);  // The event was recorded again, after other work.
    }
  }
}

void results_ended_by(const call& c, std::uint64_t event) noexcept {
  if (!any_awaited()) return;
  const errno_kept kept;
  take_awaited(
      [&](const awaited_copy& a) {
        return a.event.load(std::memory_order_acquire) == event &&
               a.event_recorded.load(std::memory_order_relaxed) <= c.begin;
      },
      read_result);
}

void forget_results() noexcept {
  if (!any_awaited()) return;
  const errno_kept kept;
  take_awaited([](const awaited_copy&) { return true; }, give_up);
}

void clear_results() noexcept {
  for (awaited_copy& a : awaited) {
    a.event.store(0);
    a.state.store(awaited_copy::unused);
  }
  awaiting.store(0);
}

void say_what_of_contents() noexcept {
  if (options.duplicates_percent == 0) return;
  if (!can_read_own_memory()) {
    ring::message(raw(trace::severity::warning),
                  "this process may not read its own memory (process_vm_readv is forbidden, as in some sandboxes): "
                  "duplicate copies cannot be detected; run it outside the sandbox, or without --find-duplicates");
    return;
  }
  char text[160];
  snprintf(text, sizeof text,
           "data copied to and from the host is hashed, in at most %u %% of each thread's time (--find-duplicates)",
           options.duplicates_percent);
  ring::message(raw(trace::severity::info), text);
}

}  // namespace sluice::capture
