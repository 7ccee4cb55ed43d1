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

/// A table to read, and which parts of it. Private to core/import.
struct nsys_plan {
  std::string_view table;
  std::span<const nsys_column> columns;
  std::size_t required = 0;  ///< This many of the first columns must exist.
  std::string_view where{};
  std::vector<const char*> order{};  ///< The columns to sort by; in the file's own order without any.
  bool in_time = false;  ///< The first of `order` is a time: where the file is sorted by it, it stays as it is.
};

/// Reads tables one after the other in its own thread, and gives their rows in that order to the owner's thread.
class nsys_reader {
 public:
  static constexpr std::size_t slots = 6;
  static constexpr std::size_t rows_at_a_time = 2048;

  struct batch {
    std::size_t plan = 0;
    nsys_rows rows;
  };

  /// Starts the thread. `from` must not be used elsewhere while this exists. `plans`: tables that exist.
  nsys_reader(const nsys_database& from, std::vector<nsys_plan> plans);
  ~nsys_reader();
  nsys_reader(const nsys_reader&) = delete;
  nsys_reader& operator=(const nsys_reader&) = delete;

  /// The next rows; null at the end. Valid until the next call.
  [[nodiscard]] const batch* next();

  struct broken_table {
    std::size_t plan = 0;
    error why;
  };
  /// Call after the end: tables that could not be read completely.
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
  std::thread thread_;
};

}  // namespace sluice::importing
