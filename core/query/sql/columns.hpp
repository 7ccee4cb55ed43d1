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
/// generated from core/trace/model/schema.hpp, with the names of the rows' members. A few derived columns follow
/// (`duration`, `bandwidth`).
///
/// String ids are shown as text and enums as words ("h2d", "device"). Unknown values are null: an id of none,
/// `unknown_time`, and -1 in members where it means unknown.
namespace sluice::query {

enum class column_type : std::uint8_t {
  integer,  ///< A signed number.
  size,     ///< Unsigned. Above 2^63 - 1 shown as the negative number with the same bits.
  real,
  flag,  ///< 0 or 1.
  time,  ///< ns on the trace's clock; null: unknown.
  id,    ///< Null: none.
  text,  ///< Null: none.
  word   ///< A value of an enum: see `column::words`.
};

/// What an id refers to. `none`: the column is not an id.
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

/// What an id of this type refers to.
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

/// What a text may reveal; see core/export/recording/redact.hpp.
enum class text_role : std::uint8_t {
  plain,      ///< The default. Redacted like a message, so that a new column cannot leak.
  code,       ///< Names of functions and kernels.
  path,       ///< A file's path.
  arguments,  ///< A command line.
  host,       ///< Name or boot id of a machine.
  message,    ///< A sentence that may quote any of the others.
  source      ///< Source lines.
};

/// One cell. Its text belongs to the row or to the snapshot's tables.
struct cell {
  enum class kind : std::uint8_t { null, integer, real, text };
  kind is = kind::null;
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
  std::span<const std::string_view> words;  ///< For `word`: indexed by the value.
  cell (*read)(const void* row, const trace::tables& tables) = nullptr;
};

/// Some rows of one table. They are valid as long as this object.
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
  bool events = false;  ///< Rows are in chunks of `type`; otherwise in `trace::tables`.
  std::span<const column> columns;
  /// For events: the rows of chunk `chunk`. Otherwise the whole table; `chunk` is ignored. Errors: io, corrupt.
  result<row_span> (*read)(const trace::snapshot& from, std::size_t chunk) = nullptr;
  /// The same, bypassing the cache of chunks: for a single pass over a recording.
  result<row_span> (*read_once)(const trace::snapshot& from, std::size_t chunk) = nullptr;

  /// The index of a column; `columns.size()` if there is none of that name.
  [[nodiscard]] std::size_t find(std::string_view column) const;
};

/// Every row type except strings, whose texts are shown where they are used. In the order of their type numbers.
[[nodiscard]] std::span<const table> tables();
/// Returns null for an unknown table.
[[nodiscard]] const table* find_table(std::string_view name);

}  // namespace sluice::query
