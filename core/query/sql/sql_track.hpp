#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/threads/worker_thread.hpp"
#include "core/base/time/time_range.hpp"
#include "core/query/sql/sql.hpp"
#include "core/timeline/slice_set.hpp"

/// Shows the rows of an SQL query as intervals on the timeline.
namespace sluice::query {

/// The indexes of the columns of a result that define the intervals of its rows.
struct track_columns {
  std::size_t begin = 0;                ///< The column named begin, start, time, born or timestamp.
  std::optional<std::size_t> end;       ///< The column named end, stop or died.
  std::optional<std::size_t> duration;  ///< The column named duration or lifetime; used if there is no `end`.
  std::optional<std::size_t> name;      ///< The column named name, label, line or text.
  std::optional<std::size_t> id;        ///< The first column with ids of events or blocks.
};
/// Finds these columns in a result by their names, ignoring case. Returns nullopt if no column has start times.
[[nodiscard]] std::optional<track_columns> find_track_columns(std::span<const sql_column> columns);

/// The rows of a query as intervals. A row without a numeric start is omitted. If the result has an end or a duration
/// column, a row where it is null lasts until the end of the recording. Otherwise, and for a row that ends before it
/// starts, the length is 0. Immutable.
class sql_track {
 public:
  [[nodiscard]] std::uint64_t rows() const { return rows_; }  ///< The number of rows with a start time.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] bool cut() const { return cut_; }  ///< The query has more rows than `row_limit`.
  /// True if the `event` of each slice is a block id.
  [[nodiscard]] bool ids_are_blocks() const { return ids_are_blocks_; }
  /// The number of lanes. Overlapping rows are in different lanes; only the first `drawn_lanes` lanes are drawn.
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// Returns the name of a slice, given its `name`. These ids are not ids of the trace.
  [[nodiscard]] std::string_view name(trace::string_id id) const;
  /// Appends the slices to draw to `out`, lane after lane. O(width + log rows) for each drawn lane.
  void draw(time_range range, std::uint32_t width, std::vector<timeline::drawn_slice>& out) const;

  static constexpr std::uint64_t row_limit = 2'000'000;
  static constexpr std::size_t drawn_lanes = 16;
  static constexpr std::size_t name_limit = 100'000;  ///< The most distinct names; slices with other names have none.
  static constexpr std::size_t longest_name = 200;    ///< In bytes; longer names are truncated.

 private:
  friend class sql_track_task;
  void add(const sql_statement& row, const track_columns& columns);
  void settle();
  trace::string_id intern(std::string_view name);

  timeline::slice_set slices_;  ///< After `settle`, contains only the slices of drawn lanes.
  std::uint64_t rows_ = 0;
  std::size_t lanes_ = 0;
  trace::time_ns end_of_all_ = 0;
  std::uint64_t left_out_ = 0;
  bool cut_ = false;
  bool ids_are_blocks_ = false;
  std::vector<std::string> names_;  ///< The name with the id i is at i - 1.
  std::unordered_map<std::string, std::uint64_t> known_names_;
};

struct sql_track_options {
  double seconds = 60;         ///< A query that runs longer than this is stopped.
  std::function<void()> wake;  ///< Called from the task's thread when the task is done.
};

/// Runs a query in its own thread and stores its rows as intervals, not as texts. Use from one thread. The destructor
/// interrupts the query and waits for the thread, at most as long as it takes to read one chunk.
class sql_track_task {
 public:
  sql_track_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_track_options options = {});
  ~sql_track_task();
  sql_track_task(const sql_track_task&) = delete;
  sql_track_task& operator=(const sql_track_task&) = delete;

  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  /// The number of rows read so far.
  [[nodiscard]] std::uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }
  /// Returns the track, or null if the task is not done or has failed.
  [[nodiscard]] std::shared_ptr<const sql_track> track() const;
  /// Returns the error of a failed task. Call when the task is done. Errors: those of `sql_database`; invalid_argument
  /// if no column has start times.
  [[nodiscard]] std::optional<error> failure() const;

 private:
  [[nodiscard]] result<std::shared_ptr<const sql_track>> read();

  const std::shared_ptr<const trace::snapshot> trace_;
  const std::string text_;
  const sql_track_options options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> done_{false};
  std::atomic<std::uint64_t> rows_{0};
  mutable std::mutex mutex_;  ///< Protects the two members below.
  std::shared_ptr<const sql_track> track_;
  std::optional<error> failure_;
  worker_thread thread_;
};

}  // namespace sluice::query
