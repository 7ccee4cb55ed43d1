#include "instrumentation/writer/sampling/host_sampler.hpp"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "instrumentation/ring/producer_state.hpp"
#include "instrumentation/writer/sampling/sampled_process.hpp"

namespace sluice::writer {

namespace {

constexpr std::int64_t second = 1'000'000'000, millisecond = 1'000'000;
/// Rings are read this often (ns), or when one is half full; polled threads need more.
constexpr std::int64_t turn_length = 10 * millisecond, polling_turn_length = 5 * millisecond;
/// How often new threads, new processes and changed mappings are looked for, in ns.
constexpr std::int64_t threads_age = 100 * millisecond, children_age = 500 * millisecond;
constexpr std::chrono::milliseconds mappings_age{5000};
constexpr std::size_t max_processes = 1024;
/// Waits that are looked at in one turn: one takes about 20 us.
constexpr int waits_a_turn = 32;
/// Samples that wait for `take`: some 30 s of ten busy threads.
constexpr std::size_t max_samples = std::size_t{1} << 17;
/// If the sampler uses more than this share of a CPU, in percent, it samples half as often.
constexpr std::int64_t max_percent = 20;
constexpr std::int64_t longest_period = 16 * millisecond;

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * second + now.tv_nsec;
}

std::size_t share_of_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? static_cast<std::size_t>(limit.rlim_cur / 4) : 256;
}

}  // namespace

struct host_sampler::state {
  explicit state(const sampler_options& o)
      : options(o), poll_set(epoll_create1(EPOLL_CLOEXEC)), wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    settings.period = second / std::clamp<unsigned>(o.hz, 1, 10'000);
    settings.ring_bytes = o.ring_bytes;
    settings.free_threads = o.max_threads;
    settings.free_descriptors = o.max_descriptors != 0 ? o.max_descriptors : share_of_descriptors();
    epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
    epoll_ctl(poll_set, EPOLL_CTL_ADD, wake, &event);
  }
  ~state() {
    processes.clear();
    if (poll_set >= 0) close(poll_set);
    if (wake >= 0) close(wake);
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void run();

  // Shared by all threads, under `mutex`.
  mutable std::mutex mutex;
  std::vector<pid_t> wanted;  ///< Processes to watch from now on.
  std::vector<std::pair<pid_t, std::vector<pid_t>>> unwanted;
  std::vector<std::pair<pid_t, bool>> pauses;
  batch ready;
  sampler_losses reported;
  std::atomic<bool> stopping{false};

  const sampler_options options;
  const int poll_set, wake;
  std::thread runner;

 private:
  void wait(std::int64_t length);
  void take_requests();
  void add(pid_t pid);
  void look_for_threads(std::int64_t now);
  void look_for_children();
  void look_at_waits(std::int64_t now);
  void slow_down(std::int64_t now);
  void hand_over();
  void note_ended(std::uint64_t key);

  // Used only by the sampler's thread.
  unwind::image_cache images;
  std::map<pid_t, std::unique_ptr<sampled_process>> processes;
  sampling_settings settings;
  sampler_losses losses;
  sampling_room room;
  batch found;
  bool started_others = false;
  std::int64_t last_threads = 0, last_children = 0, last_look = 0, last_cpu = 0;
  pid_t last_waited = 0;  ///< The process at which looking at waits stopped.
};

/// Waits until a ring is half full, or for `length` ns. Threads that have ended are not waited for again.
void host_sampler::state::wait(std::int64_t length) {
  epoll_event events[64];
  const int count = epoll_wait(poll_set, events, 64, static_cast<int>(length / millisecond));
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = events[i].data.u64;
    if (key != 0 && (events[i].events & (EPOLLHUP | EPOLLERR)) != 0) note_ended(key);
  }
}

void host_sampler::state::note_ended(std::uint64_t key) {
  const auto process = processes.find(static_cast<pid_t>(key >> 32));
  if (process == processes.end()) return;
  const auto thread = process->second->threads.find(static_cast<pid_t>(key & 0xffff'ffff));
  if (thread == process->second->threads.end()) return;
  epoll_ctl(poll_set, EPOLL_CTL_DEL, thread->second->descriptor(), nullptr);
  last_threads = 0;
}

void host_sampler::state::add(pid_t pid) {
  if (processes.contains(pid) || processes.size() >= max_processes) return;
  auto& process = processes[pid] = std::make_unique<sampled_process>(pid, images);
  if (pid == getpid()) process->left_out.insert(static_cast<pid_t>(syscall(SYS_gettid)));
  last_threads = 0;
}

void host_sampler::state::take_requests() {
  const std::lock_guard lock(mutex);
  for (const pid_t pid : std::exchange(wanted, {})) add(pid);
  for (const auto& [pid, tids] : std::exchange(unwanted, {})) {
    const auto process = processes.find(pid);
    if (process == processes.end()) continue;
    process->second->left_out.insert(tids.begin(), tids.end());
    last_threads = 0;
  }
  for (const auto& [pid, paused] : std::exchange(pauses, {})) {
    const auto process = processes.find(pid);
    if (process == processes.end()) continue;
    process->second->paused = paused;
    last_threads = 0;
  }
}

void host_sampler::state::look_for_threads(std::int64_t now) {
  if (now - last_threads < threads_age && !started_others) return;
  last_threads = now;
  const bool any_started = std::exchange(started_others, false);
  for (auto it = processes.begin(); it != processes.end();) {
    std::vector<int> begun;
    sampled_process& process = *it->second;
    if (!process.update_threads(now, settings, losses, begun, found, room)) {
      it = processes.erase(it);
      continue;
    }
    for (const pid_t tid : begun) {
      const std::uint64_t key = static_cast<std::uint64_t>(it->first) << 32 | static_cast<std::uint32_t>(tid);
      epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
      epoll_ctl(poll_set, EPOLL_CTL_ADD, process.threads.at(tid)->descriptor(), &event);
    }
    process.code.refresh(unwind::process_code::clock::now(), mappings_age);
    ++it;
  }
  if (now - last_children < (any_started ? threads_age : children_age)) return;
  last_children = now;
  look_for_children();
}

void host_sampler::state::look_for_children() {
  std::vector<pid_t> children;
  for (const auto& [pid, process] : processes) {
    std::vector<pid_t> tids;
    for (const auto& [tid, thread] : process->threads) tids.push_back(tid);
    const auto its = list_children(pid, tids);
    children.insert(children.end(), its.begin(), its.end());
  }
  // A program that records itself must not sample itself by way of its parent.
  for (const pid_t pid : children) {
    if (pid != getpid()) add(pid);
  }
}

void host_sampler::state::look_at_waits(std::int64_t now) {
  int left = waits_a_turn;
  const auto look = [&](auto first, auto last) {
    for (auto it = first; it != last && left > 0; ++it) {
      last_waited = it->first;
      for (auto& [tid, thread] : it->second->threads) {
        if (left > 0 && thread->look_at_wait(now, it->second->code, room)) --left;
      }
    }
  };
  const auto start = processes.lower_bound(last_waited);
  look(start, processes.end());
  look(processes.begin(), start);
}

/// Halves the rate if sampling takes too much time, because many threads run at once.
void host_sampler::state::slow_down(std::int64_t now) {
  if (now - last_look < second) return;
  const std::int64_t cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
  const bool busy = last_look != 0 && (cpu - last_cpu) * 100 > max_percent * (now - last_look);
  last_look = now;
  last_cpu = cpu;
  if (!busy || settings.period * 2 > longest_period) return;
  settings.period *= 2;
  losses.lowest_hz = static_cast<unsigned>(second / settings.period);
  for (const auto& [pid, process] : processes) {
    for (const auto& [tid, thread] : process->threads) thread->set_period(settings.period);
  }
}

void host_sampler::state::hand_over() {
  for (const auto& [pid, process] : processes) process->hand_over(found, room);
  const std::lock_guard lock(mutex);
  std::move(found.modules.begin(), found.modules.end(), std::back_inserter(ready.modules));
  const std::size_t fits = std::min(found.samples.size(), max_samples - std::min(max_samples, ready.samples.size()));
  losses.samples += found.samples.size() - fits;
  std::move(found.samples.begin(), found.samples.begin() + static_cast<std::ptrdiff_t>(fits),
            std::back_inserter(ready.samples));
  std::move(found.threads.begin(), found.threads.end(), std::back_inserter(ready.threads));
  found.threads.clear();
  found.modules.clear();
  found.samples.clear();
  reported = losses;
}

void host_sampler::state::run() {
  prctl(PR_SET_NAME, "sluice-sampler");
  losses.perf_error = options.use_perf ? try_perf() : EPERM;
  settings.use_perf = losses.perf_error == 0;
  while (!stopping.load()) {
    take_requests();
    const std::int64_t now = read_clock(CLOCK_MONOTONIC);
    look_for_threads(now);
    bool any_polled = false;
    for (const auto& [pid, process] : processes) {
      for (const auto& [tid, thread] : process->threads) {
        thread->look(now, process->code, room, losses, started_others);
        any_polled = any_polled || thread->descriptor() < 0;
      }
    }
    look_at_waits(now);
    hand_over();
    slow_down(now);
    wait(any_polled ? polling_turn_length : turn_length);
  }
  const std::int64_t end = read_clock(CLOCK_MONOTONIC);
  for (const auto& [pid, process] : processes) {
    for (const auto& [tid, thread] : process->threads) thread->look(end, process->code, room, losses, started_others);
    process->finish(end);
  }
  hand_over();
}

// ------------------------------------------------------------------------------------------------------ other threads

host_sampler::host_sampler(std::unique_ptr<state> s) : state_(std::move(s)) {}

std::unique_ptr<host_sampler> host_sampler::start(const sampler_options& options) {
  auto s = std::make_unique<state>(options);
  if (s->poll_set < 0 || s->wake < 0) return nullptr;
  const ring::detail::signals_held hold;  // The new thread inherits the blocked mask.
  try {
    s->runner = std::thread([raw = s.get()] { raw->run(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  return std::unique_ptr<host_sampler>(new host_sampler(std::move(s)));
}

host_sampler::~host_sampler() { stop(); }

void host_sampler::watch(pid_t pid) {
  const std::lock_guard lock(state_->mutex);
  state_->wanted.push_back(pid);
}

void host_sampler::leave_out(pid_t pid, std::vector<pid_t> tids) {
  const std::lock_guard lock(state_->mutex);
  state_->unwanted.emplace_back(pid, std::move(tids));
}

void host_sampler::pause(pid_t pid, bool paused) {
  const std::lock_guard lock(state_->mutex);
  state_->pauses.emplace_back(pid, paused);
}

host_sampler::batch host_sampler::take() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->ready, {});
}

void host_sampler::stop() {
  if (!state_->runner.joinable()) return;
  state_->stopping = true;
  const std::uint64_t one = 1;
  static_cast<void>(write(state_->wake, &one, sizeof one));
  state_->runner.join();
}

sampler_losses host_sampler::losses() const {
  const std::lock_guard lock(state_->mutex);
  return state_->reported;
}

}  // namespace sluice::writer
