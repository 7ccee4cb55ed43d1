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

/// Queries for the window: requested in one thread, run in another, with results visible while they run.
namespace sluice::query {

/// Some rows of an answer as texts. Immutable.
struct sql_block {
  std::vector<std::string> cells;    ///< Row by row.
  std::vector<std::int64_t> values;  ///< The value of each cell that is an integer, for id columns.
  std::vector<bool> numbers;         ///< For each cell: it is an integer or a real.
};

/// The answer so far. An immutable value; cheap to copy.
struct sql_answer {
  static constexpr std::size_t block_rows = 256;

  std::vector<sql_column> columns;
  std::vector<std::shared_ptr<const sql_block>> blocks;  ///< `block_rows` rows each; the last may have fewer.
  std::uint64_t rows = 0;
  bool done = false;
  bool cut = false;  ///< There are more rows than the limit.
  std::optional<error> failure;
  double seconds = 0;  ///< Run time so far.

  [[nodiscard]] const std::string& text(std::uint64_t row, std::size_t column) const;
  [[nodiscard]] bool is_number(std::uint64_t row, std::size_t column) const;
  /// The id in a cell; 0 if none.
  [[nodiscard]] std::uint64_t id(std::uint64_t row, std::size_t column) const;
};

/// Limits on the rows kept. To get all rows, write the answer to a file.
struct sql_task_options {
  std::uint64_t rows = 1'000'000;
  std::size_t bytes = std::size_t{256} << 20;
  std::function<void()> wake;  ///< Called now and then from the task's thread: more rows are ready.
};

/// One query in its own thread, or in another process. Use from one thread. The destructor interrupts the query and waits
/// for it, which takes up to the time of reading one chunk; it does not wait for another process.
class sql_task {
 public:
  sql_task(std::shared_ptr<const trace::snapshot> trace, std::string text, sql_task_options options = {});
  /// Has another process run the query: `ask` sends it, takes what is called once with the answer, on any thread, and
  /// returns what withdraws it. The answer comes at once, when the query is done.
  using asker = std::function<std::function<void()>(const std::string& text, std::function<void(sql_answer)> then)>;
  sql_task(std::string text, const asker& ask, std::function<void()> wake = {});
  ~sql_task();
  sql_task(const sql_task&) = delete;
  sql_task& operator=(const sql_task&) = delete;

  void cancel();
  /// The answer so far. O(1).
  [[nodiscard]] std::shared_ptr<const sql_answer> answer() const;
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool done() const { return shown_->done.load(std::memory_order_acquire); }

 private:
  /// What is shown, also by a reply that comes when the task is gone.
  struct shown {
    std::atomic<bool> done{false};
    std::mutex mutex;  ///< Protects `answer`.
    std::shared_ptr<const sql_answer> answer = std::make_shared<const sql_answer>();

    void put(std::shared_ptr<const sql_answer> next);
  };
  void work();
  void publish(bool last);

  const std::shared_ptr<const trace::snapshot> trace_;
  const std::string text_;
  const sql_task_options options_;
  std::function<void()> withdraw_;  ///< None: the query runs here.
  std::atomic<bool> cancelled_{false};
  const std::shared_ptr<shown> shown_ = std::make_shared<shown>();
  sql_answer made_;  ///< Only used by the task's thread.
  sql_block block_;  ///< Only used by the task's thread: rows not yet in a block of `made_`.
  worker_thread thread_;
};

}  // namespace sluice::query
