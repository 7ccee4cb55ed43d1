// Metric tables as SQLite virtual tables. metric_tables.hpp describes them.
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/query/sql/metric_tables.hpp"
#include "core/query/sql/virtual_table.hpp"

namespace sluice::query {
namespace {

struct metrics_cursor;

struct metrics_table : sqlite3_vtab {
  using cursor = metrics_cursor;

  metrics_table(sql_context& shared, const metric_table& kind) : sqlite3_vtab{}, context(&shared), source(&kind) {}

  [[nodiscard]] static std::unique_ptr<metrics_table> find(sql_context& shared, std::string_view name) {
    const metric_table* kind = find_metric_table(name);
    return kind == nullptr ? nullptr : std::make_unique<metrics_table>(shared, *kind);
  }
  [[nodiscard]] std::string declared() const {
    return declaration(source->columns, source->ranged ? ", range_begin HIDDEN, range_end HIDDEN" : "");
  }
  int best_index(sqlite3_index_info& info) const;

  sql_context* context;
  const metric_table* source;
  std::shared_ptr<const metric_rows> whole;  ///< Set on first use.
};

struct metrics_cursor : sqlite3_vtab_cursor {
  std::shared_ptr<const metric_rows> rows;
  std::int64_t begin = 0;  ///< The range that the hidden columns show.
  std::int64_t end = 0;
  bool ranged = false;
  std::size_t run = 0;  ///< The run of `rows`, for a table that is made run by run.
  std::size_t last_run = 0;
  std::uint64_t read = all_columns;  ///< The columns that are read, as bits.
  std::size_t row = 0;
  std::size_t last = 0;
  std::string scratch;

  int filter(const char* plan, int count, sqlite3_value** values);
  int next();
  [[nodiscard]] bool at_end() const { return row >= last; }
  void read_column(sqlite3_context* to, int column);
  [[nodiscard]] sqlite3_int64 row_id() const { return rows->id_of(row); }

 private:
  [[nodiscard]] metrics_table& table() const { return *static_cast<metrics_table*>(pVtab); }
  [[nodiscard]] made_rows make_rows() const;
  int show(made_rows output);
  int show_runs(sqlite3_value* wanted);
  int skip_empty_runs();
};

/// Writes the plan: a letter for each argument ('b' and 'e' for the start and end of the range, and '=' for the value of
/// the first column), then a space and the columns that are read, as bits.
int metrics_table::best_index(sqlite3_index_info& info) const {
  const auto columns = static_cast<int>(source->columns.size());
  std::string plan;
  int arguments = 0;
  bool single = false;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& each = info.aConstraint[i];
    if (each.op != SQLITE_INDEX_CONSTRAINT_EQ || each.iColumn < 0) continue;
    const bool hidden = each.iColumn >= columns;
    // The rows depend on the range, so no plan is possible without its value.
    if (hidden && each.usable == 0) return SQLITE_CONSTRAINT;
    if (each.usable == 0 || (!hidden && each.iColumn != 0)) continue;
    if (!hidden && single) continue;
    plan += hidden ? (each.iColumn == columns ? "b" : "e") : "=";
    single |= !hidden;
    info.aConstraintUsage[i].argvIndex = ++arguments;
    info.aConstraintUsage[i].omit = hidden ? 1 : 0;
  }
  info.estimatedRows = single ? 1 : 1000;
  info.estimatedCost = single ? 10 : 100000;
  info.idxStr = sqlite3_mprintf("%s %llu", plan.c_str(), info.colUsed);
  info.needToFreeIdxStr = 1;
  return info.idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

cell make_cell(sqlite3_value* given) {
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

made_rows metrics_cursor::make_rows() const {
  metrics_table& source = table();
  if (ranged) return source.source->make(*source.context, time_range{begin, end});
  if (!source.whole) {
    auto output = source.source->make(*source.context, std::nullopt);
    if (!output) return output;
    source.whole = std::move(*output);
  }
  return source.whole;
}

/// Shows these rows, or notes why they could not be made.
int metrics_cursor::show(made_rows output) {
  if (!output) {
    table().context->failure = output.error();
    return output.error().code == error_code::cancelled ? SQLITE_INTERRUPT : SQLITE_IOERR;
  }
  rows = std::move(*output);
  row = 0;
  last = rows->size();
  return SQLITE_OK;
}

/// Shows the first rows of a table that is made run by run.
int metrics_cursor::show_runs(sqlite3_value* wanted) {
  sql_context& context = *table().context;
  run = last_run = 0;
  if (wanted != nullptr) return show(table().source->look_up(context, make_cell(wanted)));
  const auto sections = context.sections();
  if (!sections) return show(tl::unexpected(sections.error()));
  last_run = (*sections)->runs() - 1;
  const int code = show(table().source->make_run(context, run, read));
  return code == SQLITE_OK ? skip_empty_runs() : code;
}

int metrics_cursor::skip_empty_runs() {
  while (at_end() && run < last_run) {
    rows.reset();  // Before the next run is read, so that memory holds one.
    if (const int code = show(table().source->make_run(*table().context, ++run, read)); code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

int metrics_cursor::filter(const char* plan, int count, sqlite3_value** values) {
  sql_context& context = *table().context;
  const time_range whole = index::recorded_range(*context.trace);
  read = std::strtoull(plan + count, nullptr, 10);
  ranged = false;
  begin = whole.begin;
  end = whole.end;
  sqlite3_value* wanted = nullptr;
  for (int i = 0; i < count; ++i) {
    if (plan[i] == '=') wanted = values[i];
    if (plan[i] == '=' || sqlite3_value_type(values[i]) == SQLITE_NULL) continue;
    (plan[i] == 'b' ? begin : end) = sqlite3_value_int64(values[i]);
    ranged = true;
  }
  if (table().source->make_run != nullptr) return show_runs(wanted);
  if (const int code = show(make_rows()); code != SQLITE_OK) return code;
  if (wanted != nullptr)
    if (const auto found = rows->find(0, make_cell(wanted))) std::tie(row, last) = *found;
  return SQLITE_OK;
}

int metrics_cursor::next() {
  ++row;
  return table().context->stopped() ? SQLITE_INTERRUPT : skip_empty_runs();
}

void metrics_cursor::read_column(sqlite3_context* to, int column) {
  const auto columns = static_cast<int>(table().source->columns.size());
  if (column >= columns) {
    sqlite3_result_int64(to, column == columns ? begin : end);
  } else {
    give(to, rows->at(row, static_cast<std::size_t>(column), scratch), true);
  }
}

constexpr sqlite3_module metrics_module = virtual_table<metrics_table>::module();

}  // namespace

int add_metric_tables(sqlite3* db, sql_context& context) {
  return add_virtual_tables(db, "trace_figures", metrics_module, context, metric_tables());
}

}  // namespace sluice::query
