#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/query/sql/sql_context.hpp"

/// The code that row tables and metric tables share. It forwards SQLite's callbacks to member functions. Private to
/// core/query.
namespace sluice::query {

/// Returns the "CREATE TABLE x(...)" that declares a virtual table with these columns to SQLite. `hidden`, the
/// declarations of hidden columns, is appended unchanged.
template <class Columns>
[[nodiscard]] std::string declaration(const Columns& columns, std::string_view hidden = {}) {
  std::string text = "CREATE TABLE x(";
  for (const auto& each : columns) {
    if (text.back() != '(') text += ", ";
    text.append("\"").append(each.name).append("\" ").append(sql_type(each.type));
  }
  return text.append(hidden).append(")");
}

/// The SQLite module for tables of the class `Table`, which derives from sqlite3_vtab and has:
///   static std::unique_ptr<Table> find(sql_context&, std::string_view name)   null if there is no such table
///   std::string declared() const                                             the result of `declaration`
///   int best_index(sqlite3_index_info&)
/// and a class `cursor`, which derives from sqlite3_vtab_cursor and has:
///   int filter(const char* plan, int count, sqlite3_value** values), int next(), bool at_end() const,
///   void read_column(sqlite3_context*, int), sqlite3_int64 row_id() const
/// Functions that return int return SQLite's result codes.
template <class Table>
class virtual_table {
  using cursor = typename Table::cursor;
  static Table& of(sqlite3_vtab* given) { return *static_cast<Table*>(given); }
  static cursor& of(sqlite3_vtab_cursor* given) { return *static_cast<cursor*>(given); }

  static int connect(sqlite3* db, void* context, int /*count*/, const char* const* words, sqlite3_vtab** vtab,
                     char** /*message*/) {
    auto table = Table::find(*static_cast<sql_context*>(context), words[2]);
    if (!table) return SQLITE_ERROR;
    if (const int code = sqlite3_declare_vtab(db, table->declared().c_str()); code != SQLITE_OK) return code;
    *vtab = table.release();
    return SQLITE_OK;
  }
  static int disconnect(sqlite3_vtab* given) {
    delete &of(given);
    return SQLITE_OK;
  }
  static int best_index(sqlite3_vtab* given, sqlite3_index_info* info) { return of(given).best_index(*info); }
  static int open(sqlite3_vtab* /*table*/, sqlite3_vtab_cursor** vtab_cursor) {
    *vtab_cursor = new cursor();
    return SQLITE_OK;
  }
  static int close(sqlite3_vtab_cursor* given) {
    delete &of(given);
    return SQLITE_OK;
  }
  static int filter(sqlite3_vtab_cursor* given, int /*number*/, const char* plan, int count, sqlite3_value** values) {
    return of(given).filter(plan, count, values);
  }
  static int next(sqlite3_vtab_cursor* given) { return of(given).next(); }
  static int at_end(sqlite3_vtab_cursor* given) { return of(given).at_end() ? 1 : 0; }
  static int read_column(sqlite3_vtab_cursor* given, sqlite3_context* to, int column) {
    of(given).read_column(to, column);
    return SQLITE_OK;
  }
  static int row_id(sqlite3_vtab_cursor* given, sqlite3_int64* id) {
    *id = of(given).row_id();
    return SQLITE_OK;
  }

 public:
  [[nodiscard]] static constexpr sqlite3_module module() {
    sqlite3_module output{};
    output.xCreate = connect;
    output.xConnect = connect;
    output.xBestIndex = best_index;
    output.xDisconnect = disconnect;
    output.xDestroy = disconnect;
    output.xOpen = open;
    output.xClose = close;
    output.xFilter = filter;
    output.xNext = next;
    output.xEof = at_end;
    output.xColumn = read_column;
    output.xRowid = row_id;
    return output;
  }
};

}  // namespace sluice::query
