#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/tables.hpp"

/// Every kind of row of a trace as a table with named columns: what SQL, CSV and SQLite files show. The columns are those of
/// core/trace/model/schema.hpp, under the names of the rows' members; nothing lists them a second time;
/// behind them stand a few that follow from them (`duration`, `bandwidth`).
///
/// Ids of strings are shown as their texts, closed sets as words ("h2d", "device"), and what is not known as null: an id of
/// none, `unknown_time`, and -1 where a member says so.
namespace sluice::query {

enum class column_type : std::uint8_t {
  integer,  ///< A signed number.
  size,     ///< An unsigned number; above 2^63 - 1 it is shown as the negative number with the same bits.
  real,
  flag,  ///< 0 or 1.
  time,  ///< ns on the trace's clock; null: not known.
  id,    ///< Null: none.
  text,  ///< Null: none.
  word   ///< One of a closed set: see `column::words`.
};

/// What an id names. `none`: the column is no id.
enum class id_kind : std::uint8_t {
  none,
  event,
  block,
  host,
  process,
  thread,
  device,
  context,
  stream,
  pool,
  counter,
  stack,
  frame,
  module,
  source,
  graph
};

/// What a text may give away; see core/export/recording/redact.hpp.
enum class text_role : std::uint8_t {
  plain,      ///< Whatever nothing else is said of. It is redacted as a message is, so that a new column cannot leak.
  code,       ///< Names of functions and kernels.
  path,       ///< Of a file.
  arguments,  ///< A command line.
  host,       ///< The name or the boot id of a machine.
  message,    ///< Words that may quote any of the others.
  source      ///< Lines of a program.
};

/// One cell. Texts belong to the row or to the snapshot's tables.
struct cell {
  enum class kind : std::uint8_t { null, integer, real, text };
  kind is = kind::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{};
};

struct column {
  std::string_view name;
  std::string_view about;  ///< One line; ends in no full stop.
  column_type type = column_type::integer;
  id_kind id = id_kind::none;
  text_role role = text_role::plain;
  std::span<const std::string_view> words;  ///< Of a `word`, by its number.
  cell (*read)(const void* row, const trace::tables& tables) = nullptr;
};

/// Some rows of one table. They live as long as this does.
struct row_span {
  std::shared_ptr<const void> held;
  const std::byte* first = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;
  [[nodiscard]] const void* operator[](std::size_t row) const { return first + row * stride; }
};

struct table {
  std::string_view name;
  std::string_view about;
  trace::row_type type{};
  bool events = false;  ///< Rows lie in chunks of `type`; otherwise they are one of `trace::tables`.
  std::span<const column> columns;
  /// Events: the rows of chunk `chunk`. Else the whole table, and `chunk` means nothing. Errors: io, corrupt.
  result<row_span> (*read)(const trace::snapshot& from, std::size_t chunk) = nullptr;

  /// Index of a column; `columns.size()` if there is none of that name.
  [[nodiscard]] std::size_t find(std::string_view column) const;
};

/// Every kind of row but strings, whose texts stand where they are named. In the order of their numbers.
[[nodiscard]] std::span<const table> tables();
/// Null if there is no such table.
[[nodiscard]] const table* find_table(std::string_view name);

}  // namespace sluice::query
