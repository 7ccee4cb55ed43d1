#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/query/sql/sql_context.hpp"

/// The results of analyses as tables for SQL. The tables call the same functions as the report and the window, so each
/// metric has only one definition. Private to core/query and core/export.
namespace sluice::query {

using metric_column = column;

/// The rows of a metric table. Immutable.
class metric_rows {
 public:
  metric_rows() = default;
  metric_rows(const metric_rows&) = delete;
  metric_rows& operator=(const metric_rows&) = delete;
  virtual ~metric_rows() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Returns a number that identifies the row in its table.
  [[nodiscard]] virtual std::int64_t id_of(std::size_t row) const { return static_cast<std::int64_t>(row); }
  /// Returns a cell. If the cell's text is computed, it is stored in `scratch` and valid until `scratch` changes.
  [[nodiscard]] virtual cell at(std::size_t row, std::size_t column, std::string& scratch) const = 0;
  /// Returns the range [first, last) of rows that may have this value in the column, or nullopt if any row may have it.
  [[nodiscard]] virtual std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                                const cell& value) const;
};

/// The result of a function that makes the rows of a metric table.
using made_rows = result<std::shared_ptr<const metric_rows>>;

/// Every bit of `metric_table::make_run`.
inline constexpr std::uint64_t all_columns = UINT64_MAX;

struct metric_table {
  std::string_view name;
  std::string_view about;
  std::span<const metric_column> columns;
  bool ranged = false;  ///< The table accepts a time range as arguments: `memory_use(0, 1000000)`.
  /// Computes the rows. Errors: cancelled, and those of reading the trace.
  made_rows (*make)(sql_context& context, std::optional<time_range> range) = nullptr;
  // A table with a row for each of many events has two other functions instead, so that memory holds only some rows:
  /// Makes the rows of one run of `sql_context::sections`. The rows of all runs, in order, are those of the table. The
  /// bits of `read` are the columns whose cells will be read.
  made_rows (*make_run)(sql_context& context, std::size_t run, std::uint64_t read) = nullptr;
  /// Makes the rows that have this value in the first column.
  made_rows (*look_up)(sql_context& context, const cell& value) = nullptr;

  /// Calls `visit` with rows until all rows of the table have been visited. All cells may be read. Errors: as `make`,
  /// and those of `visit`.
  result<void> for_each(sql_context& context, std::optional<time_range> range,
                        const std::function<result<void>(const metric_rows&)>& visit) const;
};

[[nodiscard]] std::span<const metric_table> metric_tables();
/// Returns the table with that name, or null if there is none.
[[nodiscard]] const metric_table* find_metric_table(std::string_view name);

// --- for implementations of metric tables ---------------------------------------------------------------------------

/// Rows whose cells are all held in memory.
class held_rows : public metric_rows {
 public:
  using value = std::variant<std::monostate, std::int64_t, double, std::string>;
  void add(std::vector<value> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& scratch) const override;

 private:
  std::vector<std::vector<value>> rows_;
};

/// Tables that have a row for each of many events of the trace, defined in metric_lists.cpp. Cells are computed when
/// they are read.
[[nodiscard]] made_rows make_blocks(sql_context& context, std::size_t run, std::uint64_t read);
[[nodiscard]] made_rows look_up_block(sql_context& context, const cell& id);
[[nodiscard]] made_rows make_call_stacks(sql_context& context, std::optional<time_range> range);
[[nodiscard]] made_rows make_readable_names(sql_context& context, std::optional<time_range> range);
extern const std::span<const metric_column> block_columns;
extern const std::span<const metric_column> call_stack_columns;
extern const std::span<const metric_column> readable_name_columns;

}  // namespace sluice::query
