#include "core/query/sql/sql.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/query/sql/scratch_files.hpp"
#include "core/query/sql/sql_context.hpp"
#include "core/query/sql/sql_views.hpp"

namespace sluice::query {
namespace {

constexpr int steps_between_looks = 4000;  ///< In instructions of SQLite's virtual machine: some tens of microseconds.
constexpr std::string_view hint = "`sluice query --schema` lists the tables and their columns";

/// SQLite's authorizer, which lets queries only read. SQLite refuses other statements when it prepares them.
int allow(void* /*unused*/, int action, const char* first, const char* second, const char* /*database*/,
          const char* /*by*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION: {
      static constexpr std::array<std::string_view, 2> refused = {"load_extension", "fts3_tokenizer"};
      return std::find(refused.begin(), refused.end(), second) != refused.end() ? SQLITE_DENY : SQLITE_OK;
    }
    case SQLITE_PRAGMA: {
      static constexpr std::array<std::string_view, 3> harmless = {"table_info", "table_xinfo", "table_list"};
      return std::find(harmless.begin(), harmless.end(), first) != harmless.end() ? SQLITE_OK : SQLITE_DENY;
    }
    default:
      return SQLITE_DENY;
  }
}

std::string joined_lines(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// Runs a set-up statement, which fails only if memory runs out.
result<void> run(sqlite3* db, const std::string& text) {
  if (sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(error_code::unavailable, std::string("cannot create the tables for queries: ") + sqlite3_errmsg(db));
}

id_kind get_id(std::string_view table, std::string_view column) {
  for (const query::column& each : find_columns(table))
    if (each.name == column) return each.id;
  return id_kind::none;
}

bool is_blank(const char* text) {
  return std::string_view(text).find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

}  // namespace

// --- the context ----------------------------------------------------------------------------------------------------

result<summary::recording_sections*> sql_context::sections() {
  if (!opened) {
    auto made = summary::recording_sections::open(trace, [this] { return !stopped(); });
    if (!made) return tl::unexpected(made.error());
    opened = std::move(*made);
  }
  return opened.get();
}

void give(sqlite3_context* to, const cell& value, bool fleeting) {
  switch (value.type) {
    case cell::kind::null:
      return sqlite3_result_null(to);
    case cell::kind::integer:
      return sqlite3_result_int64(to, value.integer);
    case cell::kind::real:
      return sqlite3_result_double(to, value.real);
    case cell::kind::text:
      return sqlite3_result_text64(to, value.text.data(), value.text.size(),
                                   fleeting ? SQLITE_TRANSIENT : SQLITE_STATIC, SQLITE_UTF8);
  }
}

std::string_view sql_type(column_type type) {
  switch (type) {
    case column_type::real:
      return "REAL";
    case column_type::text:
    case column_type::word:
      return "TEXT";
    default:
      return "INTEGER";
  }
}

// --- the database ---------------------------------------------------------------------------------------------------

struct sql_database::state {
  sql_context context;
  scratch_limit scratch;
  sqlite3* db = nullptr;
  bool too_much = false;  ///< The query exceeded its memory or scratch limit.

  ~state() { sqlite3_close_v2(db); }

  result<void> open() {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX |
                      SQLITE_OPEN_PRIVATECACHE;
    scratch.set(context.options.scratch_bytes);
    if (sqlite3_open_v2(":memory:", &db, flags, scratch.vfs()) != SQLITE_OK)
      return fail(error_code::unavailable, "cannot start SQLite");
    for (const auto& [option, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                        {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                        {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                        {SQLITE_DBCONFIG_DQS_DML, 0},
                                        {SQLITE_DBCONFIG_DQS_DDL, 0}})
      sqlite3_db_config(db, option, value, nullptr);
    if (add_row_tables(db, context) != SQLITE_OK || add_metric_tables(db, context) != SQLITE_OK)
      return fail(error_code::unavailable, std::string("cannot create the tables for queries: ") + sqlite3_errmsg(db));
    for (const view_about& each : sql_views())
      if (auto output = run(db, create_view_text(each)); !output) return output;
    // Use SQLite's own virtual tables once. SQLite creates them on first use, which the authorizer would refuse later.
    if (auto product = run(db,
                           "SELECT 1 FROM pragma_table_info('kernel'), pragma_table_xinfo('kernel'), pragma_table_list,"
                           " json_each('[]'), json_tree('[]')");
        !product)
      return product;
    const auto value_bytes = static_cast<int>(std::min<std::size_t>(context.options.value_bytes, 1U << 30));
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, value_bytes);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, std::min(value_bytes, 4 << 20));
    // Matching takes time in proportion to the product of both lengths, and cannot be interrupted.
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 4096);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 500);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_set_authorizer(db, allow, nullptr);
    sqlite3_progress_handler(
        db, steps_between_looks,
        [](void* origin) -> int {
          auto& self = *static_cast<state*>(origin);
          self.too_much = static_cast<std::size_t>(sqlite3_memory_used()) > self.context.options.memory_bytes;
          return self.too_much || self.context.stopped() ? 1 : 0;
        },
        this);
    return {};
  }

  /// Returns the error of the last failed call, in one line.
  error why(int code) {
    if (context.stopped()) return context.stop_reason();
    if (context.failure) return *std::exchange(context.failure, std::nullopt);
    error output{error_code::invalid_argument, joined_lines(sqlite3_errmsg(db)), "query", error::no_offset,
                 std::string(hint)};
    if (scratch.exceeded()) {
      output.message = "the query needs more scratch space than allowed";
      output.hint = "narrow it, for example with a time range or a LIMIT";
    } else if (too_much || code == SQLITE_NOMEM) {
      output.message = "the query needs more memory than allowed";
      output.hint = "narrow it, for example with a time range or a LIMIT";
    } else if (code == SQLITE_AUTH) {
      output.message = "a query can only read";
      output.hint = "write a SELECT";
    } else if (code == SQLITE_TOOBIG) {
      output.message = "a text in the query is too long";
      output.hint.clear();
    } else if (const int offset = sqlite3_error_offset(db); offset >= 0) {
      output.offset = static_cast<std::uint64_t>(offset);
    }
    return output;
  }

  void begin() {
    context.failure.reset();
    too_much = false;
    scratch.reset();
  }
};

sql_database::sql_database(std::unique_ptr<state> s) : state_(std::move(s)) {}
sql_database::~sql_database() = default;

result<std::unique_ptr<sql_database>> sql_database::open(std::shared_ptr<const trace::snapshot> trace,
                                                         const sql_options& options) {
  auto s = std::make_unique<state>();
  s->context.frames = std::make_unique<symbols::frame_cache>(symbols::options_for(*trace));
  s->context.trace = std::move(trace);
  s->context.options = options;
  s->context.cancelled = options.cancelled;
  if (auto opened = s->open(); !opened) return tl::unexpected(opened.error());
  return std::unique_ptr<sql_database>(new sql_database(std::move(s)));
}

void sql_database::interrupt() { state_->context.interrupted = true; }

// --- a statement ----------------------------------------------------------------------------------------------------

struct sql_statement::state {
  sql_database::state* database = nullptr;
  sqlite3_stmt* running = nullptr;
  mutable std::string scratch;
  ~state() { sqlite3_finalize(running); }
};

sql_statement::sql_statement(std::unique_ptr<state> s) : state_(std::move(s)) {}
sql_statement::sql_statement(sql_statement&&) noexcept = default;
sql_statement& sql_statement::operator=(sql_statement&&) noexcept = default;
sql_statement::~sql_statement() = default;

result<sql_statement> sql_database::prepare(std::string_view text) {
  state_->begin();
  auto s = std::make_unique<sql_statement::state>();
  s->database = state_.get();
  const std::string whole(text);
  if (whole.find('\0') != std::string::npos)
    return fail(error_code::invalid_argument, "the query contains a zero byte", "query", {}, whole.find('\0'));
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(state_->db, whole.c_str(), static_cast<int>(whole.size()) + 1, &s->running, &rest);
  if (code != SQLITE_OK) return tl::unexpected(state_->why(code));
  if (s->running == nullptr)
    return fail(error_code::invalid_argument, "the query is empty", "query", std::string(hint));
  // Statements that the authorizer does not see, such as VACUUM INTO, have no columns.
  if (sqlite3_stmt_readonly(s->running) == 0 || sqlite3_column_count(s->running) == 0)
    return fail(error_code::invalid_argument, "a query can only read", "query", "write a SELECT");
  // Only a comment may follow.
  for (const char* tail = rest; !is_blank(tail);) {
    sqlite3_stmt* second = nullptr;
    const char* after = nullptr;
    const int more = sqlite3_prepare_v2(state_->db, tail, -1, &second, &after);
    sqlite3_finalize(second);
    if (more != SQLITE_OK || second != nullptr)
      return fail(error_code::invalid_argument, "there is more than one statement", "query", "run one at a time",
                  static_cast<std::uint64_t>(rest - whole.c_str()));
    if (after == tail) break;
    tail = after;
  }
  sql_statement statement(std::move(s));
  sqlite3_stmt* const running = statement.state_->running;
  for (int i = 0; i < sqlite3_column_count(running); ++i) {
    sql_column column{sqlite3_column_name(running, i), id_kind::none};
    const char* table = sqlite3_column_table_name(running, i);
    const char* origin = sqlite3_column_origin_name(running, i);
    if (table != nullptr && origin != nullptr) column.id = get_id(table, origin);
    statement.columns_.push_back(std::move(column));
  }
  return statement;
}

result<bool> sql_statement::step() {
  if (state_->database->context.stopped()) return tl::unexpected(state_->database->context.stop_reason());
  const int code = sqlite3_step(state_->running);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return tl::unexpected(state_->database->why(code));
}

cell sql_statement::at(std::size_t column) const {
  sqlite3_stmt* const stmt = state_->running;
  const int i = static_cast<int>(column);
  switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
      return {cell::kind::integer, sqlite3_column_int64(stmt, i), 0, {}};
    case SQLITE_FLOAT:
      return {cell::kind::real, 0, sqlite3_column_double(stmt, i), {}};
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(stmt, i));
      return {cell::kind::text, 0, 0, {text, static_cast<std::size_t>(sqlite3_column_bytes(stmt, i))}};
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const unsigned char*>(sqlite3_column_blob(stmt, i));
      const auto count = static_cast<std::size_t>(sqlite3_column_bytes(stmt, i));
      static constexpr std::string_view digits = "0123456789abcdef";
      state_->scratch.clear();
      for (std::size_t at = 0; at < count; ++at) {
        state_->scratch += digits[bytes[at] >> 4];
        state_->scratch += digits[bytes[at] & 15];
      }
      return {cell::kind::text, 0, 0, state_->scratch};
    }
    default:
      return {};
  }
}

}  // namespace sluice::query
