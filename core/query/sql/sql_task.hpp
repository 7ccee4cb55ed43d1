#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/threads/worker_thread.hpp"
#include "core/query/sql/sql.hpp"

/// Runs SQL queries for the window in their own threads; rows can be shown while a query runs.
namespace sluice::query {

/// Some rows of a result, as texts. Immutable.
struct sql_block {
  std::vector<std::string> cells;    ///< The texts of the cells, row by row.
  std::vector<std::int64_t> values;  ///< The value of each cell that is an integer: ids are read from here.
  std::vector<bool> numbers;         ///< For each cell: true if it is an integer or a real.
};

/// The rows that a query has returned so far. The object is immutable and cheap to copy.
struct sql_result {
  static constexpr std::size_t block_rows = 256;

  std::vector<sql_column> columns;
  std::vector<std::shared_ptr<const sql_block>> blocks;  ///< Each has `block_rows` rows; the last may have fewer.
  std::uint64_t rows = 0;
  bool done = false;
  bool cut = false;  ///< The query has more rows than the limit allows.
  std::optional<error> failure;
  double seconds = 0;  ///< How long the query has run.

  [[nodiscard]] const std::string& text(std::uint64_t row, std::size_t column) const;
  [[nodiscard]] bool is_number(std::uint64_t row, std::size_t column) const;
  /// Returns the id in a cell, or 0 if the cell has none.
  [[nodiscard]] std::uint64_t id(std::uint64_t row, std::size_t column) const;
};

/// Limits on the rows that a task keeps. To get all rows, write the result to a file.
struct sql_task_options {
  std::uint64_t rows = 1'000'000;
  std::size_t bytes = std::size_t{256} << 20;
  std::function<void()> wake;  ///< Called from the task's thread from time to time when more rows are ready.
};

/// Runs one query in its own thread, or in another process, and keeps its rows. Use from one thread. The destructor
/// interrupts the query and waits for the thread, at most as long as it takes to read one chunk; it does not wait for
/// another process.
class sql_task {
 public:
  sql_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_task_options options = {});
  /// Runs the query in another process: sends it, calls `then` once with the result, on any thread, and returns a
  /// function that withdraws the query. The result arrives as a whole, when the query is done.
  using asker = std::function<std::function<void()>(const std::string& text, std::function<void(sql_result)> then)>;
  sql_task(std::string text, const asker& ask, std::function<void()> wake = {});
  ~sql_task();
  sql_task(const sql_task&) = delete;
  sql_task& operator=(const sql_task&) = delete;

  void cancel();
  /// Returns the result so far. O(1).
  [[nodiscard]] std::shared_ptr<const sql_result> found() const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool done() const { return shown_->done.load(std::memory_order_acquire); }

 private:
  /// The published state. Shared, because a late reply may write it after the task is destroyed.
  struct shown {
    std::atomic<bool> done{false};
    std::mutex mutex;  ///< Protects `result`.
    std::shared_ptr<const sql_result> result = std::make_shared<const sql_result>();

    void put(std::shared_ptr<const sql_result> next);
  };
  void work();
  void publish(bool last);

  const std::shared_ptr<const trace::snapshot> trace_;
  const std::string text_;
  const sql_task_options options_;
  std::function<void()> withdraw_;  ///< Empty if the query runs in this process.
  std::atomic<bool> cancelled_{false};
  const std::shared_ptr<shown> shown_ = std::make_shared<shown>();
  sql_result made_;  ///< Used only by the task's thread.
  sql_block block_;  ///< Used only by the task's thread: rows that are not in a block of `made_` yet.
  worker_thread thread_;
};

}  // namespace sluice::query
