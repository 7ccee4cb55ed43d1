#include "instrumentation/writer/sampling/thread_activity.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::writer {

using trace::host_state;

namespace {

/// With this much CPU time and no tick, at least one tick fell into the kernel. Timers may be late by a part of a period.
std::int64_t missed_tick(std::int64_t period) { return period * 7 / 4; }

}  // namespace

thread_activity::thread_activity(std::int64_t period, std::int64_t now, bool on_cpu)
    : period_(period), on_cpu_(on_cpu), since_(now) {}

/// Ends the present piece, and begins another one in the same state.
void thread_activity::close(std::int64_t time) {
  if (time <= since_ || finished_) return;
  waiting_piece next;
  next.piece.begin = since_;
  next.piece.end = time;
  next.decided = !on_cpu_ || lost_;
  if (lost_) {
    next.piece.state = host_state::unknown;
  } else if (!on_cpu_) {
    next.piece.state = preempted_ ? host_state::runnable : host_state::blocked;
    if (!preempted_) next.piece.system_call = call_;
    next.piece.frames = wait_frames_;
  } else {
    undecided_ += time - since_;
  }
  since_ = time;
  waiting_.push_back(std::move(next));
  if (waiting_.size() > max_waiting) give_up_before(time);
}

void thread_activity::add_tick(std::int64_t time, std::vector<std::uint64_t> frames) {
  // A tick of a thread that is said to be off the CPU: the report of its return is missing.
  if (!on_cpu_) switch_in(std::max(since_, time - period_));
  close(time);
  lost_ = false;
  explain(std::move(frames));
  release();
}

void thread_activity::add_state(std::int64_t time, host_state state, std::int64_t system_call,
                                std::vector<std::uint64_t> frames) {
  if (time <= since_ || finished_) return;
  waiting_.push_back({{since_, time, state, system_call, std::move(frames)}, true});
  since_ = time;
  release();
}

void thread_activity::switch_in(std::int64_t time) {
  close(time);
  on_cpu_ = true;
  lost_ = false;
  release();
}

void thread_activity::switch_out(std::int64_t time, bool preempted) {
  close(time);
  on_cpu_ = false;
  preempted_ = preempted;
  noted_ = preempted;  // A preempted thread waits for a CPU only.
  lost_ = false;
  call_ = -1;
  wait_frames_.clear();
  explain_kernel();
  release();
}

void thread_activity::lose() {
  lost_ = true;
  noted_ = true;
}

void thread_activity::note_wait(std::int64_t system_call, std::vector<std::uint64_t> frames) {
  noted_ = true;
  call_ = system_call;
  wait_frames_ = std::move(frames);
}

/// A tick ended the undecided CPU time: its last period was spent in user space, with this stack, and what is before
/// that in the kernel.
void thread_activity::explain(std::vector<std::uint64_t> frames) {
  std::int64_t in_kernel = undecided_ >= missed_tick(period_) ? undecided_ - period_ : 0;
  for (std::size_t i = 0; i < waiting_.size() && undecided_ > 0; ++i) {
    if (waiting_[i].decided) continue;
    activity_piece& piece = waiting_[i].piece;
    const std::int64_t length = piece.end - piece.begin;
    undecided_ -= length;
    waiting_[i].decided = true;
    if (in_kernel >= length) {
      piece.state = host_state::in_kernel;
      in_kernel -= length;
      continue;
    }
    if (in_kernel > 0) {
      waiting_piece first{{piece.begin, piece.begin + in_kernel, host_state::in_kernel, -1, {}}, true};
      piece.begin += in_kernel;
      in_kernel = 0;
      waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(i), std::move(first));
      ++i;
    }
    waiting_[i].piece.state = host_state::running;
    waiting_[i].piece.frames = frames;
  }
}

/// Decides CPU time that is too long to be followed by a tick, except for its last period.
void thread_activity::explain_kernel() {
  if (undecided_ < missed_tick(period_)) return;
  std::int64_t in_kernel = undecided_ - period_;
  for (std::size_t i = 0; i < waiting_.size() && in_kernel > 0; ++i) {
    if (waiting_[i].decided) continue;
    activity_piece& piece = waiting_[i].piece;
    const std::int64_t length = std::min(piece.end - piece.begin, in_kernel);
    in_kernel -= length;
    undecided_ -= length;
    if (piece.begin + length == piece.end) {
      piece.state = host_state::in_kernel;
      waiting_[i].decided = true;
      continue;
    }
    waiting_piece first{{piece.begin, piece.begin + length, host_state::in_kernel, -1, {}}, true};
    piece.begin += length;
    waiting_.insert(waiting_.begin() + static_cast<std::ptrdiff_t>(i), std::move(first));
    ++i;
  }
}

/// Leaves CPU time before `time` unknown.
void thread_activity::give_up_before(std::int64_t time) {
  for (waiting_piece& each : waiting_) {
    if (each.piece.end > time) break;
    if (each.decided) continue;
    each.decided = true;
    undecided_ -= each.piece.end - each.piece.begin;
  }
  release();
}

void thread_activity::advance(std::int64_t now) {
  if (on_cpu_ && !lost_ && undecided_ + (now - since_) >= missed_tick(period_)) {
    close(now);
    explain_kernel();
  }
  // A long wait is handed on in parts, but not before it is known what the thread waits for.
  if (!on_cpu_ && now - since_ >= max_length / 2) close(now);
  if (lost_ && now - since_ >= max_length / 2) close(now);
  give_up_before(now - longest_wait);
  if (window_end_ > window_begin_ && window_begin_ < now - longest_wait) end_window();
}

void thread_activity::finish(std::int64_t now) {
  if (finished_) return;
  close(now);
  finished_ = true;
  explain_kernel();
  give_up_before(now);
  end_window();
}

void thread_activity::take(std::vector<activity_piece>& to) {
  std::move(done_.begin(), done_.end(), std::back_inserter(to));
  done_.clear();
}

// ----------------------------------------------------------------------------------------------------- short pieces

void thread_activity::release() {
  while (!waiting_.empty() && waiting_.front().decided) {
    gather(std::move(waiting_.front().piece));
    waiting_.pop_front();
  }
}

void thread_activity::gather(activity_piece piece) {
  const std::int64_t length = piece.end - piece.begin;
  if (length >= period_ / 2 || piece.begin != window_end_) end_window();
  if (length >= period_ / 2) return emit(std::move(piece));
  if (window_end_ == window_begin_) window_begin_ = piece.begin;
  window_end_ = piece.end;
  share& s = window_[static_cast<std::size_t>(piece.state)];
  s.time += length;
  if (length > s.longest.end - s.longest.begin) s.longest = std::move(piece);
  if (window_end_ - window_begin_ >= period_) end_window();
}

void thread_activity::end_window() {
  std::int64_t at = window_begin_;
  for (share& s : window_) {
    if (s.time > 0) {
      activity_piece piece = std::exchange(s.longest, {});
      piece.begin = at;
      piece.end = at += s.time;
      emit(std::move(piece));
    }
    s = {};
  }
  window_begin_ = window_end_ = 0;
}

void thread_activity::emit(activity_piece piece) {
  while (piece.end - piece.begin > max_length) {
    activity_piece part = piece;
    part.end = piece.begin += max_length;
    done_.push_back(std::move(part));
  }
  done_.push_back(std::move(piece));
}

}  // namespace sluice::writer
