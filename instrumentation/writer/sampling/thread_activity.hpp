#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/trace/model/kinds.hpp"

namespace sluice::writer {

/// A time in which a thread was in one state. Times are ns of CLOCK_MONOTONIC.
struct activity_piece {
  std::int64_t begin = 0, end = 0;
  trace::host_state state = trace::host_state::unknown;
  std::int64_t system_call = -1;
  std::vector<std::uint64_t> frames;
};

/// Turns what the kernel says about one thread into pieces that cover its whole time, without gaps and overlaps.
///
/// A tick is due after each `period` of the thread's CPU time, but the kernel reports only ticks in user space. So a
/// reported tick stands for the last period of CPU time, wherever it was spent, and CPU time that is left without a tick
/// was spent in the kernel. Time off the CPU is `runnable` if another thread took the CPU, otherwise `blocked`. CPU time
/// of less than a period that no tick follows within 100 ms is `unknown`: it may have been either.
///
/// Pieces shorter than half a period are gathered: a window of about a period becomes one piece for each state, with
/// that state's share of the window. So a thread that switches 100,000 times a second costs a few rows per period, and
/// the times still add up. Not thread-safe.
class thread_activity {
 public:
  /// The thread has been in this state since `now`.
  thread_activity(std::int64_t period, std::int64_t now, bool on_cpu);

  /// Reports, in order of time. `frames`: the stack at the tick.
  void add_tick(std::int64_t time, std::vector<std::uint64_t> frames);
  void switch_in(std::int64_t time);
  void switch_out(std::int64_t time, bool preempted);
  /// The thread was in this state since the last report. For threads that are polled.
  void add_state(std::int64_t time, trace::host_state state, std::int64_t system_call,
                 std::vector<std::uint64_t> frames);
  /// Reports are missing: the state is unknown until the next one.
  void lose();
  /// Ticks have another period from now on.
  void set_period(std::int64_t period) { period_ = period; }

  /// True if the thread was off the CPU after the last report, and nobody has said what it waits for.
  [[nodiscard]] bool waits_unnoted() const { return !on_cpu_ && !noted_; }
  [[nodiscard]] bool finished() const { return finished_; }
  /// The begin of the present state.
  [[nodiscard]] std::int64_t since() const { return since_; }
  /// Says what the thread, which is off the CPU, waits for. Applies to all of its present wait.
  void note_wait(std::int64_t system_call, std::vector<std::uint64_t> frames);

  /// All reports up to `now` have been made.
  void advance(std::int64_t now);
  /// The thread has ended, or will not be watched further. Later reports are ignored.
  void finish(std::int64_t now);

  /// Appends the finished pieces to `to`, in order of time.
  void take(std::vector<activity_piece>& to);

  static constexpr std::int64_t max_length = 1'000'000'000;  ///< No piece is longer, in ns.

 private:
  struct waiting_piece {
    activity_piece piece;
    bool decided = false;  ///< False for CPU time that a tick may still explain.
  };
  /// What a window of short pieces contains of one state.
  struct share {
    std::int64_t time = 0;
    activity_piece longest;
  };
  static constexpr std::int64_t longest_wait = 100'000'000;  ///< For a tick.
  static constexpr std::size_t max_waiting = 4096;

  void close(std::int64_t time);
  void explain(std::vector<std::uint64_t> frames);
  void explain_kernel();
  void give_up_before(std::int64_t time);
  void release();
  void gather(activity_piece piece);
  void emit(activity_piece piece);
  void end_window();

  std::int64_t period_;
  bool on_cpu_;
  bool preempted_ = false;
  bool noted_ = false;
  bool lost_ = false;
  bool finished_ = false;
  std::int64_t since_;  ///< Begin of the present piece.
  std::int64_t call_ = -1;
  std::vector<std::uint64_t> wait_frames_;
  std::deque<waiting_piece> waiting_;
  std::int64_t undecided_ = 0;  ///< CPU time in `waiting_` that is not decided.
  std::int64_t window_begin_ = 0, window_end_ = 0;
  std::array<share, trace::host_state_count> window_;
  std::vector<activity_piece> done_;
};

}  // namespace sluice::writer
