#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/query/sql/sql.hpp"

/// Queries for a window: asked by one thread, answered by another, looked at while they run.
namespace sluice::query {

/// Some rows of an answer, as texts. Immutable.
struct sql_block {
  std::vector<std::string> cells;    ///< Row after row.
  std::vector<std::int64_t> values;  ///< Of each cell, where it is an integer; for columns that are ids.
  std::vector<bool> numbers;         ///< Of each cell: an integer or a real.
};

/// An answer so far. A value: cheap to copy, and it does not change.
struct sql_answer {
  static constexpr std::size_t block_rows = 256;

  std::vector<sql_column> columns;
  std::vector<std::shared_ptr<const sql_block>> blocks;  ///< Of `block_rows` each; the last may have fewer.
  std::uint64_t rows = 0;
  bool done = false;
  bool cut = false;  ///< There were more rows than are kept.
  std::optional<error> failure;
  double seconds = 0;  ///< It took, so far.

  [[nodiscard]] const std::string& text(std::uint64_t row, std::size_t column) const;
  [[nodiscard]] bool is_number(std::uint64_t row, std::size_t column) const;
  /// The id in a cell; 0: none.
  [[nodiscard]] std::uint64_t id(std::uint64_t row, std::size_t column) const;
};

/// What is kept of an answer; who wants all of it writes it to a file.
struct sql_task_options {
  std::uint64_t rows = 1'000'000;
  std::size_t bytes = std::size_t{256} << 20;
  std::function<void()> wake;  ///< From the task's thread, now and then: there is more.
};

/// One query in a thread of its own. Belongs to one thread. Ending it interrupts the query and waits for that, which takes as long as
/// it takes to read a chunk.
class sql_task {
 public:
  sql_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_task_options options = {});
  ~sql_task();
  sql_task(const sql_task&) = delete;
  sql_task& operator=(const sql_task&) = delete;

  void cancel() { cancelled_ = true; }
  /// What there is now. O(1).
  [[nodiscard]] std::shared_ptr<const sql_answer> answer() const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }

 private:
  void work();
  void publish(bool last);

  const std::shared_ptr<const trace::snapshot> trace_;
  const std::string text_;
  const sql_task_options options_;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> done_{false};
  mutable std::mutex mutex_;  ///< Of the one below.
  std::shared_ptr<const sql_answer> published_;
  sql_answer made_;  ///< The thread's own.
  sql_block block_;  ///< Likewise: what is not in a block of `made_` yet.
  std::thread thread_;
};

}  // namespace sluice::query
