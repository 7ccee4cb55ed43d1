#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/host_activity.hpp"
#include "core/metrics/host_causes/sampled_causes.hpp"
#include "core/trace/model/model.hpp"

/// Adds up why a device was idle: what the host did in the gaps, by reason, library and line of the program.
namespace sluice::metrics {

/// A part of a gap in which the device waited for what this thread did.
struct host_span {
  index::thread_key thread;
  time_range span;
};

/// An idle gap of a device, as far as the host caused it.
struct host_gap {
  time_range span;
  std::span<const host_span> parts;  ///< In order of time, not overlapping.
  std::uint64_t steps_begun = 0;     ///< The number of the program's steps that began before the gap; 0 without steps.
};

/// The gaps with the same cause.
struct host_cause_group {
  host_cause cause;
  time_ns total = 0;       ///< Time of the parts that have this cause.
  std::uint64_t gaps = 0;  ///< Number of gaps that contain this cause.
  time_ns longest = 0;     ///< The most time in one gap.
  time_range longest_gap;
  time_ns first = 0;                ///< Start of the first part.
  time_ns last = 0;                 ///< End of the last part.
  std::uint64_t steps = 0;          ///< Number of steps with such a gap.
  bool recurs = true;               ///< False if the cost occurred at the start: see `host_cause_groups::groups`.
  trace::stack_id example_stack{};  ///< The stack with the most time in the piece with the most time.
};

/// Time over the run, in at most 128 bins whose width doubles when the run outgrows them. Bins begin at `start`.
class growing_histogram {
 public:
  explicit growing_histogram(time_ns start) : start_(start) {}
  void add(time_ns at, time_ns amount);
  /// The amount in the bins that begin before `time`. The last of them may extend beyond it, by at most a 64th of the
  /// time from `start` to the latest `add`, or by a millisecond.
  [[nodiscard]] time_ns sum_before(time_ns time) const;

 private:
  static constexpr std::size_t bin_count = 128;
  time_ns start_;
  time_ns width_ = 1'000'000;
  std::array<time_ns, bin_count> bins_{};
};

/// Collects the gaps of one device, in order of time. The sum over all groups is exactly the sum of the parts. Copies
/// are independent. Not thread-safe.
///
/// A gap is examined in pieces of `piece` at most, so that a long gap in which several things happen one after another
/// has several causes. The sampled time of a piece has one cause (`sampled_causes`). Time without samples is `unsampled`.
class host_cause_groups {
 public:
  static constexpr time_ns default_piece = 100'000'000;

  /// `start`: the start of the device's first work. `piece`: at least 1 ns.
  explicit host_cause_groups(time_ns start, time_ns piece = default_piece) : start_(start), piece_length_(piece) {}

  /// Adds a gap. `samples.for_each_in(thread, range, use)` must call `use(sample, part)` for each sample of a thread
  /// that overlaps a range; `part` is the overlap, a `time_range` or its length, and `sample.stack` the stack.
  /// `classify(sample)` returns the sample's `host_cause`. It is called for every sample, so it should look up results
  /// by (stack, state, system call). O(samples * log causes).
  template <class Samples, class Classify>
  void add(const host_gap& gap, const Samples& samples, Classify&& classify) {
    begin_gap(gap);
    for (const host_span& part : gap.parts)
      for (time_range rest = part.span; rest.begin < rest.end;) {
        const time_range span{rest.begin, std::min(rest.end, find_piece_end(rest.begin))};
        extend_piece(span);
        samples.for_each_in(part.thread, span, [&](const auto& sample, const auto& overlap) {
          add_sample(classify(sample), sample.stack, get_length(overlap));
        });
        rest.begin = span.end;
      }
    end_piece();
  }

  /// Returns the groups, most time first. `end`: the end of the device's last work so far. A cost does not recur if at
  /// least nine tenths of its time lie in one gap, in the first tenth of the run (from `start` to `end`), or, if the
  /// program has three or more steps, before its second step.
  /// Beyond the first `limit` groups, those with the same reason and library are joined, without their lines; beyond
  /// `2 * limit`, those with the same reason. So at most `2 * limit + host_reason_count` remain, and the total of each
  /// reason is exact. A gap or step counts once for each group that was joined. O(groups * log groups).
  [[nodiscard]] std::vector<host_cause_group> groups(time_ns end,
                                                     std::size_t limit = std::numeric_limits<std::size_t>::max() /
                                                                         2) const;
  /// The sum of all parts so far.
  [[nodiscard]] time_ns total() const { return total_; }

 private:
  struct gathered {
    host_cause_group group;
    growing_histogram over_time;
    time_ns before_second_step = 0;
    std::uint64_t last_step = 0;
    std::uint64_t gap_number = 0;  ///< The number of the last gap that was counted.
    time_ns in_gap = 0;            ///< The time in that gap.
    time_ns example_time = 0;
  };

  static time_ns get_length(time_ns length) { return length; }
  static time_ns get_length(const time_range& range) { return range.length(); }
  [[nodiscard]] time_ns find_piece_end(time_ns begin) const;
  void begin_gap(const host_gap& gap);
  /// Adds a stretch to the current piece. Ends the piece first if the stretch belongs to the next one.
  void extend_piece(time_range span);
  void add_sample(const host_cause& cause, trace::stack_id stack, time_ns length);
  void end_piece();
  void count(const host_cause& cause, trace::stack_id stack, time_ns time);

  time_ns start_;
  time_ns piece_length_;
  std::map<host_cause, gathered> groups_;
  time_ns total_ = 0;
  std::uint64_t gap_count_ = 0;
  std::uint64_t steps_begun_ = 0;
  time_range gap_;
  // The current piece.
  time_range piece_;
  time_ns piece_end_ = 0;  ///< Where the next piece begins.
  time_ns piece_time_ = 0;
  sampled_causes sampled_;
};

}  // namespace sluice::metrics
