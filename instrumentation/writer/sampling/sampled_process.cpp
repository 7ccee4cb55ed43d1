#include "instrumentation/writer/sampling/sampled_process.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "core/base/format.hpp"
#include "instrumentation/unwind/merge_frames.hpp"

namespace sluice::writer {

using trace::host_state;

namespace {

/// Polling: a thread that runs is looked at 200 times a second, as one look costs about 5 us; one that has waited at the
/// same place for 50 ms, 20 times a second.
constexpr std::int64_t poll_period = 5'000'000, idle_poll_period = 50'000'000;
constexpr unsigned polls_until_idle = 10;
/// A part of a long wait is handed on after this time (ns).
constexpr std::int64_t longest_part = thread_activity::max_length / 2;
/// A wait is looked at once it has lasted for this time (ns): most waits are shorter.
constexpr std::int64_t shortest_wait = 2'000'000;
/// Bytes of stack that are copied of a thread that waits.
constexpr std::size_t wait_stack_bytes = 16384;
constexpr std::size_t page_bytes = 4096;

bool is_on_cpu(pid_t pid, pid_t tid) {
  const auto file = proc_file::open(pid, tid, "stat");
  char room[1024];
  return file && parse_state(file->read(room)) == 'R';
}

std::vector<std::uint64_t> walk(const unwind::user_registers& registers, const unwind::copied_stack& stack,
                                unwind::process_code& code) {
  if (registers.ip == 0) return {};
  std::uint64_t frames[max_sampled_frames];
  const std::size_t count = unwind::walk_copied_stack(registers, stack, code, frames);
  return {frames, frames + count};
}

/// Hands the reports of a ring to the activity of its thread.
class ring_reports : public perf_listener {
 public:
  ring_reports(pid_t tid, thread_activity& activity, unwind::process_code& code)
      : tid_(tid), to_(activity), code_(code) {}
  void hear_sample(std::int64_t time, const unwind::user_registers& registers,
                   const unwind::copied_stack& stack) override {
    to_.add_tick(time, walk(registers, stack, code_));
  }
  void hear_switch_in(std::int64_t time) override { to_.switch_in(time); }
  void hear_switch_out(std::int64_t time, bool preempted) override { to_.switch_out(time, preempted); }
  void hear_loss(std::uint64_t count) override {
    lost += count;
    to_.lose();
  }
  void hear_start(pid_t, pid_t) override { started = true; }
  void hear_end(std::int64_t time, pid_t tid) override {
    if (tid == tid_) to_.finish(time);
  }

  std::uint64_t lost = 0;
  bool started = false;

 private:
  pid_t tid_;
  thread_activity& to_;
  unwind::process_code& code_;
};

}  // namespace

// ----------------------------------------------------------------------------------------------------------- threads

sampled_thread::sampled_thread(pid_t pid, pid_t tid, pid_t own_tid, std::int64_t now, sampling_settings& settings,
                               sampler_losses& losses)
    : pid_(pid),
      tid_(tid),
      own_tid_(own_tid),
      settings_(settings),
      activity_(settings.period, now, is_on_cpu(pid, tid)),
      last_poll_(now) {
  --settings_.free_threads;
  if (!settings_.use_perf || !open_ring(losses)) open_files();
  settings_.free_descriptors -= descriptors_;
}

sampled_thread::~sampled_thread() {
  ++settings_.free_threads;
  settings_.free_descriptors += descriptors_;
}

bool sampled_thread::open_ring(sampler_losses& losses) {
  perf_ring::failure why;
  // The kernel limits the memory of all rings of a user. A smaller ring holds the samples of a few ms.
  for (std::size_t bytes = settings_.ring_bytes; bytes >= 4 * page_bytes || bytes == settings_.ring_bytes; bytes /= 2) {
    ring_ = perf_ring::open(tid_, settings_.period, bytes, why);
    if (ring_) {
      descriptors_ = 1;
      return true;
    }
    if (!why.of_memory) break;
  }
  if (why.error != ESRCH) ++losses.threads_polled;
  return false;
}

void sampled_thread::open_files() {
  activity_.set_period(poll_period);
  syscall_ = proc_file::open(pid_, tid_, "syscall");
  char room[1024];
  if (syscall_ && !parse_wait(syscall_->read(room))) syscall_.reset();  // Not allowed.
  if (!syscall_) stat_ = proc_file::open(pid_, tid_, "stat");
  schedstat_ = proc_file::open(pid_, tid_, "schedstat");
  descriptors_ = (syscall_ ? 1U : 0U) + (stat_ ? 1U : 0U) + (schedstat_ ? 1U : 0U);
}

void sampled_thread::look(std::int64_t now, unwind::process_code& code, sampling_room& room, sampler_losses& losses,
                          bool& started_others) {
  if (!ring_) return poll(now, code, room);
  ring_reports reports(tid_, activity_, code);
  ring_->drain(room.record, reports);
  losses.records += reports.lost;
  started_others = started_others || reports.started;
  // A report of this moment may still be on its way.
  constexpr std::int64_t margin = 1'000'000;
  activity_.advance(now - margin);
}

bool sampled_thread::look_at_wait(std::int64_t now, unwind::process_code& code, sampling_room& room) {
  if (!ring_ || !activity_.waits_unnoted() || now - activity_.since() < shortest_wait) return false;
  const std::int64_t since = activity_.since();
  const auto wait = read_wait(pid_, tid_);
  std::vector<std::uint64_t> frames;
  if (wait && !wait->running) frames = walk_wait(*wait, code, room);
  // If the thread went on meanwhile, this may be another wait.
  ring_reports reports(tid_, activity_, code);
  ring_->drain(room.record, reports);
  if (activity_.since() != since || !activity_.waits_unnoted()) return true;
  activity_.note_wait(wait && !wait->running ? wait->system_call : -1, std::move(frames));
  return true;
}

/// The frame pointer of a waiting thread is unknown, but most code is walked without it.
std::vector<std::uint64_t> sampled_thread::walk_wait(const thread_wait& wait, unwind::process_code& code,
                                                     sampling_room& room) const {
  if (wait.ip == 0) return {};
  copy_memory(pid_, wait.sp, wait_stack_bytes, room.stack);
  // The system call returns to this address; the instruction before it is the call.
  return walk({wait.ip - 1, wait.sp, 0}, {wait.sp, room.stack}, code);
}

thread_wait sampled_thread::read_state() const {
  char room[1024];
  if (syscall_) return parse_wait(syscall_->read(room)).value_or(thread_wait{});
  thread_wait wait;
  const char state = stat_ ? parse_state(stat_->read(room)) : '?';
  wait.running = state == 'R';
  wait.ip = wait.sp = state == '?' || state == 'Z' || state == 'X' ? 0 : 1;
  return wait;
}

/// True if the thread waited for a CPU for at least half of the time since the last poll.
bool sampled_thread::was_runnable(std::int64_t now) {
  char room[1024];
  if (!schedstat_) return false;
  const std::string text(schedstat_->read(room));
  unsigned long long delay = 0;
  if (std::sscanf(text.c_str(), "%*u %llu", &delay) != 1) return false;
  const std::uint64_t waited = delay - std::exchange(last_delay_, delay);
  return 2 * static_cast<std::int64_t>(waited) >= now - last_poll_ && last_delay_ != waited;
}

/// A state that is found stands for the time since the last poll.
void sampled_thread::poll(std::int64_t now, unwind::process_code& code, sampling_room& room) {
  const std::int64_t due = same_polls_ > polls_until_idle ? idle_poll_period : poll_period;
  if (activity_.finished() || now - last_poll_ < due) return;
  const thread_wait found = read_state();
  const bool gone = !found.running && found.ip == 0 && found.sp == 0;
  const bool same = found == last_wait_ && !found.running;
  const auto end_wait = [&](std::int64_t time) {
    if (!last_wait_.running) activity_.add_state(time, host_state::blocked, last_wait_.system_call, wait_frames_);
  };
  if (gone) {
    end_wait(last_poll_);
    activity_.finish(last_poll_);
    return;
  }
  if (same && now - activity_.since() >= longest_part) end_wait(now);
  if (!same) end_wait(last_poll_);
  if (found.running) {
    const bool runnable = was_runnable(now);
    activity_.add_state(now, runnable ? host_state::runnable : host_state::running, -1, {});
  } else if (!same) {
    wait_frames_ = syscall_ ? walk_wait(found, code, room) : std::vector<std::uint64_t>{};
  }
  same_polls_ = same ? same_polls_ + 1 : 0;
  last_wait_ = found;
  last_poll_ = now;
}

void sampled_thread::finish(std::int64_t now) {
  if (!ring_ && !last_wait_.running) {
    activity_.add_state(now, host_state::blocked, last_wait_.system_call, wait_frames_);
  }
  activity_.finish(ring_ ? now : activity_.since());
}

void sampled_thread::set_period(std::int64_t period) {
  if (!ring_) return;
  ring_->set_period(period);
  activity_.set_period(period);
}

// --------------------------------------------------------------------------------------------------------- processes

bool sampled_process::update_threads(std::int64_t now, sampling_settings& settings, sampler_losses& losses,
                                     std::vector<int>& begun, host_sampler::batch& to, sampling_room& room) {
  constexpr std::size_t most = 65536;
  constexpr std::size_t descriptors_of_thread = 3;
  const std::vector<pid_t> found = list_threads(pid_, most);
  const std::set<pid_t> present(found.begin(), found.end());
  for (auto it = threads.begin(); it != threads.end();) {
    sampled_thread& thread = *it->second;
    const bool here = present.contains(it->first), out = left_out.contains(thread.own_tid());
    const bool stays_out = here && (out || thread.finished());
    if (here && !stays_out && !paused) {
      ++it;
      continue;
    }
    if (!out) {
      // Without the reports that are still in its ring, CPU time would seem to be without ticks: spent in the kernel.
      bool started_others = false;
      thread.look(now, code, room, losses, started_others);
      thread.finish(now);
      hand_over(thread, to, room);
    }
    if (stays_out) own_ids_[it->first] = thread.own_tid();
    it = threads.erase(it);
  }
  std::erase_if(own_ids_, [&](const auto& each) { return !present.contains(each.first); });
  if (paused) return !found.empty();
  for (const pid_t tid : found) {
    if (threads.contains(tid) || own_ids_.contains(tid)) continue;
    const pid_t own = find_own_id(pid_, tid);
    const bool room_left = settings.free_threads > 0 && settings.free_descriptors >= descriptors_of_thread;
    if (!room_left) ++losses.threads_left_out;
    if (!room_left || left_out.contains(own)) {
      own_ids_[tid] = own;
      continue;
    }
    auto& thread = threads[tid] = std::make_unique<sampled_thread>(pid_, tid, own, now, settings, losses);
    if (thread->descriptor() >= 0) begun.push_back(tid);
    to.threads.push_back({pid_, own, read_thread_name(pid_, tid)});
  }
  return !found.empty();
}

void sampled_process::finish(std::int64_t now) {
  for (auto& [tid, thread] : threads) thread->finish(now);
}

void sampled_process::hand_over(host_sampler::batch& to, sampling_room& room) {
  for (auto& [tid, thread] : threads) hand_over(*thread, to, room);
}

void sampled_process::hand_over(sampled_thread& thread, host_sampler::batch& to, sampling_room& room) {
  room.pieces.clear();
  thread.take(room.pieces);
  for (activity_piece& piece : room.pieces) {
    raw_sample sample;
    sample.pid = pid_;
    sample.tid = thread.own_tid();
    sample.monotonic = piece.begin;
    sample.length = piece.end - piece.begin;
    sample.state = piece.state;
    sample.system_call = piece.system_call;
    introduce(piece.frames, sample, to);
    sample.frames = std::move(piece.frames);
    to.samples.push_back(std::move(sample));
  }
}

/// Notes which frames evaluate Python code, and hands over files and names of code that were not handed over before.
void sampled_process::introduce(const std::vector<std::uint64_t>& frames, raw_sample& sample, host_sampler::batch& to) {
  constexpr std::size_t max_known = std::size_t{1} << 17;
  for (const std::uint64_t pc : frames) {
    if (std::exchange(introduced_at_, code.changes()) != code.changes()) {
      introduced_.clear();
      known_frames_.clear();
    }
    if (const auto known = known_frames_.find(pc); known != known_frames_.end()) {
      if (known->second) sample.evaluations.push_back(pc);
      continue;
    }
    const unwind::process_code::loaded_file* const file = code.find_file(pc - 1);
    if (file == nullptr) continue;
    if (known_frames_.size() >= max_known) known_frames_.clear();
    if (introduced_.emplace(file->path, file->base).second)
      to.modules.push_back({pid_, file->path, file->base, file->begin, file->end, file->build_id});
    const std::string name = code.find_name(pc - 1);
    const bool evaluates = name == unwind::python_evaluation;
    known_frames_[pc] = evaluates;
    if (evaluates) sample.evaluations.push_back(pc);
    if (!name.empty()) to.names.push_back({pid_, pc, readable_name(name)});
  }
}

}  // namespace sluice::writer
