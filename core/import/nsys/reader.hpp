#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "core/import/channel.hpp"
#include "core/import/nsys/database.hpp"

namespace sluice::importing {

/// A table that is read: which, and of it what. Private to core/import.
struct nsys_plan {
  std::string_view table;
  std::span<const nsys_column> columns;
  std::size_t required = 0;  ///< Of the columns, the first so many must be there.
  std::string_view where;
};

/// Reads tables in a thread of its own, one after the other; who owns this gets their rows in that order.
class nsys_reader {
 public:
  static constexpr std::size_t slots = 6;
  static constexpr std::size_t rows_at_a_time = 2048;

  struct batch {
    std::size_t plan = 0;
    nsys_rows rows;
  };

  /// Starts. Nobody else uses `from` until this is gone. `plans`: tables that are there.
  nsys_reader(const nsys_database& from, std::vector<nsys_plan> plans);
  ~nsys_reader();
  nsys_reader(const nsys_reader&) = delete;
  nsys_reader& operator=(const nsys_reader&) = delete;

  /// Null at the end. Valid until the next call.
  [[nodiscard]] const batch* next();

  struct broken_table {
    std::size_t plan = 0;
    error why;
  };
  /// After the end: tables that could not be read to their ends.
  [[nodiscard]] const std::vector<broken_table>& broken() const { return broken_; }

 private:
  void run();
  void stop();

  const nsys_database& from_;
  std::vector<nsys_plan> plans_;
  std::array<batch, slots> batches_;
  channel<batch*> free_, read_;
  batch* given_ = nullptr;
  std::vector<broken_table> broken_;  ///< The thread's until it has been joined.
  std::thread thread_;
};

}  // namespace sluice::importing
