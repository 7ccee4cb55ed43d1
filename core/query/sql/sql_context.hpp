#pragma once

#include <sqlite3.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/index/growing_index.hpp"
#include "core/query/sql/columns.hpp"
#include "core/query/sql/sql.hpp"
#include "core/summary/figures/stored_figures.hpp"
#include "core/symbols/frames.hpp"

/// The state shared by the virtual tables of one database. Private to core/query and core/export.
namespace sluice::query {

struct sql_context {
  std::shared_ptr<const trace::snapshot> trace;
  sql_options options;
  std::atomic<bool> interrupted{false};
  const std::atomic<bool>* cancelled = nullptr;  ///< The caller's cancel flag; may be null.
  std::optional<error> failure;  ///< The error that ended the query, if more precise than SQLite's message.
  std::size_t lookup_bytes = 0;  ///< Used by indexes on ids.
  std::unique_ptr<symbols::frame_book> frames;
  std::unique_ptr<analysis::growing_index> index;                  ///< Built by the first table that needs it.
  std::shared_ptr<const analysis::stored_figures> stored_figures;  ///< Searched by the first table that can use them.
  std::shared_ptr<const analysis::step_facts> steps;               ///< The steps according to the stored figures.
  bool looked_for_stored_figures = false;

  [[nodiscard]] bool timed_out() const {
    return options.deadline && std::chrono::steady_clock::now() >= *options.deadline;
  }
  [[nodiscard]] bool stopped() const { return interrupted || (cancelled != nullptr && *cancelled) || timed_out(); }
  /// Why the query stopped.
  [[nodiscard]] error stop_reason() const {
    const bool late = !interrupted && (cancelled == nullptr || !*cancelled) && timed_out();
    return {error_code::cancelled,
            late ? "the query took longer than it may" : "the query was interrupted",
            {},
            error::no_offset,
            late ? "narrow it, as by a range of time or a LIMIT, or give it more time" : ""};
  }
  /// The index of the whole trace; null if interrupted while building it. O(trace) the first time.
  const analysis::index* analysed();
  /// The stored figures of the file; for a large unfinished recording, those of a summary built now. Null if there are
  /// none, or if the index exists anyway.
  const analysis::stored_figures* whole();
};

/// Passes a cell to SQLite as a result. `fleeting`: the text must be copied.
void give(sqlite3_context* to, const cell& value, bool fleeting);

/// Returns "INTEGER", "REAL" or "TEXT".
[[nodiscard]] std::string_view sql_type(column_type type);

/// Registers a module as `module_name`, and for each of `tables` a virtual table with its `name`.
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

/// Create the virtual tables of a database. Return SQLite's codes.
int add_row_tables(sqlite3* db, sql_context& context);
int add_figure_tables(sqlite3* db, sql_context& context);

/// A view over the tables, the same in a database and in an exported file.
struct view_about {
  std::string_view name;
  std::string_view about;
  std::string_view select;
  struct part {
    std::string_view name;
    std::string_view about;
  };
  std::span<const part> columns;
};
[[nodiscard]] std::span<const view_about> sql_views();

}  // namespace sluice::query
