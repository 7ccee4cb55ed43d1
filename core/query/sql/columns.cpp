#include "core/query/sql/columns.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/time/time_range.hpp"
#include "core/index/work/device_work.hpp"
#include "core/query/sql/columns_about.hpp"
#include "core/query/sql/member_names.hpp"
#include "core/trace/model/words.hpp"

namespace sluice::query {
namespace {

using namespace trace;
using std::string_view;

/// Members whose names would need quotes in SQL.
constexpr std::array<std::pair<string_view, string_view>, 3> renamed = {
    {{"index", "position"}, {"from", "from_event"}, {"to", "to_event"}}};

/// Signed members that are times in ns on the trace's clock, and members in which -1 means unknown.
constexpr std::array<string_view, 9> times = {"time",      "end",      "begin", "call_begin",    "device_time",
                                              "completed", "enqueued", "born",  "complete_until"};
constexpr std::array<string_view, 4> minus_one_is_none = {"rank", "exit_status", "ordinal", "step"};

template <std::size_t Count>
constexpr bool is_among(const std::array<string_view, Count>& names, string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr string_view column_name(string_view member) {
  for (const auto& [from, to] : renamed)
    if (from == member) return to;
  return member;
}

template <class Value>
constexpr column_type type_of(string_view name) {
  if constexpr (std::is_same_v<Value, bool>)
    return column_type::flag;
  else if constexpr (std::is_same_v<Value, string_id> || std::is_same_v<Value, std::string>)
    return column_type::text;
  else if constexpr (std::is_enum_v<Value>)
    return enum_values<Value> > 0 ? column_type::word : column_type::id;
  else if constexpr (std::is_floating_point_v<Value>)
    return column_type::real;
  else if constexpr (std::is_unsigned_v<Value>)
    return column_type::size;
  else
    return is_among(times, name) ? column_type::time : column_type::integer;
}

cell integer_cell(std::int64_t value) { return {cell::kind::integer, value, 0, {}}; }
cell text_cell(string_view text) { return text.empty() ? cell{} : cell{cell::kind::text, 0, 0, text}; }

template <class Row, std::size_t Index>
cell read_cell(const void* from, const trace::tables& tables) {
  constexpr string_view name = member_name<Row, Index>();
  const auto& value = static_cast<const Row*>(from)->*member_at<Row, Index>;
  using type = std::remove_cvref_t<decltype(value)>;
  constexpr column_type kind = type_of<type>(name);
  if constexpr (std::is_same_v<type, string_id>) {
    return text_cell(tables.text(value));
  } else if constexpr (std::is_same_v<type, std::string>) {
    return text_cell(value);
  } else if constexpr (kind == column_type::word) {
    return text_cell(word_of(value));
  } else if constexpr (kind == column_type::real) {
    return {cell::kind::real, 0, value, {}};
  } else if constexpr (kind == column_type::id) {
    return raw(value) == 0 ? cell{} : integer_cell(static_cast<std::int64_t>(raw(value)));
  } else {
    if (kind == column_type::time && static_cast<std::int64_t>(value) == unknown_time) return {};
    if (kind == column_type::integer && is_among(minus_one_is_none, name) && static_cast<std::int64_t>(value) == -1)
      return {};
    return integer_cell(static_cast<std::int64_t>(value));
  }
}

template <class Row>
row_span span_of(std::shared_ptr<const void> held, const std::vector<Row>& rows) {
  return {std::move(held), reinterpret_cast<const std::byte*>(rows.data()), rows.size(), sizeof(Row)};
}

template <class Row>
const std::vector<Row>& rows_of(const trace::tables& all) {
  if constexpr (std::is_same_v<Row, host_row>) return all.hosts.rows();
  if constexpr (std::is_same_v<Row, process_row>) return all.processes.rows();
  if constexpr (std::is_same_v<Row, thread_row>) return all.threads.rows();
  if constexpr (std::is_same_v<Row, device_row>) return all.devices.rows();
  if constexpr (std::is_same_v<Row, context_row>) return all.contexts.rows();
  if constexpr (std::is_same_v<Row, stream_row>) return all.streams.rows();
  if constexpr (std::is_same_v<Row, pool_row>) return all.pools.rows();
  if constexpr (std::is_same_v<Row, counter_row>) return all.counters.rows();
  if constexpr (std::is_same_v<Row, stack_row>) return all.stacks.rows();
  if constexpr (std::is_same_v<Row, frame_row>) return all.frames.rows();
  if constexpr (std::is_same_v<Row, module_row>) return all.modules.rows();
  if constexpr (std::is_same_v<Row, source_row>) return all.sources.rows();
}

template <class Row>
result<row_span> read_rows(const snapshot& from, std::size_t chunk) {
  if constexpr (is_event_row<Row>) {
    auto rows = from.read<Row>(chunk);
    if (!rows) return tl::unexpected(rows.error());
    return span_of(*rows, **rows);
  } else {
    return span_of({}, rows_of<Row>(from.tables()));
  }
}

template <class Row>
result<row_span> read_rows_once(const snapshot& from, std::size_t chunk) {
  if constexpr (is_event_row<Row>) {
    auto rows = std::make_shared<std::vector<Row>>();
    if (auto read = from.read_into<Row>(chunk, *rows); !read) return tl::unexpected(read.error());
    return span_of(rows, *rows);
  } else {
    return read_rows<Row>(from, chunk);
  }
}

template <class Row, std::size_t Index>
column column_of(string_view table) {
  constexpr string_view member = member_name<Row, Index>();
  using type = std::remove_cvref_t<decltype(std::declval<Row>().*member_at<Row, Index>)>;
  column made;
  made.name = column_name(member);
  const column_words words = words_about(table, made.name);
  made.about = words.about;
  made.role = words.role;
  made.type = type_of<type>(member);
  made.id = kind_of_id<type>;
  if constexpr (enum_values < type >> 0) made.words = words_of<type>;
  made.read = &read_cell<Row, Index>;
  return made;
}

/// end - time; null if the end is unknown.
template <class Row>
cell read_duration(const void* from, const trace::tables& /*all*/) {
  const Row& row = *static_cast<const Row*>(from);
  if (row.end == unknown_time) return {};
  return integer_cell(bounded(row.end) - bounded(row.time));
}

/// Uses the common definition of bandwidth. Null if the transfer took no time or has not ended.
template <class Row>
cell read_bandwidth(const void* from, const trace::tables& /*all*/) {
  const Row& row = *static_cast<const Row*>(from);
  const time_ns begin = bounded(row.time);
  const time_ns end = bounded(row.end);
  if (row.end == unknown_time || end <= begin) return {};
  return {cell::kind::real, 0, index::bandwidth_of(row.bytes, begin, end), {}};
}

/// Adds derived columns that are useful in most queries.
template <class Row>
void add_derived(string_view table, std::vector<column>& to) {
  const auto add = [&](string_view name, column_type type, auto read) {
    column made;
    made.name = name;
    made.about = words_about(table, name).about;
    made.type = type;
    made.read = read;
    to.push_back(made);
  };
  if constexpr (is_event_row<Row> && requires(Row row) { row.end; })
    add("duration", column_type::integer, &read_duration<Row>);
  if constexpr (std::is_same_v<Row, transfer_event> || std::is_same_v<Row, migration_event>)
    add("bandwidth", column_type::real, &read_bandwidth<Row>);
}

template <class Row, std::size_t... Index>
table table_of(string_view name, std::index_sequence<Index...> /*all*/) {
  static const std::vector<column> columns = [&] {
    std::vector<column> all{column_of<Row, Index>(name)...};
    add_derived<Row>(name, all);
    return all;
  }();
  table made;
  made.name = name;
  made.about = words_about(name, {}).about;
  made.type = type_of_row<Row>;
  made.events = is_event_row<Row>;
  made.columns = columns;
  made.read = &read_rows<Row>;
  made.read_once = &read_rows_once<Row>;
  return made;
}

std::vector<table> make_tables() {
  std::vector<table> all;
#define SLUICE_TABLE_OF(row, kind)                \
  if constexpr (!std::is_same_v<row, string_row>) \
    all.push_back(table_of<row>(#kind, std::make_index_sequence<field_count<row>>{}));
  SLUICE_FOR_EACH_ROW(SLUICE_TABLE_OF)
#undef SLUICE_TABLE_OF
  std::sort(all.begin(), all.end(), [](const table& a, const table& b) { return a.type < b.type; });
  return all;
}

}  // namespace

std::size_t table::find(std::string_view column) const {
  const auto place =
      std::find_if(columns.begin(), columns.end(), [&](const auto& each) { return each.name == column; });
  return static_cast<std::size_t>(place - columns.begin());
}

std::span<const table> tables() {
  static const std::vector<table> all = make_tables();
  return all;
}

const table* find_table(std::string_view name) {
  for (const table& each : tables())
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace sluice::query
