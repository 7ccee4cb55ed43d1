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
#include "core/query/sql/sql.hpp"
#include "core/timeline/slice_set.hpp"
#include "core/timeline/time_range.hpp"

/// The rows of a query as intervals on the timeline.
namespace sluice::query {

/// Which columns of an answer say when its rows begin and end.
struct track_columns {
  std::size_t begin = 0;                ///< Named begin, start, time, born or timestamp.
  std::optional<std::size_t> end;       ///< Named end, stop or died.
  std::optional<std::size_t> duration;  ///< Named duration or lifetime; used without an `end`.
  std::optional<std::size_t> name;      ///< Named name, label, line or text.
  std::optional<std::size_t> id;        ///< The first id of an event or block.
};
/// The columns of an answer with these columns; nullopt if none says when rows begin. Upper and lower case are the same.
[[nodiscard]] std::optional<track_columns> track_columns_of(std::span<const sql_column> columns);

/// Rows of a query as intervals. A row without a number for its begin is left out. One without an end and without a
/// duration lasts until the end of the recording; one that ends before it begins has no length. Immutable.
class sql_track {
 public:
  [[nodiscard]] std::uint64_t rows() const { return rows_; }  ///< With a time.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }
  [[nodiscard]] bool cut() const { return cut_; }                        ///< There are more rows than `row_limit`.
  [[nodiscard]] bool ids_are_blocks() const { return ids_are_blocks_; }  ///< A slice's `event` is the id of a block.
  /// Rows that overlap lie in lanes below one another; of `lanes()` the first `drawn_lanes` are drawn.
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  /// The name of a slice: its `name` is for this function only.
  [[nodiscard]] std::string_view name(trace::string_id id) const;
  /// Appends the slices to draw, lane after lane. O(width + log rows) for each drawn lane.
  void draw(analysis::time_range range, std::uint32_t width, std::vector<timeline::drawn_slice>& out) const;

  static constexpr std::uint64_t row_limit = 2'000'000;
  static constexpr std::size_t drawn_lanes = 16;
  static constexpr std::size_t name_limit = 100'000;  ///< Further names are left out.
  static constexpr std::size_t longest_name = 200;    ///< In bytes; longer ones are cut.

 private:
  friend class sql_track_task;
  void add(const sql_statement& row, const track_columns& columns);
  void settle();
  trace::string_id intern(std::string_view name);

  timeline::slice_set slices_;  ///< Once settled, what is drawn.
  std::uint64_t rows_ = 0;
  std::size_t lanes_ = 0;
  trace::time_ns end_of_all_ = 0;
  std::uint64_t left_out_ = 0;
  bool cut_ = false;
  bool ids_are_blocks_ = false;
  std::vector<std::string> names_;  ///< By id - 1.
  std::unordered_map<std::string, std::uint64_t> known_names_;
};

struct sql_track_options {
  double seconds = 60;         ///< A query that runs for longer is stopped.
  std::function<void()> wake;  ///< Called from the task's thread when it is done.
};

/// Runs a query in a thread of its own and keeps its rows as intervals: none is held as text. Use from one thread. The
/// destructor interrupts the query and waits for it, which takes up to the time of reading one chunk.
class sql_track_task {
 public:
  sql_track_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_track_options options = {});
  ~sql_track_task();
  sql_track_task(const sql_track_task&) = delete;
  sql_track_task& operator=(const sql_track_task&) = delete;

  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  /// Rows read so far.
  [[nodiscard]] std::uint64_t rows() const { return rows_.load(std::memory_order_relaxed); }
  /// Null until it is done, and if it failed.
  [[nodiscard]] std::shared_ptr<const sql_track> track() const;
  /// Why it failed. Call when it is done. Errors: those of `sql_database`; invalid_argument without a column of times.
  [[nodiscard]] std::optional<error> failure() const;

 private:
  [[nodiscard]] result<std::shared_ptr<const sql_track>> read();

  const std::shared_ptr<const trace::snapshot> trace_;
  const std::string text_;
  const sql_track_options options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> done_{false};
  std::atomic<std::uint64_t> rows_{0};
  mutable std::mutex mutex_;  ///< Protects the two below.
  std::shared_ptr<const sql_track> track_;
  std::optional<error> failure_;
  worker_thread thread_;
};

}  // namespace sluice::query
