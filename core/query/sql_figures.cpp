// The tables of figures as virtual tables of SQLite. What they are is in figure_tables.hpp.
#include <array>
#include <cstring>
#include <limits>

#include "core/query/figure_tables.hpp"

namespace sluice::query {
namespace {

struct figures : sqlite3_vtab {
  sql_context* context = nullptr;
  const figure_table* of = nullptr;
  std::shared_ptr<const figure_rows> whole;  ///< Once it was asked for.
};

struct figures_cursor : sqlite3_vtab_cursor {
  std::shared_ptr<const figure_rows> rows;
  std::int64_t begin = 0;  ///< The range, as the hidden columns show it.
  std::int64_t end = 0;
  bool ranged = false;
  std::size_t row = 0;
  std::size_t last = 0;
  std::string scratch;
};

int connect(sqlite3* db, void* data, int /*count*/, const char* const* words, sqlite3_vtab** made, char** /*message*/) {
  const figure_table* of = nullptr;
  for (const figure_table& each : figure_tables())
    if (each.name == words[2]) of = &each;
  if (of == nullptr) return SQLITE_ERROR;
  std::string text = "CREATE TABLE x(";
  for (const figure_column& each : of->columns) {
    if (text.back() != '(') text += ", ";
    text.append("\"").append(each.name).append("\" ").append(sql_type(each.type));
  }
  if (of->ranged) text += ", range_begin HIDDEN, range_end HIDDEN";
  if (const int code = sqlite3_declare_vtab(db, (text + ")").c_str()); code != SQLITE_OK) return code;
  auto table = std::make_unique<figures>();
  static_cast<sqlite3_vtab&>(*table) = {};
  table->context = static_cast<sql_context*>(data);
  table->of = of;
  *made = table.release();
  return SQLITE_OK;
}

int disconnect(sqlite3_vtab* given) {
  delete static_cast<figures*>(given);
  return SQLITE_OK;
}

/// The plan is a letter an argument: 'b', 'e' the range's begin and end; "=N" a column's value.
int best_index(sqlite3_vtab* given, sqlite3_index_info* info) {
  const auto& table = *static_cast<figures*>(given);
  const auto columns = static_cast<int>(table.of->columns.size());
  std::string plan;
  int arguments = 0;
  bool single = false;
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& each = info->aConstraint[i];
    if (each.op != SQLITE_INDEX_CONSTRAINT_EQ || each.iColumn < 0) continue;
    const bool hidden = each.iColumn >= columns;
    // The range decides what the rows are: without it there is no plan.
    if (hidden && each.usable == 0) return SQLITE_CONSTRAINT;
    if (each.usable == 0 || (!hidden && each.iColumn != 0)) continue;
    if (!hidden && single) continue;
    plan += hidden ? (each.iColumn == columns ? "b" : "e") : "=";
    single |= !hidden;
    info->aConstraintUsage[i].argvIndex = ++arguments;
    info->aConstraintUsage[i].omit = hidden ? 1 : 0;
  }
  info->estimatedRows = single ? 1 : 1000;
  info->estimatedCost = single ? 10 : 100000;
  info->idxStr = sqlite3_mprintf("%s", plan.c_str());
  info->needToFreeIdxStr = 1;
  return info->idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int open(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** made) {
  *made = new figures_cursor();
  return SQLITE_OK;
}

int close(sqlite3_vtab_cursor* given) {
  delete static_cast<figures_cursor*>(given);
  return SQLITE_OK;
}

cell cell_of(sqlite3_value* given) {
  switch (sqlite3_value_type(given)) {
    case SQLITE_INTEGER:
      return {cell::kind::integer, sqlite3_value_int64(given), 0, {}};
    case SQLITE_FLOAT:
      return {cell::kind::real, 0, sqlite3_value_double(given), {}};
    case SQLITE_TEXT:
      return {cell::kind::text,
              0,
              0,
              {reinterpret_cast<const char*>(sqlite3_value_text(given)),
               static_cast<std::size_t>(sqlite3_value_bytes(given))}};
    default:
      return {};
  }
}

result<std::shared_ptr<const figure_rows>> rows_for(figures& table, const figures_cursor& cursor) {
  if (cursor.ranged) return table.of->make(*table.context, analysis::time_range{cursor.begin, cursor.end});
  if (!table.whole) {
    auto made = table.of->make(*table.context, std::nullopt);
    if (!made) return made;
    table.whole = std::move(*made);
  }
  return table.whole;
}

int filter(sqlite3_vtab_cursor* given, int /*number*/, const char* plan, int count, sqlite3_value** values) {
  auto& cursor = *static_cast<figures_cursor*>(given);
  auto& table = *static_cast<figures*>(cursor.pVtab);
  const analysis::time_range whole = analysis::whole_of(*table.context->trace);
  cursor.ranged = false;
  cursor.begin = whole.begin;
  cursor.end = whole.end;
  sqlite3_value* wanted = nullptr;
  for (int i = 0; i < count; ++i) {
    if (plan[i] == '=') wanted = values[i];
    if (plan[i] == '=' || sqlite3_value_type(values[i]) == SQLITE_NULL) continue;
    (plan[i] == 'b' ? cursor.begin : cursor.end) = sqlite3_value_int64(values[i]);
    cursor.ranged = true;
  }
  auto rows = rows_for(table, cursor);
  if (!rows) {
    table.context->failure = rows.error();
    return rows.error().code == error_code::cancelled ? SQLITE_INTERRUPT : SQLITE_IOERR;
  }
  cursor.rows = std::move(*rows);
  cursor.row = 0;
  cursor.last = cursor.rows->size();
  if (wanted != nullptr)
    if (const auto found = cursor.rows->find(0, cell_of(wanted))) std::tie(cursor.row, cursor.last) = *found;
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* given) {
  auto& cursor = *static_cast<figures_cursor*>(given);
  ++cursor.row;
  return static_cast<figures*>(cursor.pVtab)->context->stopped() ? SQLITE_INTERRUPT : SQLITE_OK;
}

int at_end(sqlite3_vtab_cursor* given) {
  const auto& cursor = *static_cast<figures_cursor*>(given);
  return cursor.row >= cursor.last ? 1 : 0;
}

int read_column(sqlite3_vtab_cursor* given, sqlite3_context* to, int column) {
  auto& cursor = *static_cast<figures_cursor*>(given);
  const auto columns = static_cast<int>(static_cast<figures*>(cursor.pVtab)->of->columns.size());
  if (column >= columns) {
    sqlite3_result_int64(to, column == columns ? cursor.begin : cursor.end);
  } else {
    give(to, cursor.rows->at(cursor.row, static_cast<std::size_t>(column), cursor.scratch), true);
  }
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* given, sqlite3_int64* id) {
  *id = static_cast<sqlite3_int64>(static_cast<figures_cursor*>(given)->row);
  return SQLITE_OK;
}

constexpr sqlite3_module make_module() {
  sqlite3_module made{};
  made.xCreate = connect;
  made.xConnect = connect;
  made.xBestIndex = best_index;
  made.xDisconnect = disconnect;
  made.xDestroy = disconnect;
  made.xOpen = open;
  made.xClose = close;
  made.xFilter = filter;
  made.xNext = next;
  made.xEof = at_end;
  made.xColumn = read_column;
  made.xRowid = row_id;
  return made;
}
constexpr sqlite3_module figures_module = make_module();

}  // namespace

int add_figure_tables(sqlite3* db, sql_context& context) {
  return add_virtual_tables(db, "trace_figures", figures_module, context, figure_tables());
}

}  // namespace sluice::query
