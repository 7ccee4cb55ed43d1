#include "instrumentation/capture/python_samples/python_sampler.hpp"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "instrumentation/capture/own_memory.hpp"
#include "instrumentation/capture/process/options.hpp"
#include "instrumentation/capture/python_samples/frame_keys.hpp"
#include "instrumentation/capture/python_samples/sampled_stack.hpp"
#include "instrumentation/capture/python_samples/thread_list.hpp"
#include "instrumentation/capture/stacks/python_keys.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/recorder_threads.hpp"

namespace sluice::capture {

namespace {

static_assert(sizeof(ring::python_sample_record::entries) == sizeof(keyed_stack::entries));

constexpr auto info = static_cast<unsigned>(trace::severity::info),
               warning = static_cast<unsigned>(trace::severity::warning);

constexpr std::uint64_t ns_per_s = 1'000'000'000;
/// An unchanged stack is sent again after this time, so that there is one near each moment.
constexpr std::uint64_t repeat_ns = 20'000'000;
/// A thread whose frames have not changed in this time is probably blocked. Then only the pointer to its frames is
/// compared, its innermost frame at each `place_look` th time, and all frames at each `whole_look` th time.
constexpr std::uint64_t blocked_ns = 100'000'000;
constexpr unsigned place_look = 5, whole_look = 50;
/// The thread uses at most 1/n of one core: after a turn it sleeps at least (n - 1) times as long.
constexpr std::uint64_t largest_share = 20;
/// While sampling is paused, the end of the pause is looked for this often.
constexpr std::uint64_t paused_period = 10'000'000;

/// A moment on the ring's clock and on CLOCK_MONOTONIC (ns).
struct moment {
  std::uint64_t ring, ns;
};

moment read_moment() { return {ring::now(), ring::monotonic_now()}; }

/// A place for a thread in the table. All bytes zero: unused.
struct place {
  std::uint64_t state, tid;
  bool used;  ///< Seen in the present turn.
};

/// What is known of a thread. Large, so that looking for threads leaves the others' memory alone.
struct sampled_thread {
  std::uint64_t tid;
  bool sent_any;
  std::uint64_t key;  ///< Of the stack that was sent last; 0: no Python frames.
  decltype(ring::python_sample_record::entries) entries;
  std::uint32_t count;
  moment changed;       ///< The last look that found other frames than the look before, or that failed.
  moment sent;          ///< Time of the last record.
  moment confirmed;     ///< The last look that found this stack.
  unsigned looks;       ///< Since the thread is blocked.
  std::uint64_t frame;  ///< `thread_list::entry::frame` at the last look.
  sampled_stack stack;
};

/// All memory of the sampler. Mapped, and zero at first.
struct sampler {
  python_symbols python;
  thread_list list;
  stack_reader reader;
  frame_keys keys;
  keyed_stack stack;
  std::uint64_t walks, torn, unsent;
  bool said_cut;
  std::size_t places_used;  ///< Places from this index on were never used.
  place places[thread_list::max_threads];
  sampled_thread threads[thread_list::max_threads];
};

enum class phase : int { idle, running, stopping };
std::atomic<phase> present{phase::idle};
std::atomic<bool> refused{false}, held{false};
sampler* memory = nullptr;

// ------------------------------------------------------------------------------------------------------------- records

void send(sampler& s, sampled_thread& thread, const moment& when) {
  ring::python_sample_record out{};
  out.header.time = when.ring;
  out.tid = thread.tid;
  out.stack = thread.key;
  out.count = thread.count;
  std::copy(std::begin(thread.entries), std::end(thread.entries), out.entries);
  if (!ring::has_room(2 * sizeof out) || !ring::emit(out)) ++s.unsent;
  thread.sent = when;
  thread.sent_any = true;
}

/// Sends the stack if it has changed, and before it the last confirmation of the stack before. So the nearest record in
/// time is that of the nearest look.
void report(sampler& s, sampled_thread& thread, std::uint64_t key, const moment& when) {
  if (thread.sent_any && key == thread.key) {
    thread.confirmed = when;
    if (when.ns - thread.sent.ns >= repeat_ns) send(s, thread, when);
    return;
  }
  if (thread.sent_any && thread.confirmed.ring != thread.sent.ring) send(s, thread, thread.confirmed);
  thread.key = key;
  thread.count = key == 0 ? 0 : s.stack.count;
  std::copy(std::begin(s.stack.entries), std::end(s.stack.entries), thread.entries);
  thread.confirmed = when;
  send(s, thread, when);
}

// ------------------------------------------------------------------------------------------------------------- walking

/// Computes the stack's key and sends what the writer does not have. Returns 0 if the frames' code changed meanwhile.
std::uint64_t introduce(sampler& s, sampled_stack& stack) {
  memory_batch& batch = s.reader.memory;
  if (!s.keys.compute(batch, stack, s.stack)) return 0;
  if (s.stack.count == 0) return 0;
  const std::uint64_t key = compute_hash(s.stack.keys, s.stack.count).key;
  if (ring::knows_frame(key)) return key;
  if (!s.keys.introduce(batch, stack)) return 0;
  return ring::introduce_stack(key, s.stack.keys, s.stack.count);
}

void sample(sampler& s, const thread_list::entry& listed, sampled_thread& thread) {
  const moment when = read_moment();
  const bool blocked = thread.sent_any && when.ns - thread.changed.ns >= blocked_ns;
  thread.looks = blocked ? thread.looks + 1 : 0;
  if (blocked && listed.frame == thread.frame && thread.looks % place_look != 0) {
    return report(s, thread, thread.key, when);
  }
  thread.frame = listed.frame;
  ++s.walks;
  switch (thread.stack.look(s.reader, listed.state, blocked && thread.looks % whole_look != 0)) {
    case sampled_stack::outcome::torn:
      ++s.torn;
      thread.changed = when;
      return;
    case sampled_stack::outcome::none:
      if (thread.key != 0) thread.changed = when;
      return report(s, thread, 0, when);
    case sampled_stack::outcome::same:
      if (thread.sent_any) return report(s, thread, thread.key, when);
      [[fallthrough]];
    case sampled_stack::outcome::changed: {
      thread.changed = when;
      const std::uint64_t key = introduce(s, thread.stack);
      if (key != 0) return report(s, thread, key, when);
      thread.stack.clear();
      ++s.torn;
    }
  }
}

/// The place of a thread, which is a new one if the thread is. Its index is near that in the list.
std::size_t find_place(sampler& s, const thread_list::entry& listed, std::size_t hint) {
  constexpr std::size_t most = thread_list::max_threads;
  std::size_t unused = most;
  for (std::size_t i = 0; i < s.places_used; ++i) {
    const std::size_t at = (hint + i) % s.places_used;
    if (s.places[at].state == listed.state && s.places[at].tid == listed.tid) return at;
    if (s.places[at].state == 0) unused = at;
  }
  if (unused == most && s.places_used < most) unused = s.places_used++;
  if (unused == most) return most;
  s.places[unused] = {listed.state, listed.tid, false};
  sampled_thread& thread = s.threads[unused];
  thread.tid = listed.tid;
  thread.sent_any = false;
  thread.stack.clear();
  return unused;
}

void turn(sampler& s) {
  s.list.refresh(s.reader.memory);
  for (std::size_t i = 0; i < s.list.count(); ++i) {
    if (s.list[i].tid == 0) continue;
    const std::size_t at = find_place(s, s.list[i], i);
    if (at == thread_list::max_threads) continue;
    s.places[at].used = true;
    sample(s, s.list[i], s.threads[at]);
  }
  for (std::size_t i = 0; i < s.places_used; ++i) {
    if (!s.places[i].used) s.places[i] = {};
    s.places[i].used = false;
  }
  if (s.list.is_cut() && !s.said_cut) {
    s.said_cut = true;
    ring::message(info, "Python has more than 256 threads: samples of the others have no Python frames");
  }
}

/// In a pause: afterwards, an unchanged pointer does not mean unchanged frames.
void forget_threads(sampler& s) {
  std::fill_n(s.places, s.places_used, place{});
  s.places_used = 0;
}

// ---------------------------------------------------------------------------------------------------------- the thread

std::uint64_t read_cpu_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * ns_per_s + static_cast<std::uint64_t>(used.tv_nsec);
}

void sleep_until(std::uint64_t ns) {
  const timespec until{static_cast<time_t>(ns / ns_per_s), static_cast<long>(ns % ns_per_s)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

/// Sleeps until `ns`, or until the thread must end.
void wait_until(std::uint64_t ns) {
  constexpr std::uint64_t slice = 50'000'000;
  while (present.load(std::memory_order_acquire) == phase::running) {
    const std::uint64_t present_ns = ring::monotonic_now();
    if (present_ns >= ns) return;
    sleep_until(std::min(ns, present_ns + slice));
  }
}

void summarize(const sampler& s) {
  if (s.torn == 0 && s.unsent == 0) return;
  char text[256];
  snprintf(text, sizeof text,
           "%llu of %llu reads of Python's frames were dropped because the frames changed meanwhile, %llu because the "
           "recorder was behind",
           static_cast<unsigned long long>(s.torn), static_cast<unsigned long long>(s.walks),
           static_cast<unsigned long long>(s.unsent));
  ring::message(info, text);
}

void run_sampling() noexcept {
  sampler& s = *memory;
  const std::uint64_t period = ns_per_s / options.sampling_hz;
  const bool can = s.list.prepare(s.python) && s.reader.prepare(*s.python.layout) && s.keys.prepare(s.python);
  if (!can) ring::message(warning, "samples of this build of Python have no Python frames: its threads are not found");
  std::uint64_t next = ring::monotonic_now();
  while (can && present.load(std::memory_order_acquire) == phase::running && ring::active()) {
    const std::uint64_t begin = read_cpu_time();
    const bool paused = held.load(std::memory_order_relaxed);
    if (paused) {
      forget_threads(s);
    } else if (!is_python_ending()) {
      turn(s);
    }
    const std::uint64_t taken = read_cpu_time() - begin;
    // After a delay, the moments that have passed are left out.
    const std::uint64_t present_ns = ring::monotonic_now();
    next = std::max({next + (paused ? paused_period : period), present_ns, present_ns + taken * (largest_share - 1)});
    wait_until(next);
  }
  if (can) summarize(s);
  if (!can) refused.store(true);
  memory = nullptr;
  munmap(&s, sizeof s);
  present.store(phase::idle, std::memory_order_release);
}

constexpr ring::recorder_loop sampling_loop{"sluice-python", run_sampling};

void refuse(const char* why) {
  if (!refused.exchange(true)) ring::message(warning, why);
}

}  // namespace

void start_python_sampling() noexcept {
  if (options.sampling_hz == 0 || refused.load(std::memory_order_relaxed) || !ring::active()) return;
  const python_symbols* python = find_python_symbols();
  phase before = phase::idle;
  if (python == nullptr || !present.compare_exchange_strong(before, phase::running)) return;
  if (!can_read_own_memory()) {
    present.store(phase::idle);
    return refuse(
        "this process may not read its own memory (process_vm_readv is refused, for example by a seccomp filter): "
        "samples of the host have no Python frames");
  }
  void* mapped =
      mmap(nullptr, sizeof(sampler), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  memory = mapped == MAP_FAILED ? nullptr : static_cast<sampler*>(mapped);
  if (memory != nullptr) memory->python = *python;
  if (memory != nullptr && ring::start_recorder_thread(sampling_loop)) return;
  if (memory != nullptr) munmap(memory, sizeof(sampler));
  memory = nullptr;
  present.store(phase::idle);
  refuse("cannot start a thread that samples Python's frames: samples of the host have no Python frames");
}

void pause_python_sampling(bool pause) noexcept { held.store(pause, std::memory_order_relaxed); }

bool finish_python_sampling(int milliseconds) noexcept {
  phase before = phase::running;
  present.compare_exchange_strong(before, phase::stopping);
  for (int waited = 0; present.load(std::memory_order_acquire) != phase::idle; ++waited) {
    if (waited >= milliseconds) return false;
    sleep_until(ring::monotonic_now() + 1'000'000);
  }
  return true;
}

void forget_python_sampling() noexcept {
  // The parent's thread may have been writing to this memory: the child's copy is not used again.
  if (memory != nullptr) munmap(memory, sizeof(sampler));
  memory = nullptr;
  present.store(phase::idle);
}

}  // namespace sluice::capture
