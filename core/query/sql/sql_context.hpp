#pragma once

#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/query/sql/columns.hpp"
#include "core/query/sql/sql.hpp"
#include "core/summary/passes/recording_sections.hpp"
#include "core/symbols/frames.hpp"

/// The state shared by the virtual tables of one database. Private to core/query and core/export.
namespace sluice::query {

struct sql_context {
  std::shared_ptr<const trace::snapshot> trace;
  sql_options options;
  std::atomic<bool> interrupted{false};
  const std::atomic<bool>* cancelled = nullptr;  ///< The caller's cancel flag; may be null.
  std::optional<error> failure;  ///< The error that ended the query, if it is more precise than SQLite's message.
  std::size_t lookup_bytes = 0;  ///< The bytes that indexes on ids take now.
  std::unique_ptr<symbols::frame_cache> frames;
  std::unique_ptr<summary::recording_sections> opened;  ///< Set by `sections`.

  [[nodiscard]] bool timed_out() const {
    return options.deadline && std::chrono::steady_clock::now() >= *options.deadline;
  }
  [[nodiscard]] bool stopped() const { return interrupted || (cancelled != nullptr && *cancelled) || timed_out(); }
  /// Returns the reason for which `stopped` is true.
  [[nodiscard]] error stop_reason() const {
    const bool late = !interrupted && (cancelled == nullptr || !*cancelled) && timed_out();
    return {error_code::cancelled,
            late ? "the query exceeded its time limit" : "the query was interrupted",
            {},
            error::no_offset,
            late ? "narrow it, for example with a time range or a LIMIT, or raise the time limit" : ""};
  }
  /// Returns the sections of the trace, over which the tables of analyses are computed. The first call opens them.
  /// Errors: cancelled.
  result<summary::recording_sections*> sections();
};

/// Passes a cell to SQLite as the result of a function. `fleeting`: SQLite must copy the text.
void give(sqlite3_context* to, const cell& value, bool fleeting);

/// Returns "INTEGER", "REAL" or "TEXT".
[[nodiscard]] std::string_view sql_type(column_type type);

/// Registers a module as `module_name`, and creates a virtual table for each of `tables`, with the table's `name`.
template <class Tables>
int add_virtual_tables(sqlite3* db, const char* module_name, const sqlite3_module& module, sql_context& context,
                       const Tables& tables) {
  int code = sqlite3_create_module_v2(db, module_name, &module, &context, nullptr);
  for (const auto& each : tables) {
    if (code != SQLITE_OK) return code;
    const std::string make = "CREATE VIRTUAL TABLE \"" + std::string(each.name) + "\" USING " + module_name;
    code = sqlite3_exec(db, make.c_str(), nullptr, nullptr, nullptr);
  }
  return code;
}

/// Create the tables of rows and the tables of metrics in a database. Both functions return SQLite's result code.
int add_row_tables(sqlite3* db, sql_context& context);
int add_metric_tables(sqlite3* db, sql_context& context);

}  // namespace sluice::query
