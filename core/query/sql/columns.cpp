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
#include "core/trace/model/system_calls.hpp"
#include "core/trace/model/words.hpp"

namespace sluice::query {
namespace {

using namespace trace;
using std::string_view;

/// Members whose names would need quotes in SQL, with the names that replace them.
constexpr std::array<std::pair<string_view, string_view>, 3> renamed = {
    {{"index", "position"}, {"from", "from_event"}, {"to", "to_event"}}};

/// Signed members that are times in ns on the trace's clock, and members in which -1 means unknown.
constexpr std::array<string_view, 9> times = {"time",      "end",      "begin", "call_begin",    "device_time",
                                              "completed", "enqueued", "born",  "complete_until"};
constexpr std::array<string_view, 6> minus_one_is_none = {"rank", "exit_status", "ordinal",
                                                          "step", "system_call", "python_distance"};

template <std::size_t Count>
constexpr bool is_among(const std::array<string_view, Count>& names, string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr string_view column_name(string_view member) {
  for (const auto& [source, to] : renamed)
    if (source == member) return to;
  return member;
}

template <class Value>
constexpr column_type get_type(string_view name) {
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
cell read_cell(const void* source, const trace::tables& tables) {
  constexpr string_view name = member_name<Row, Index>();
  const auto& value = static_cast<const Row*>(source)->*member_at<Row, Index>;
  using type = std::remove_cvref_t<decltype(value)>;
  constexpr column_type kind = get_type<type>(name);
  if constexpr (std::is_same_v<type, string_id>) {
    return text_cell(tables.text(value));
  } else if constexpr (std::is_same_v<type, std::string>) {
    return text_cell(value);
  } else if constexpr (kind == column_type::word) {
    return text_cell(get_word(value));
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
row_span make_span(std::shared_ptr<const void> held, const std::vector<Row>& rows) {
  return {std::move(held), reinterpret_cast<const std::byte*>(rows.data()), rows.size(), sizeof(Row)};
}

template <class Row>
const std::vector<Row>& get_rows(const trace::tables& all_tables) {
  if constexpr (std::is_same_v<Row, host_row>) return all_tables.hosts.rows();
  if constexpr (std::is_same_v<Row, process_row>) return all_tables.processes.rows();
  if constexpr (std::is_same_v<Row, thread_row>) return all_tables.threads.rows();
  if constexpr (std::is_same_v<Row, device_row>) return all_tables.devices.rows();
  if constexpr (std::is_same_v<Row, context_row>) return all_tables.contexts.rows();
  if constexpr (std::is_same_v<Row, stream_row>) return all_tables.streams.rows();
  if constexpr (std::is_same_v<Row, pool_row>) return all_tables.pools.rows();
  if constexpr (std::is_same_v<Row, counter_row>) return all_tables.counters.rows();
  if constexpr (std::is_same_v<Row, stack_row>) return all_tables.stacks.rows();
  if constexpr (std::is_same_v<Row, frame_row>) return all_tables.frames.rows();
  if constexpr (std::is_same_v<Row, module_row>) return all_tables.modules.rows();
  if constexpr (std::is_same_v<Row, source_row>) return all_tables.sources.rows();
}

template <class Row>
result<row_span> read_rows(const snapshot& recording, std::size_t chunk) {
  if constexpr (is_event_row<Row>) {
    auto rows = recording.read<Row>(chunk);
    if (!rows) return tl::unexpected(rows.error());
    return make_span(*rows, **rows);
  } else {
    return make_span({}, get_rows<Row>(recording.tables()));
  }
}

template <class Row>
result<row_span> read_rows_once(const snapshot& recording, std::size_t chunk) {
  if constexpr (is_event_row<Row>) {
    auto rows = std::make_shared<std::vector<Row>>();
    if (auto read = recording.read_into<Row>(chunk, *rows); !read) return tl::unexpected(read.error());
    return make_span(rows, *rows);
  } else {
    return read_rows<Row>(recording, chunk);
  }
}

template <class Row, std::size_t Index>
column find_column(string_view table) {
  constexpr string_view member = member_name<Row, Index>();
  using type = std::remove_cvref_t<decltype(std::declval<Row>().*member_at<Row, Index>)>;
  column output;
  output.name = column_name(member);
  const column_words words = words_about(table, output.name);
  output.about = words.about;
  output.role = words.role;
  output.type = get_type<type>(member);
  output.id = kind_of_id<type>;
  if constexpr (enum_values < type >> 0) output.words = get_words<type>;
  output.read = &read_cell<Row, Index>;
  return output;
}

/// end - time; null if the end is unknown.
template <class Row>
cell read_duration(const void* source, const trace::tables& /*all*/) {
  const Row& row = *static_cast<const Row*>(source);
  if (row.end == unknown_time) return {};
  return integer_cell(bounded(row.end) - bounded(row.time));
}

/// time + length.
cell read_end_of_sample(const void* source, const trace::tables& /*all*/) {
  const auto& row = *static_cast<const host_sample_event*>(source);
  return integer_cell(bounded(trace::detail::get_end(row)));
}

cell read_system_call_name(const void* source, const trace::tables& /*all*/) {
  return text_cell(name_of_system_call(static_cast<const host_sample_event*>(source)->system_call));
}

/// The bandwidth, by the common definition. Null if the transfer took no time or has not ended.
template <class Row>
cell read_bandwidth(const void* source, const trace::tables& /*all*/) {
  const Row& row = *static_cast<const Row*>(source);
  const time_ns begin = bounded(row.time);
  const time_ns end = bounded(row.end);
  if (row.end == unknown_time || end <= begin) return {};
  return {cell::kind::real, 0, index::compute_bandwidth(row.bytes, begin, end), {}};
}

/// Adds derived columns that are useful in most queries.
template <class Row>
void add_derived(string_view table, std::vector<column>& to) {
  const auto add = [&](string_view name, column_type type, auto read) {
    column output;
    output.name = name;
    output.about = words_about(table, name).about;
    output.type = type;
    output.read = read;
    to.push_back(output);
  };
  if constexpr (is_event_row<Row> && requires(Row row) { row.end; })
    add("duration", column_type::integer, &read_duration<Row>);
  if constexpr (std::is_same_v<Row, transfer_event> || std::is_same_v<Row, migration_event>)
    add("bandwidth", column_type::real, &read_bandwidth<Row>);
  if constexpr (std::is_same_v<Row, host_sample_event>) {
    add("end", column_type::time, &read_end_of_sample);
    add("system_call_name", column_type::text, &read_system_call_name);
  }
}

template <class Row, std::size_t... Index>
table get_table(string_view name, std::index_sequence<Index...> /*all*/) {
  static const std::vector<column> columns = [&] {
    std::vector<column> items{find_column<Row, Index>(name)...};
    add_derived<Row>(name, items);
    return items;
  }();
  table output;
  output.name = name;
  output.about = words_about(name, {}).about;
  output.type = type_of_row<Row>;
  output.events = is_event_row<Row>;
  output.columns = columns;
  output.read = &read_rows<Row>;
  output.read_once = &read_rows_once<Row>;
  return output;
}

std::vector<table> make_tables() {
  std::vector<table> tables;
#define SLUICE_TABLE_OF(row, kind)                \
  if constexpr (!std::is_same_v<row, string_row>) \
    tables.push_back(get_table<row>(#kind, std::make_index_sequence<field_count<row>>{}));
  SLUICE_FOR_EACH_ROW(SLUICE_TABLE_OF)
#undef SLUICE_TABLE_OF
  std::sort(tables.begin(), tables.end(), [](const table& a, const table& b) { return a.type < b.type; });
  return tables;
}

}  // namespace

std::size_t find_place(std::span<const column> columns, std::string_view name) {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const auto& each) { return each.name == name; });
  return static_cast<std::size_t>(found - columns.begin());
}

std::span<const table> tables() {
  static const std::vector<table> items = make_tables();
  return items;
}

const table* find_table(std::string_view name) {
  for (const table& each : tables())
    if (each.name == name) return &each;
  return nullptr;
}

}  // namespace sluice::query
