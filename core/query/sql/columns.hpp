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

/// Describes every row type of a trace as a table with named columns, for SQL, CSV and SQLite files. The columns are
/// generated from core/trace/model/schema.hpp and have the names of the rows' members. A few derived columns, such as
/// `duration` and `bandwidth`, follow them.
///
/// String ids are shown as text and enums as words ("h2d", "device"). Unknown values are shown as null: the id `none`,
/// `unknown_time`, and -1 in members where -1 means unknown.
namespace sluice::query {

enum class column_type : std::uint8_t {
  integer,  ///< A signed number.
  size,     ///< An unsigned number. A value above 2^63 - 1 is shown as the negative number with the same bits.
  real,
  flag,  ///< 0 or 1.
  time,  ///< In ns on the trace's clock; null if unknown.
  id,    ///< Null if the row refers to no entity.
  text,  ///< Null if the row has no text.
  word   ///< The name of an enum value: see `column::words`.
};

/// The kind of entity that an id column refers to; `none` if the column is not an id.
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

/// The kind of entity that ids of the type `Id` refer to.
template <class Id>
inline constexpr id_kind kind_of_id = id_kind::none;
#define SLUICE_ID(name) \
  template <>           \
  inline constexpr id_kind kind_of_id<trace::name##_id> = id_kind::name;
SLUICE_ID(event)
SLUICE_ID(block)
SLUICE_ID(host)
SLUICE_ID(process)
SLUICE_ID(thread)
SLUICE_ID(device)
SLUICE_ID(context)
SLUICE_ID(stream)
SLUICE_ID(pool)
SLUICE_ID(counter)
SLUICE_ID(stack)
SLUICE_ID(frame)
SLUICE_ID(module)
SLUICE_ID(source)
SLUICE_ID(graph)
#undef SLUICE_ID

/// The kind of information that a text may reveal, which determines how core/export/recording/redact.hpp redacts it.
enum class text_role : std::uint8_t {
  plain,      ///< The default. Redacted like a message, so that a new column leaks nothing.
  code,       ///< Names of functions and kernels.
  path,       ///< A file's path.
  arguments,  ///< A command line.
  host,       ///< The name or boot id of a machine.
  message,    ///< A sentence that may quote text of any other role.
  source      ///< Source lines.
};

/// One cell. `text` points into the row or into the snapshot's tables.
struct cell {
  enum class kind : std::uint8_t { null, integer, real, text };
  kind type = kind::null;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text{};
};

struct column {
  std::string_view name;
  std::string_view about;  ///< One line without a final period.
  column_type type = column_type::integer;
  id_kind id = id_kind::none;
  text_role role = text_role::plain;
  std::span<const std::string_view> words{};  ///< For the type `word`: the name of each enum value.
  /// Returns the cell of a row of `table`. Null for columns of metrics, whose cells are in `metric_rows`.
  cell (*read)(const void* row, const trace::tables& tables) = nullptr;
};

/// Returns the place of the column with that name, or `columns.size()` if there is none.
[[nodiscard]] std::size_t find_place(std::span<const column> columns, std::string_view name);

/// Some rows of one table. The rows are valid as long as this object exists.
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
  bool events = false;  ///< True: the rows are in the chunks of type `type`. False: they are in `trace::tables`.
  std::span<const column> columns;
  /// If `events` is true, reads the rows of chunk number `chunk`. Otherwise ignores `chunk` and returns the whole
  /// table. Errors: io, corrupt.
  result<row_span> (*read)(const trace::snapshot& recording, std::size_t chunk) = nullptr;
  /// Like `read`, but bypasses the cache of chunks: for a single pass over a recording.
  result<row_span> (*read_once)(const trace::snapshot& recording, std::size_t chunk) = nullptr;

  /// Returns the place of the column with that name, or `columns.size()` if there is none.
  [[nodiscard]] std::size_t find(std::string_view column) const { return find_place(columns, column); }
};

/// Returns a table for every row type except strings, whose texts appear in the other tables. Sorted by type number.
[[nodiscard]] std::span<const table> tables();
/// Returns the table with that name, or null if there is none.
[[nodiscard]] const table* find_table(std::string_view name);

}  // namespace sluice::query
