#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/query/sql/sql_context.hpp"
#include "core/timeline/time_range.hpp"

/// Results of analyses as tables. They call the functions that the report and the window use, so each figure has only
/// one definition. Private to core/query and core/export.
namespace sluice::query {

using trace::time_ns;

struct figure_column {
  std::string_view name;
  std::string_view about;
  column_type type = column_type::integer;
  id_kind id = id_kind::none;
  text_role role = text_role::plain;
};

/// The rows of a figure table. Immutable.
class figure_rows {
 public:
  figure_rows() = default;
  figure_rows(const figure_rows&) = delete;
  figure_rows& operator=(const figure_rows&) = delete;
  virtual ~figure_rows() = default;
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// `scratch` stores a text created by the call.
  [[nodiscard]] virtual cell at(std::size_t row, std::size_t column, std::string& scratch) const = 0;
  /// Rows [first, last) that may have this value in the column; nothing if all rows may.
  [[nodiscard]] virtual std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t column,
                                                                                const cell& value) const;
};

struct figure_table {
  std::string_view name;
  std::string_view about;
  std::span<const figure_column> columns;
  bool ranged = false;  ///< Accepts a range as arguments: `memory_use(0, 1000000)`.
  /// Errors: cancelled, and those of reading.
  result<std::shared_ptr<const figure_rows>> (*make)(sql_context& context,
                                                     std::optional<analysis::time_range> range) = nullptr;
};

[[nodiscard]] std::span<const figure_table> figure_tables();

// --- for those who make them ----------------------------------------------------------------------------------------

/// Rows whose cells are all held in memory.
class held_rows : public figure_rows {
 public:
  using value = std::variant<std::monostate, std::int64_t, double, std::string>;
  void add(std::vector<value> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::size_t size() const override { return rows_.size(); }
  [[nodiscard]] cell at(std::size_t row, std::size_t column, std::string& scratch) const override;

 private:
  std::vector<std::vector<value>> rows_;
};

using made_rows = result<std::shared_ptr<const figure_rows>>;

/// figure_lists.cpp: tables as long as the trace, whose rows are computed on access.
[[nodiscard]] made_rows make_blocks(sql_context& context, std::optional<analysis::time_range> range);
[[nodiscard]] made_rows make_call_stacks(sql_context& context, std::optional<analysis::time_range> range);
[[nodiscard]] made_rows make_readable_names(sql_context& context, std::optional<analysis::time_range> range);
extern const std::span<const figure_column> block_columns;
extern const std::span<const figure_column> call_stack_columns;
extern const std::span<const figure_column> readable_name_columns;

}  // namespace sluice::query
