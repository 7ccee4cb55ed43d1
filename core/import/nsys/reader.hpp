#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/import/channel.hpp"
#include "core/import/nsys/database.hpp"

namespace sluice::importing {

/// Describes how to read a table of an Nsight Systems export. Private to core/import.
struct nsys_plan {
  std::string_view table;
  std::span<const nsys_column> columns;
  std::size_t required = 0;  ///< The number of columns, from the first on, that must exist.
  std::string_view where{};
  std::vector<const char*> order{};  ///< The columns to sort by; empty: the file's order.
  /// The first column of `order` is a time. If the table is already sorted by that time, the reader keeps the file's
  /// order.
  bool in_time = false;
};

/// Reads tables one after the other in its own thread, and passes the rows in the same order to the owner's thread.
class nsys_reader {
 public:
  static constexpr std::size_t slots = 6;
  static constexpr std::size_t rows_at_a_time = 2048;

  struct batch {
    std::size_t plan = 0;
    nsys_rows rows;
  };

  /// `database` must not be used elsewhere while this object exists. `plans` must name existing tables.
  nsys_reader(const nsys_database& database, std::vector<nsys_plan> plans);
  ~nsys_reader();
  nsys_reader(const nsys_reader&) = delete;
  nsys_reader& operator=(const nsys_reader&) = delete;

  /// Starts the thread, once and before `next`. Errors: those of `worker_thread::start`.
  [[nodiscard]] result<void> start() {
    return thread_.start([this] { run(); });
  }

  /// Waits for the next rows and returns them, or null at the end. Valid until the next call.
  [[nodiscard]] const batch* next();

  struct broken_table {
    std::size_t plan = 0;
    error why;
  };
  /// The tables that could not be read completely. Call after `next` has returned null.
  [[nodiscard]] const std::vector<broken_table>& broken() const { return broken_; }

 private:
  void run();
  void stop();

  const nsys_database& from_;
  std::vector<nsys_plan> plans_;
  std::array<batch, slots> batches_;
  channel<batch*> free_, read_;
  batch* given_ = nullptr;
  std::vector<broken_table> broken_;  ///< Owned by the thread until it is joined.
  worker_thread thread_;
};

}  // namespace sluice::importing
