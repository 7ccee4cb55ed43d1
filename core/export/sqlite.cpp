// Writes SQLite files with the tables and views of `sluice query` as real tables, so that the same queries give the
// same results in any program. Metrics cover the requested range.
#include <sqlite3.h>

#include <memory>

#include "core/base/files/full_disk.hpp"
#include "core/export/formats.hpp"
#include "core/export/table_rows.hpp"
#include "core/query/sql/metric_tables.hpp"
#include "core/query/sql/sql_views.hpp"

namespace sluice::exports {
namespace {

using query::cell;

constexpr int schema_version = 1;  ///< The number that the file has as user_version.

/// The file that is written. Converts SQLite's errors to `error`.
class database {
 public:
  explicit database(const std::string& path) : path_(path) {
    code_ =
        sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  }
  ~database() { sqlite3_close_v2(db_); }
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  [[nodiscard]] result<void> outcome(int code) const {
    if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return {};
    const int why = sqlite3_system_errno(db_);
    const bool full = code == SQLITE_FULL || ((code & 0xff) == SQLITE_IOERR && is_full_disk(why));
    return fail(full ? error_code::no_space : error_code::io,
                std::string("cannot write: ") + (full && why != 0 ? describe_errno(why) : sqlite3_errmsg(db_)), path_,
                full ? "free some space, or choose a folder with more space" : "");
  }
  [[nodiscard]] result<void> opened() const { return outcome(code_); }
  [[nodiscard]] result<void> run(const std::string& text) {
    return outcome(sqlite3_exec(db_, text.c_str(), nullptr, nullptr, nullptr));
  }
  [[nodiscard]] sqlite3* handle() { return db_; }

 private:
  std::string path_;
  sqlite3* db_ = nullptr;
  int code_ = SQLITE_OK;
};

/// Executes "INSERT INTO table" row by row.
class inserter {
 public:
  inserter(database& into, std::string_view table, std::size_t columns) : into_(into) {
    std::string text = "INSERT INTO \"" + std::string(table) + "\" VALUES (?";
    for (std::size_t i = 1; i < columns; ++i) text += ",?";
    code_ = sqlite3_prepare_v2(into.handle(), (text + ")").c_str(), -1, &statement_, nullptr);
  }
  ~inserter() { sqlite3_finalize(statement_); }
  inserter(const inserter&) = delete;
  inserter& operator=(const inserter&) = delete;

  void set(std::size_t column, const cell& value, query::text_role role, job& export_job) {
    const int place = static_cast<int>(column) + 1;
    switch (value.type) {
      case cell::kind::null:
        code_ = sqlite3_bind_null(statement_, place);
        return;
      case cell::kind::integer:
        code_ = sqlite3_bind_int64(statement_, place, value.integer);
        return;
      case cell::kind::real:
        code_ = sqlite3_bind_double(statement_, place, value.real);
        return;
      case cell::kind::text: {
        const std::string_view text = export_job.text(value.text, role);
        code_ = sqlite3_bind_text64(statement_, place, text.data(), text.size(),
                                    export_job.redactor().active() ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
        return;
      }
    }
  }

  [[nodiscard]] result<void> put() {
    if (auto bound = into_.outcome(code_); !bound) return bound;
    code_ = sqlite3_step(statement_);
    auto done = into_.outcome(code_);
    code_ = sqlite3_reset(statement_);
    return done;
  }

 private:
  database& into_;
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
};

template <class Columns>
std::string create_text(std::string_view name, const Columns& columns) {
  std::string text = "CREATE TABLE \"" + std::string(name) + "\"(";
  for (const auto& each : columns) {
    if (&each != &*std::begin(columns)) text += ", ";
    text.append("\"").append(each.name).append("\" ").append(query::sql_type(each.type));
  }
  return text + ")";
}

result<void> write_rows(job& export_job, const query::table& table, database& to) {
  if (auto output = to.run(create_text(table.name, table.columns)); !output) return output;
  inserter rows(to, table.name, table.columns.size());
  return for_each_row(export_job, table, [&](const void* row) {
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      rows.set(i, table.columns[i].read(row, export_job.tables()), table.columns[i].role, export_job);
    return rows.put();
  });
}

result<void> write_metrics(job& export_job, const query::metric_table& table, query::sql_context& context,
                           database& to) {
  if (auto output = to.run(create_text(table.name, table.columns)); !output) return output;
  inserter into(to, table.name, table.columns.size());
  std::vector<std::string> scratch(table.columns.size());
  return table.for_each(context, export_job.wanted().range, [&](const query::metric_rows& rows) -> result<void> {
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (export_job.cancelled())
        return fail(error_code::cancelled, "the export was cancelled", export_job.trace().path());
      if (!takes_row(export_job, table, rows, row)) continue;
      for (std::size_t i = 0; i < table.columns.size(); ++i)
        into.set(i, rows.at(row, i, scratch[i]), table.columns[i].role, export_job);
      if (auto put = into.put(); !put) return put;
    }
    return {};
  });
}

/// Creates indexes for the columns that the views and most queries look up.
result<void> write_indexes(database& to, const std::vector<const query::table*>& tables) {
  const auto index = [&](std::string_view table, std::string_view column) {
    return to.run("CREATE INDEX \"" + std::string(table) + "_" + std::string(column) + "\" ON \"" + std::string(table) +
                  "\"(\"" + std::string(column) + "\")");
  };
  for (const query::table* table : tables)
    for (const std::string_view column : {"id", "time", "block"})
      if (table->find(column) < table->columns.size())
        if (auto output = index(table->name, column); !output) return output;
  return {};
}

}  // namespace

output_shape shape_of_sqlite(const options& /*wanted*/) { return output_shape::file; }

result<void> write_sqlite(job& export_job, output& to) {
  database file(to.path());
  if (auto opened = file.opened(); !opened) return opened;
  // The file needs no journal, because no other program sees it before it is complete, and a broken file is deleted.
  const std::string begin =
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA user_version = " +
      std::to_string(schema_version) + "; BEGIN";
  if (auto begun = file.run(begin); !begun) return begun;
  const auto tables = wanted_tables(export_job.wanted());
  for (const query::table* table : tables)
    if (auto written = write_rows(export_job, *table, file); !written) return written;
  if (export_job.wanted().tables.empty()) {
    const auto context = make_context(export_job);
    for (const query::metric_table& table : query::metric_tables())
      if (auto written = write_metrics(export_job, table, *context, file); !written) return written;
    for (const query::view_about& view : query::sql_views())
      if (auto built = file.run(query::create_view_text(view)); !built) return built;
    for (const char* index : {"CREATE INDEX block_id ON block(id)", "CREATE INDEX call_stack_id ON call_stack(id)",
                              "CREATE INDEX readable_name_symbol ON readable_name(symbol)"})
      if (auto product = file.run(index); !product) return product;
  }
  if (auto indexes = write_indexes(file, tables); !indexes) return indexes;
  return file.run("COMMIT");
}

}  // namespace sluice::exports
