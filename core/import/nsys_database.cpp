#include "core/import/nsys_database.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace sluice::importing {
namespace {

constexpr int longest_value = 1 << 20;
constexpr std::size_t most_tables = 4096;
constexpr std::size_t most_text = std::size_t{4} << 20;  // At a time.

struct finish {
  void operator()(sqlite3_stmt* of) const { sqlite3_finalize(of); }
};
using statement = std::unique_ptr<sqlite3_stmt, finish>;

/// As a URI: SQLite takes "immutable" in no other way.
std::string uri_of(const std::string& path) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_';
    if (plain) {
      uri += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      uri += '%';
      uri += digits[byte >> 4U];
      uri += digits[byte & 15U];
    }
  }
  return uri + "?mode=ro&immutable=1";
}

void restrict(sqlite3* handle) {
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longest_value);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
  sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, 256);
  sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 20);
  sqlite3_limit(handle, SQLITE_LIMIT_COMPOUND_SELECT, 2);
  sqlite3_limit(handle, SQLITE_LIMIT_VDBE_OP, 25000);
  sqlite3_limit(handle, SQLITE_LIMIT_FUNCTION_ARG, 8);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

std::string quoted(std::string_view name) {
  std::string made = "\"";
  for (const char c : name) made += c == '"' ? std::string("\"\"") : std::string(1, c);
  return made + '"';
}

std::string column_text(sqlite3_stmt* of, int column) {
  const auto* const text = sqlite3_column_text(of, column);
  const int size = sqlite3_column_bytes(of, column);
  return text == nullptr ? std::string()
                         : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

}  // namespace

void nsys_rows::clear(std::size_t columns_of_a_row) {
  columns = columns_of_a_row;
  cells.clear();
  texts.clear();
}

std::string_view nsys_rows::text(std::int64_t cell) const {
  if (cell < 0) return {};
  const auto place = static_cast<std::uint64_t>(cell);
  return std::string_view(texts).substr(place >> 24U, place & 0xff'ffffU);
}

void nsys_database::close::operator()(sqlite3* of) const { sqlite3_close_v2(of); }
nsys_database::nsys_database(nsys_database&&) noexcept = default;
nsys_database& nsys_database::operator=(nsys_database&&) noexcept = default;
nsys_database::~nsys_database() = default;

tl::unexpected<error> nsys_database::failed(std::string_view doing) const {
  const int code = sqlite3_errcode(handle_.get()) & 0xff;
  const bool broken = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR || code == SQLITE_TOOBIG;
  return fail(broken ? error_code::corrupt : error_code::io,
              "SQLite cannot " + std::string(doing) + ": " + sqlite3_errmsg(handle_.get()), path_);
}

result<nsys_database> nsys_database::open(const std::string& path) {
  nsys_database made;
  made.path_ = path;
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const int opened = sqlite3_open_v2(uri_of(path).c_str(), &handle, flags, nullptr);
  made.handle_.reset(handle);
  if (handle == nullptr) return fail(error_code::io, "there is not enough memory to open it", path);
  if (opened != SQLITE_OK) return made.failed("open it");
  restrict(handle);
  sqlite3_exec(handle, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8192", nullptr, nullptr,
               nullptr);
  if (auto read = made.read_schema(); !read) return tl::unexpected<error>(read.error());
  return made;
}

/// Views and virtual tables have no root page.
result<void> nsys_database::read_schema() {
  sqlite3_stmt* raw = nullptr;
  const char* const all =
      "SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0 AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";
  if (sqlite3_prepare_v2(handle_.get(), all, -1, &raw, nullptr) != SQLITE_OK) return failed("read its schema");
  const statement names(raw);
  int step = SQLITE_ROW;
  while (tables_.size() < most_tables && (step = sqlite3_step(names.get())) == SQLITE_ROW)
    tables_.push_back({column_text(names.get(), 0), 0});
  if (step != SQLITE_DONE && step != SQLITE_ROW) return failed("read its schema");
  for (table& each : tables_) {
    std::vector<std::string>& columns = columns_.emplace_back();
    if (sqlite3_prepare_v2(handle_.get(), ("PRAGMA table_info(" + quoted(each.name) + ")").c_str(), -1, &raw,
                           nullptr) == SQLITE_OK) {
      const statement info(raw);
      while (sqlite3_step(info.get()) == SQLITE_ROW) columns.push_back(column_text(info.get(), 1));
    }
    if (sqlite3_prepare_v2(handle_.get(), ("SELECT max(rowid) FROM " + quoted(each.name)).c_str(), -1, &raw, nullptr) ==
        SQLITE_OK) {
      const statement highest(raw);
      if (sqlite3_step(highest.get()) == SQLITE_ROW) {
        each.rows = static_cast<std::uint64_t>(std::max<sqlite3_int64>(0, sqlite3_column_int64(highest.get(), 0)));
      }
    }
  }
  return {};
}

const std::vector<std::string>& nsys_database::columns_of(std::string_view name) const {
  static const std::vector<std::string> none;
  for (std::size_t i = 0; i < tables_.size(); ++i)
    if (tables_[i].name == name) return columns_[i];
  return none;
}

bool nsys_database::has(std::string_view name) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const table& each) { return each.name == name; });
}

bool nsys_database::has(std::string_view of, std::string_view column) const {
  const auto& columns = columns_of(of);
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

result<void> nsys_database::read(std::string_view name, std::span<const nsys_column> columns, std::string_view where,
                                 std::size_t most, const std::function<nsys_rows*()>& room,
                                 const std::function<bool(nsys_rows*)>& take) const {
  // A name in quotes that is no column would be a text to SQLite.
  std::string query = "SELECT ";
  for (const nsys_column& column : columns) {
    if (&column != columns.data()) query += ',';
    query += has(name, column.name) ? quoted(column.name) : "NULL";
  }
  query += " FROM " + quoted(name);
  if (!where.empty()) query += " WHERE " + std::string(where);
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), query.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return failed("read the table " + std::string(name));
  }
  const statement rows(raw);
  for (int step = SQLITE_ROW; step == SQLITE_ROW;) {
    nsys_rows* const into = room();
    if (into == nullptr) return {};
    into->clear(columns.size());
    while (into->size() < most && into->texts.size() < most_text && (step = sqlite3_step(rows.get())) == SQLITE_ROW) {
      for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
        std::int64_t cell = nsys_rows::null;
        if (columns[static_cast<std::size_t>(i)].holds == nsys_column::type::integer) {
          // Of a text: the number that it begins with.
          const std::int64_t value = sqlite3_column_int64(rows.get(), i);
          if (value != 0 || sqlite3_column_type(rows.get(), i) != SQLITE_NULL) cell = value;
        } else if (const auto* text = sqlite3_column_text(rows.get(), i); text != nullptr) {
          const auto size = static_cast<std::size_t>(sqlite3_column_bytes(rows.get(), i));
          cell = static_cast<std::int64_t>(into->texts.size() << 24U | size);
          into->texts.append(reinterpret_cast<const char*>(text), size);
        }
        into->cells.push_back(cell);
      }
    }
    if (step != SQLITE_ROW && step != SQLITE_DONE) {
      const auto why = failed("read the table " + std::string(name));
      static_cast<void>(take(into));
      return why;
    }
    if (!take(into)) return {};
  }
  return {};
}

}  // namespace sluice::importing
