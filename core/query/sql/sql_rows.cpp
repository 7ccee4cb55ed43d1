// Row types as SQLite virtual tables. Columns are read from decoded chunks as a query needs them.
//
// A condition on `time` or `end` skips chunks by their headers. A condition on an integer column skips rows before
// SQLite sees them, and also chunks, once a scan has noted the column's range in each chunk. If a query repeatedly
// looks up single values of a column, as in a join on an id, the column gets an index if memory allows. SQLite checks
// every condition again, so skipping too little is safe.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "core/query/sql/virtual_table.hpp"

namespace sluice::query {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
/// The number of scans for single values of a column before it gets an index.
constexpr unsigned scans_before_index = 3;

/// The state of lookups in one column.
struct column_lookup {
  struct entry {
    std::int64_t value;
    std::uint32_t chunk;  ///< The position in `rows_table::chunks`.
    std::uint32_t row;
  };
  /// The range of values in a chunk, without nulls. `seen` is false if no scan has read the chunk yet.
  struct zone {
    std::int64_t low = highest;
    std::int64_t high = lowest;
    bool seen = false;
  };
  unsigned scans = 0;
  std::vector<zone> zones;
  std::vector<entry> entries;  ///< Sorted by value.
  bool indexed = false;
};

struct rows_cursor;

struct rows_table : sqlite3_vtab {
  using cursor = rows_cursor;

  rows_table(sql_context& shared, const table& kind);
  ~rows_table() { context->lookup_bytes -= taken; }
  rows_table(const rows_table&) = delete;
  rows_table& operator=(const rows_table&) = delete;

  [[nodiscard]] static std::unique_ptr<rows_table> find(sql_context& shared, std::string_view name);
  [[nodiscard]] std::string declared() const { return declaration(source->columns); }
  int best_index(sqlite3_index_info& info) const;

  sql_context* context = nullptr;
  const table* source = nullptr;
  /// The chunks of this row type. If the rows are not events, the only element is 0, which stands for the whole table.
  std::vector<std::size_t> chunks;
  std::uint64_t rows = 0;
  std::size_t time_column = 0;
  std::size_t end_column = 0;
  std::unordered_map<std::size_t, column_lookup> lookups;
  std::size_t taken = 0;  ///< The share of this table in the context's `lookup_bytes`.
};

/// A condition on a column: the value is between `low` and `high`, or in `values`.
struct row_check {
  std::size_t column = 0;
  std::int64_t low = lowest;
  std::int64_t high = highest;
  bool among = false;
  std::vector<std::int64_t> values;  ///< Sorted.
  column_lookup* lookup = nullptr;

  [[nodiscard]] bool takes(std::int64_t value) const {
    if (value < low || value > high) return false;
    return !among || std::binary_search(values.begin(), values.end(), value);
  }
};

struct rows_cursor : sqlite3_vtab_cursor {
  std::vector<row_check> checks;
  bool empty = false;  ///< True if no row can match.
  std::size_t chunk = 0;
  std::size_t row = 0;
  row_span rows;
  bool ended = false;
  // If an index is used, these are its remaining entries.
  bool by_index = false;
  const column_lookup::entry* next_entry = nullptr;
  const column_lookup::entry* last_entry = nullptr;
  std::size_t loaded = std::numeric_limits<std::size_t>::max();

  int filter(const char* plan, int count, sqlite3_value** values);
  int next();
  [[nodiscard]] bool at_end() const { return ended; }
  void read_column(sqlite3_context* to, int column) const;
  [[nodiscard]] sqlite3_int64 row_id() const;
};

bool is_number(column_type type) {
  return type != column_type::real && type != column_type::text && type != column_type::word;
}

int note_failure(rows_table& table, const error& why) {
  table.context->failure = why;
  return why.code == error_code::cancelled ? SQLITE_INTERRUPT : SQLITE_IOERR;
}

rows_table::rows_table(sql_context& shared, const table& kind) : sqlite3_vtab{}, context(&shared), source(&kind) {
  time_column = source->find("time");
  end_column = source->find("end");
  if (!source->events) {
    chunks.push_back(0);
    const auto read = source->read(*context->trace, 0);
    rows = read ? read->count : 0;
    return;
  }
  const auto every = context->trace->chunks();
  for (std::size_t i = 0; i < every.size(); ++i) {
    if (every[i].type != source->type) continue;
    chunks.push_back(i);
    rows += every[i].rows;
  }
}

std::unique_ptr<rows_table> rows_table::find(sql_context& shared, std::string_view name) {
  const table* kind = find_table(name);
  return kind == nullptr ? nullptr : std::make_unique<rows_table>(shared, *kind);
}

// --- planning -------------------------------------------------------------------------------------------------------

/// Returns the number of rows in chunks within a time bound. If the query does not give the bound as a number, returns
/// an estimate.
double rows_within(const rows_table& table, sqlite3_index_info& info, int constraint, unsigned char op) {
  sqlite3_value* bound = nullptr;
  if (sqlite3_vtab_rhs_value(&info, constraint, &bound) != SQLITE_OK || bound == nullptr ||
      sqlite3_value_numeric_type(bound) == SQLITE_TEXT || !table.source->events)
    return static_cast<double>(table.rows) / 4;
  const double at = sqlite3_value_double(bound);
  double rows = 0;
  for (const std::size_t chunk : table.chunks) {
    const trace::chunk_info& about = table.context->trace->chunks()[chunk];
    const bool before = static_cast<double>(about.max_time) < at;
    const bool after = static_cast<double>(about.min_time) > at;
    const bool upper = op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
    if (upper ? !after : !before) rows += about.rows;
  }
  return rows;
}

int rows_table::best_index(sqlite3_index_info& info) const {
  std::string plan;
  int arguments = 0;
  const double total = static_cast<double>(std::max<std::uint64_t>(rows, 1));
  double expected = total;
  bool single = false;
  for (int i = 0; i < info.nConstraint; ++i) {
    const auto& each = info.aConstraint[i];
    if (each.usable == 0 || each.iColumn < 0) continue;
    const auto column = static_cast<std::size_t>(each.iColumn);
    if (column >= source->columns.size() || !is_number(source->columns[column].type)) continue;
    switch (each.op) {
      case SQLITE_INDEX_CONSTRAINT_EQ: {
        // Take all values of an IN together, so that a single scan suffices.
        const bool in = sqlite3_vtab_in(&info, i, -1) != 0;
        if (in) sqlite3_vtab_in(&info, i, 1);
        plan += "c" + std::to_string(column) + (in ? "i" : "=");
        const bool id = source->columns[column].id != id_kind::none;
        single |= id && !in;
        const bool own = source->columns[column].name == "id";
        expected = std::min(expected, own && !in ? 1.0 : std::max(1.0, id ? total / 1000 : total / 10));
        break;
      }
      case SQLITE_INDEX_CONSTRAINT_GT:
      case SQLITE_INDEX_CONSTRAINT_GE:
      case SQLITE_INDEX_CONSTRAINT_LT:
      case SQLITE_INDEX_CONSTRAINT_LE: {
        const bool upper = each.op == SQLITE_INDEX_CONSTRAINT_LT || each.op == SQLITE_INDEX_CONSTRAINT_LE;
        plan += "c" + std::to_string(column) + (upper ? "<" : ">");
        if (column == time_column || column == end_column)
          expected = std::min(expected, rows_within(*this, info, i, each.op));
        else
          expected *= 0.75;
        break;
      }
      default:
        continue;
    }
    info.aConstraintUsage[i].argvIndex = ++arguments;
    info.aConstraintUsage[i].omit = 0;
  }
  info.estimatedRows = static_cast<sqlite3_int64>(std::max(expected, 1.0));
  info.estimatedCost = single ? expected + 20 : expected + total * 0.05 + 20;
  if (expected <= 1) info.idxFlags = 0;
  info.idxStr = sqlite3_mprintf("%s", plan.c_str());
  info.needToFreeIdxStr = 1;
  return info.idxStr == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

// --- conditions -----------------------------------------------------------------------------------------------------

enum class bound_kind : std::uint8_t { none, number, null };

/// Finds the number that an integer column is compared with. For a fraction, which no integer equals, `low` and `high`
/// differ.
bound_kind get_bound(sqlite3_value* value, std::int64_t& low, std::int64_t& high) {
  switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER:
      low = high = sqlite3_value_int64(value);
      return bound_kind::number;
    case SQLITE_FLOAT: {
      const double real = sqlite3_value_double(value);
      constexpr double exact = 9007199254740992.0;  // 2^53. Beyond it, not every integer is a double.
      if (!(std::abs(real) < exact)) return bound_kind::none;
      low = static_cast<std::int64_t>(std::floor(real));
      high = static_cast<std::int64_t>(std::ceil(real));
      return bound_kind::number;
    }
    case SQLITE_NULL:
      return bound_kind::null;
    default:
      return bound_kind::none;  // In SQLite, texts and blobs are greater than any number.
  }
}

/// Reads all values of an IN. Returns false if one of them is not a number. Then no row may be skipped.
bool list_values(sqlite3_value* list, std::vector<std::int64_t>& into) {
  sqlite3_value* each = nullptr;
  int code = sqlite3_vtab_in_first(list, &each);
  for (; code == SQLITE_OK && each != nullptr; code = sqlite3_vtab_in_next(list, &each)) {
    std::int64_t low = 0;
    std::int64_t high = 0;
    switch (get_bound(each, low, high)) {
      case bound_kind::none:
        return false;
      case bound_kind::null:
        continue;
      case bound_kind::number:
        if (low == high) into.push_back(low);
    }
  }
  std::sort(into.begin(), into.end());
  return code == SQLITE_DONE;
}

row_check& get_check(rows_cursor& cursor, std::size_t column) {
  for (row_check& each : cursor.checks)
    if (each.column == column) return each;
  cursor.checks.push_back({});
  cursor.checks.back().column = column;
  return cursor.checks.back();
}

void narrow(rows_cursor& cursor, std::size_t column, char op, sqlite3_value* value) {
  if (op == 'i') {
    std::vector<std::int64_t> values;
    if (!list_values(value, values)) return;
    row_check& check = get_check(cursor, column);
    if (check.among) return;  // SQLite itself checks a second IN on the column.
    check.among = true;
    check.values = std::move(values);
    if (check.values.empty()) {
      cursor.empty = true;
    } else {
      check.low = std::max(check.low, check.values.front());
      check.high = std::min(check.high, check.values.back());
    }
    return;
  }
  std::int64_t low = 0;
  std::int64_t high = 0;
  const bound_kind kind = get_bound(value, low, high);
  if (kind == bound_kind::null) cursor.empty = true;
  if (kind != bound_kind::number) return;
  row_check& check = get_check(cursor, column);
  if (op == '=' && low != high) cursor.empty = true;
  if (op == '=' || op == '>') check.low = std::max(check.low, low);
  if (op == '=' || op == '<') check.high = std::min(check.high, high);
  if (check.low > check.high) cursor.empty = true;
}

// --- reading --------------------------------------------------------------------------------------------------------

rows_table& get_table(rows_cursor& cursor) { return *static_cast<rows_table*>(cursor.pVtab); }

/// False if the chunk's header or an earlier scan shows that the chunk has no matching row.
bool may_hold(const rows_table& table, const rows_cursor& cursor, std::size_t chunk) {
  for (const row_check& each : cursor.checks) {
    if (table.source->events) {
      const trace::chunk_info& about = table.context->trace->chunks()[table.chunks[chunk]];
      const bool in_time = each.column == table.time_column || each.column == table.end_column;
      if (in_time && (about.max_time < each.low || about.min_time > each.high)) return false;
    }
    if (each.lookup != nullptr && chunk < each.lookup->zones.size()) {
      const column_lookup::zone& zone = each.lookup->zones[chunk];
      if (zone.seen && (zone.high < each.low || zone.low > each.high)) return false;
    }
  }
  return true;
}

result<row_span> load(const rows_table& table, std::size_t chunk) {
  if (table.context->stopped()) return tl::unexpected(table.context->stop_reason());
  return table.source->read(*table.context->trace, table.chunks[chunk]);
}

/// Notes the range of values in the loaded chunk, for columns with lookups of single values.
void note_zones(const rows_table& table, const rows_cursor& cursor) {
  for (const row_check& each : cursor.checks) {
    if (each.lookup == nullptr) continue;
    each.lookup->zones.resize(table.chunks.size());
    column_lookup::zone& zone = each.lookup->zones[cursor.chunk];
    if (zone.seen) continue;
    const column& subject = table.source->columns[each.column];
    for (std::size_t row = 0; row < cursor.rows.count; ++row) {
      const cell value = subject.read(cursor.rows[row], table.context->trace->tables());
      if (value.type != cell::kind::integer) continue;
      zone.low = std::min(zone.low, value.integer);
      zone.high = std::max(zone.high, value.integer);
    }
    zone.seen = true;
  }
}

bool takes(const rows_table& table, const rows_cursor& cursor, const void* row) {
  for (const row_check& each : cursor.checks) {
    const cell value = table.source->columns[each.column].read(row, table.context->trace->tables());
    if (value.type != cell::kind::integer || !each.takes(value.integer)) return false;
  }
  return true;
}

/// Advances to the next matching row, from `cursor.row` in the loaded chunk on.
int seek(rows_cursor& cursor) {
  rows_table& table = get_table(cursor);
  for (;;) {
    for (; cursor.row < cursor.rows.count; ++cursor.row)
      if (takes(table, cursor, cursor.rows[cursor.row])) return SQLITE_OK;
    do {
      ++cursor.chunk;
    } while (cursor.chunk < table.chunks.size() && !may_hold(table, cursor, cursor.chunk));
    if (cursor.chunk >= table.chunks.size()) {
      cursor.ended = true;
      cursor.rows = {};
      return SQLITE_OK;
    }
    auto rows = load(table, cursor.chunk);
    if (!rows) return note_failure(table, rows.error());
    cursor.rows = std::move(*rows);
    cursor.row = 0;
    note_zones(table, cursor);
  }
}

/// Advances to the row of the next index entry.
int seek_by_index(rows_cursor& cursor) {
  rows_table& table = get_table(cursor);
  for (; cursor.next_entry != cursor.last_entry; ++cursor.next_entry) {
    if (cursor.loaded != cursor.next_entry->chunk) {
      auto rows = load(table, cursor.next_entry->chunk);
      if (!rows) return note_failure(table, rows.error());
      cursor.rows = std::move(*rows);
      cursor.loaded = cursor.next_entry->chunk;
    }
    cursor.chunk = cursor.next_entry->chunk;
    cursor.row = cursor.next_entry->row;
    if (cursor.row < cursor.rows.count && takes(table, cursor, cursor.rows[cursor.row])) return SQLITE_OK;
  }
  cursor.ended = true;
  return SQLITE_OK;
}

/// Sorts by value, stably. Returns false if the query was stopped while it sorted, which takes seconds for millions of
/// entries.
bool sort_entries(std::vector<column_lookup::entry>& entries, const sql_context& context) {
  struct stopped {};
  constexpr std::size_t between_looks = std::size_t{1} << 16;
  std::size_t compared = 0;
  const auto less = [&](const auto& a, const auto& b) {
    if (++compared % between_looks == 0 && context.stopped()) throw stopped{};
    return a.value < b.value;
  };
  try {
    std::stable_sort(entries.begin(), entries.end(), less);
  } catch (const stopped&) {
    return false;
  }
  return true;
}

/// Builds an index on a column if memory allows. O(rows log rows).
result<void> build(rows_table& table, std::size_t column, column_lookup& lookup) {
  const std::size_t bytes = static_cast<std::size_t>(table.rows) * sizeof(column_lookup::entry);
  if (table.context->lookup_bytes + bytes > table.context->options.lookup_bytes) return {};
  std::vector<column_lookup::entry> entries;
  entries.reserve(static_cast<std::size_t>(table.rows));
  for (std::size_t chunk = 0; chunk < table.chunks.size(); ++chunk) {
    const auto rows = load(table, chunk);
    if (!rows) return tl::unexpected(rows.error());
    for (std::size_t row = 0; row < rows->count; ++row) {
      const cell value = table.source->columns[column].read((*rows)[row], table.context->trace->tables());
      if (value.type == cell::kind::integer)
        entries.push_back({value.integer, static_cast<std::uint32_t>(chunk), static_cast<std::uint32_t>(row)});
    }
  }
  if (!sort_entries(entries, *table.context)) return tl::unexpected(table.context->stop_reason());
  table.context->lookup_bytes += bytes;
  table.taken += bytes;
  lookup.entries = std::move(entries);
  lookup.indexed = true;
  return {};
}

/// Attaches the column's lookup state to each check for single values. Builds or uses an index on one of them.
int prepare_lookups(rows_cursor& cursor) {
  rows_table& table = get_table(cursor);
  for (row_check& each : cursor.checks) {
    if (each.low != each.high && !each.among) continue;
    column_lookup& lookup = table.lookups[each.column];
    each.lookup = &lookup;
    if (cursor.by_index || each.low != each.high) continue;
    if (!lookup.indexed && ++lookup.scans > scans_before_index && lookup.scans != 0) {
      if (auto built = build(table, each.column, lookup); !built) return note_failure(table, built.error());
    }
    if (!lookup.indexed) continue;
    const auto before = [](const column_lookup::entry& entry, std::int64_t value) { return entry.value < value; };
    const auto after = [](std::int64_t value, const column_lookup::entry& entry) { return value < entry.value; };
    const auto first = std::lower_bound(lookup.entries.begin(), lookup.entries.end(), each.low, before);
    const auto last = std::upper_bound(first, lookup.entries.end(), each.low, after);
    cursor.by_index = true;
    cursor.next_entry = lookup.entries.data() + (first - lookup.entries.begin());
    cursor.last_entry = lookup.entries.data() + (last - lookup.entries.begin());
  }
  return SQLITE_OK;
}

int rows_cursor::filter(const char* plan, int count, sqlite3_value** values) {
  sqlite3_vtab* const base = pVtab;
  row_span kept = std::move(rows);
  const std::size_t kept_chunk = loaded;
  *this = rows_cursor();
  pVtab = base;
  for (int i = 0; i < count && plan != nullptr && *plan == 'c'; ++i) {
    char* rest = nullptr;
    const auto column = static_cast<std::size_t>(std::strtoull(plan + 1, &rest, 10));
    narrow(*this, column, *rest, values[i]);
    plan = rest + 1;
  }
  if (empty) {
    ended = true;
    return SQLITE_OK;
  }
  if (const int code = prepare_lookups(*this); code != SQLITE_OK) return code;
  if (by_index) {
    // Keep the loaded chunk, because joins often look up neighboring rows.
    if (kept_chunk != std::numeric_limits<std::size_t>::max()) {
      rows = std::move(kept);
      loaded = kept_chunk;
    }
    return seek_by_index(*this);
  }
  chunk = std::numeric_limits<std::size_t>::max();  // `seek` starts with the next chunk, which is 0.
  return seek(*this);
}

int rows_cursor::next() {
  if (by_index) {
    ++next_entry;
    return seek_by_index(*this);
  }
  ++row;
  return seek(*this);
}

void rows_cursor::read_column(sqlite3_context* to, int column) const {
  const auto& table = *static_cast<const rows_table*>(pVtab);
  // Texts are from the snapshot's tables, which outlive every statement.
  give(to, table.source->columns[static_cast<std::size_t>(column)].read(rows[row], table.context->trace->tables()),
       false);
}

sqlite3_int64 rows_cursor::row_id() const {
  return static_cast<sqlite3_int64>((static_cast<std::uint64_t>(chunk) << 32) | row);
}

constexpr sqlite3_module rows_module = virtual_table<rows_table>::module();

}  // namespace

int add_row_tables(sqlite3* db, sql_context& context) {
  return add_virtual_tables(db, "trace_rows", rows_module, context, tables());
}

}  // namespace sluice::query
