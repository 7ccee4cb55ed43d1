#include "core/import/nsys/database.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <filesystem>
#include <fstream>
#include <utility>

namespace sluice::importing {
namespace {

constexpr int longest_value = 1 << 20;
constexpr std::size_t max_tables = 4096;
constexpr std::size_t max_text = std::size_t{4} << 20;  // The most bytes of text per batch.

struct finish {
  void operator()(sqlite3_stmt* stmt) const { sqlite3_finalize(stmt); }
};
using statement = std::unique_ptr<sqlite3_stmt, finish>;

namespace fs = std::filesystem;

/// Returns the path of a file that SQLite keeps next to the database. Links to the database are resolved.
fs::path beside(const std::string& path, const char* ending) {
  std::error_code failed;
  fs::path file = fs::canonical(path, failed);
  if (failed) file = path;
  return file += ending;
}

/// True for a regular file that is not empty. Links are refused, because they could lead to any file.
bool has_content(const fs::path& path) {
  std::error_code failed;
  return fs::symlink_status(path, failed).type() == fs::file_type::regular && fs::file_size(path, failed) > 0 &&
         !failed;
}

/// True for the journal of an unfinished transaction. A journal that SQLite keeps for reuse has a header of zeros.
bool is_hot_journal(const fs::path& path) {
  constexpr std::array<unsigned char, 8> magic = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
  if (!has_content(path)) return false;
  std::array<char, 8> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return std::equal(magic.begin(), magic.end(), head.begin(),
                    [](unsigned char a, char b) { return a == static_cast<unsigned char>(b); });
}

/// Returns the path as a URI, which SQLite needs for "immutable". With a write-ahead log, the file is not opened as
/// immutable, so that SQLite reads the log. SQLite still takes no locks, keeps no shared memory and writes nothing to
/// the folder.
std::string make_uri(const std::string& path, bool with_log) {
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
  return uri + (with_log ? "?mode=ro&vfs=unix-none" : "?mode=ro&immutable=1");
}

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

/// Collects a query's rows in batches, as a SQLite aggregate function that is called with each row's cells as
/// arguments. Fetching each cell from a statement's result would take a lock and checks, which took more than a quarter
/// of an import. The function is registered again for each query, and only this class's queries name it. No exception
/// passes through SQLite.
class row_sink {
 public:
  static constexpr const char* function = "sluice_take_row";
  static constexpr int max_columns = 64;

  row_sink(std::span<const nsys_column> columns, std::size_t most, const std::function<nsys_rows*()>& room,
           const std::function<bool(nsys_rows*)>& take)
      : columns_(columns), max_(most), room_(room), take_(take) {}

  static void step(sqlite3_context* context, int count, sqlite3_value** cells) {
    auto& sink = *static_cast<row_sink*>(sqlite3_user_data(context));
    if (!sink.add({cells, static_cast<std::size_t>(count)}))
      sqlite3_result_error(context, "no more rows are needed", -1);
  }

  static void done(sqlite3_context*) {}

  [[nodiscard]] bool stopped() const { return stopped_; }

  /// Delivers the remaining rows. Rethrows an exception that was caught.
  void finish() {
    if (caught_) std::rethrow_exception(caught_);
    if (into_ != nullptr) static_cast<void>(take_(into_));
  }

 private:
  bool add(std::span<sqlite3_value* const> cells) noexcept {
    try {
      if (into_ == nullptr) {
        into_ = room_();
        if (into_ == nullptr) return stop();
        into_->clear(columns_.size());
      }
      put(cells);
      if (into_->size() < max_ && into_->texts.size() < max_text) return true;
      return take_(std::exchange(into_, nullptr)) || stop();
    } catch (...) {
      caught_ = std::current_exception();
      return stop();
    }
  }

  void put(std::span<sqlite3_value* const> cells) {
    std::int64_t* cell = into_->add_row();
    for (std::size_t i = 0; i < cells.size(); ++i, ++cell) {
      sqlite3_value* const value = cells[i];
      if (columns_[i].holds == nsys_column::type::integer) {
        // For a text, this is the number at its start.
        *cell = sqlite3_value_int64(value);
        if (*cell == 0 && sqlite3_value_type(value) == SQLITE_NULL) *cell = nsys_rows::null;
      } else if (columns_[i].holds == nsys_column::type::real) {
        const bool is_null = sqlite3_value_type(value) == SQLITE_NULL;
        // Adding 0 turns minus 0 into 0, because the bits of minus 0 are `null`.
        *cell = is_null ? nsys_rows::null : std::bit_cast<std::int64_t>(sqlite3_value_double(value) + 0.0);
      } else if (const auto* text = sqlite3_value_text(value); text != nullptr) {
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
        *cell = static_cast<std::int64_t>(into_->texts.size() << 24U | size);
        into_->texts.append(reinterpret_cast<const char*>(text), size);
      } else {
        *cell = nsys_rows::null;
      }
    }
  }

  bool stop() {
    stopped_ = true;
    into_ = nullptr;
    return false;
  }

  std::span<const nsys_column> columns_;
  std::size_t max_;
  const std::function<nsys_rows*()>& room_;
  const std::function<bool(nsys_rows*)>& take_;
  nsys_rows* into_ = nullptr;
  bool stopped_ = false;
  std::exception_ptr caught_;
};

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
  sqlite3_limit(handle, SQLITE_LIMIT_FUNCTION_ARG, row_sink::max_columns);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite3_limit(handle, SQLITE_LIMIT_WORKER_THREADS, 0);
}

std::string column_text(sqlite3_stmt* stmt, int column) {
  const auto* const text = sqlite3_column_text(stmt, column);
  const int size = sqlite3_column_bytes(stmt, column);
  return text == nullptr ? std::string()
                         : std::string(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
}

}  // namespace

void nsys_rows::clear(std::size_t columns_of_a_row) {
  columns = columns_of_a_row;
  cells.clear();
  texts.clear();
}

std::int64_t* nsys_rows::add_row() {
  const std::size_t begin = cells.size();
  cells.resize(begin + columns);
  return cells.data() + begin;
}

std::string_view nsys_rows::text(std::int64_t cell) const {
  if (cell < 0) return {};
  const auto place = static_cast<std::uint64_t>(cell);
  return std::string_view(texts).substr(place >> 24U, place & 0xff'ffffU);
}

void nsys_database::close::operator()(sqlite3* subject) const { sqlite3_close_v2(subject); }
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
  nsys_database database;
  database.path_ = path;
  sqlite3* handle = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  const fs::path journal = beside(path, "-journal");
  database.half_written_ = is_hot_journal(journal);
  // Rolling back a transaction would write, and would follow file names in the journal. Therefore, the file is read
  // unchanged.
  const bool with_log = !database.half_written_ && has_content(beside(path, "-wal"));
  const int opened = sqlite3_open_v2(make_uri(path, with_log).c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);
  if (handle == nullptr) return fail(error_code::io, "there is not enough memory to open it", path);
  if (opened != SQLITE_OK) return database.failed("open it");
  restrict(handle);
  // The log is not changed, and its index stays in this process's memory.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (with_log) sqlite3_exec(handle, "PRAGMA locking_mode=EXCLUSIVE", nullptr, nullptr, nullptr);
  sqlite3_exec(handle, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8192", nullptr, nullptr,
               nullptr);
  if (auto read = database.read_schema(); !read) return tl::unexpected<error>(read.error());
  return database;
}

/// Reads the names of the tables and their columns. Views and virtual tables, which have no root page, are left out.
result<void> nsys_database::read_schema() {
  sqlite3_stmt* raw = nullptr;
  const char* const text =
      "SELECT name FROM sqlite_master WHERE type='table' AND rootpage>0 AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";
  if (sqlite3_prepare_v2(handle_.get(), text, -1, &raw, nullptr) != SQLITE_OK) return failed("read its schema");
  const statement names(raw);
  int step = SQLITE_ROW;
  while (tables_.size() < max_tables && (step = sqlite3_step(names.get())) == SQLITE_ROW)
    tables_.push_back({column_text(names.get(), 0), 0});
  if (step != SQLITE_DONE && step != SQLITE_ROW) return failed("read its schema");
  for (table& each : tables_) {
    std::vector<std::string>& columns = columns_.emplace_back();
    if (sqlite3_prepare_v2(handle_.get(), ("PRAGMA table_info(" + sql_name(each.name) + ")").c_str(), -1, &raw,
                           nullptr) == SQLITE_OK) {
      const statement info(raw);
      while (sqlite3_step(info.get()) == SQLITE_ROW) columns.push_back(column_text(info.get(), 1));
    }
    if (sqlite3_prepare_v2(handle_.get(), ("SELECT max(rowid) FROM " + sql_name(each.name)).c_str(), -1, &raw,
                           nullptr) == SQLITE_OK) {
      const statement highest(raw);
      if (sqlite3_step(highest.get()) == SQLITE_ROW) {
        each.rows = static_cast<std::uint64_t>(std::max<sqlite3_int64>(0, sqlite3_column_int64(highest.get(), 0)));
      }
    }
  }
  return {};
}

const std::vector<std::string>& nsys_database::get_columns(std::string_view name) const {
  static const std::vector<std::string> none;
  for (std::size_t i = 0; i < tables_.size(); ++i)
    if (tables_[i].name == name) return columns_[i];
  return none;
}

bool nsys_database::has(std::string_view name) const {
  return std::any_of(tables_.begin(), tables_.end(), [&](const table& each) { return each.name == name; });
}

bool nsys_database::has(std::string_view text, std::string_view column) const {
  const auto& columns = get_columns(text);
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::uint64_t nsys_database::count_rows(std::string_view name) const {
  sqlite3_stmt* raw = nullptr;
  const std::string query = "SELECT count(*) FROM " + sql_name(name);
  if (sqlite3_prepare_v2(handle_.get(), query.c_str(), -1, &raw, nullptr) != SQLITE_OK) return 0;
  const statement counting(raw);
  if (sqlite3_step(counting.get()) != SQLITE_ROW) return 0;
  return static_cast<std::uint64_t>(std::max<sqlite3_int64>(0, sqlite3_column_int64(counting.get(), 0)));
}

bool nsys_database::is_sorted(std::string_view name, const nsys_column& column) const {
  const std::span<const nsys_column> columns(&column, 1);
  std::int64_t last = INT64_MIN;
  bool sorted = true;
  nsys_rows rows;
  const auto take = [&](const nsys_rows* got) {
    for (std::size_t i = 0; sorted && i < got->size(); ++i) {
      sorted = got->row(i)[0] >= last;
      last = got->row(i)[0];
    }
    return sorted;
  };
  // Read errors are reported when the table's rows are read.
  static_cast<void>(read(
      name, columns, {}, {}, 4096, [&] { return &rows; }, take));
  return sorted;
}

result<void> nsys_database::read(std::string_view name, std::span<const nsys_column> columns, std::string_view where,
                                 std::span<const char* const> order, std::size_t most,
                                 const std::function<nsys_rows*()>& room,
                                 const std::function<bool(nsys_rows*)>& take) const {
  row_sink sink(columns, most, room, take);
  if (sqlite3_create_function_v2(handle_.get(), row_sink::function, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, &sink, nullptr,
                                 &row_sink::step, &row_sink::done, nullptr) != SQLITE_OK) {
    return failed("prepare to read the table " + std::string(name));
  }
  // SQLite would read a quoted name that is not a column as a text.
  std::string arguments, known, by;
  for (const nsys_column& column : columns) {
    const bool exists = has(name, column.name);
    arguments += (arguments.empty() ? "" : ",") + (exists ? sql_name(column.name) : "NULL");
    if (exists) known += (known.empty() ? "" : ",") + sql_name(column.name);
  }
  for (const char* column : order)
    if (has(name, column)) by += (by.empty() ? " ORDER BY " : ",") + sql_name(column);
  std::string source = sql_name(name);
  if (!where.empty()) source += " WHERE " + std::string(where);
  // An aggregate processes rows in the order of the subquery.
  if (!by.empty()) source = "(SELECT " + known + " FROM " + source + by + ")";
  const std::string query = "SELECT " + std::string(row_sink::function) + '(' + arguments + ") FROM " + source;
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), query.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
    return failed("read the table " + std::string(name));
  }
  const statement rows(raw);
  result<void> read;
  if (sqlite3_step(rows.get()) != SQLITE_ROW && !sink.stopped()) read = failed("read the table " + std::string(name));
  sink.finish();
  return read;
}

}  // namespace sluice::importing
