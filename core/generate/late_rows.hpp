#pragma once

#include <deque>
#include <tuple>

#include "core/trace/file/writer.hpp"

namespace sluice::generate {

/// Writes rows to a file with the delays of a recorder. Host events are written at once, and device events and
/// completions later, in turns of 20 ms. Reports when a flush is due, which is every 100 ms. The memory holds the rows
/// that are not written yet, O(row rate * delay).
class late_rows {
 public:
  static constexpr trace::time_ns turn = 20'000'000;
  static constexpr trace::time_ns flush_period = 100'000'000;

  /// If `keeps` is false, all rows are discarded.
  late_rows(trace::file_writer& file, bool keeps) : file_(file), keeps_(keeps) {}

  template <class Row>
  std::uint64_t now(const Row& row) {
    return keeps_ ? file_.add(row) : 0;
  }

  /// Writes `row` in the first turn after `ready`. Rows of one kind keep their order.
  template <class Row>
  void later(const Row& row, trace::time_ns ready) {
    if (keeps_) std::get<queue<Row>>(waiting_).emplace_back(ready, row);
  }

  /// Writes the rows that are due once the program has reached `time`. Returns true once per flush period, when samples
  /// are due.
  bool advance(trace::time_ns time) {
    if (time < next_turn_) return false;
    next_turn_ = time / turn * turn + turn;
    deliver(time);
    if (time < next_flush_) return false;
    next_flush_ = time / flush_period * flush_period + flush_period;
    return true;
  }

  /// Writes all rows that are still waiting.
  void finish() { deliver(INT64_MAX); }

  [[nodiscard]] trace::file_writer& file() { return file_; }

 private:
  template <class Row>
  using queue = std::deque<std::pair<trace::time_ns, Row>>;

  template <class Row>
  void deliver_kind(trace::time_ns time) {
    auto& rows = std::get<queue<Row>>(waiting_);
    for (; !rows.empty() && rows.front().first <= time; rows.pop_front()) file_.add(std::move(rows.front().second));
  }
  void deliver(trace::time_ns time) {
    deliver_kind<trace::free_event>(time);
    deliver_kind<trace::transfer_event>(time);
    deliver_kind<trace::memset_event>(time);
    deliver_kind<trace::kernel_event>(time);
    deliver_kind<trace::graph_launch_event>(time);
  }

  trace::file_writer& file_;
  const bool keeps_;
  std::tuple<queue<trace::free_event>, queue<trace::transfer_event>, queue<trace::memset_event>,
             queue<trace::kernel_event>, queue<trace::graph_launch_event>>
      waiting_;
  trace::time_ns next_turn_ = 0;
  trace::time_ns next_flush_ = flush_period;
};

}  // namespace sluice::generate
