// Describes the tables and views as text.
#include <fmt/format.h>

#include <array>

#include "core/query/sql/metric_tables.hpp"
#include "core/query/sql/sql_views.hpp"

namespace sluice::query {
namespace {

std::string type_words(const column& subject) {
  static constexpr std::array<std::string_view, 16> things = {
      "",       "event", "block",   "host",  "process", "thread", "device", "context",
      "stream", "pool",  "counter", "stack", "frame",   "module", "source", "graph"};
  switch (subject.type) {
    case column_type::id: {
      const std::string_view thing = things[static_cast<std::size_t>(subject.id)];
      return "id of " + std::string(thing == "event" ? "an " : "a ") + std::string(thing);
    }
    case column_type::time:
      return "time, ns";
    case column_type::flag:
      return "0 or 1";
    case column_type::real:
      return "real";
    case column_type::text:
      return "text";
    case column_type::word: {
      std::string text;
      for (const std::string_view each : subject.words) text.append(text.empty() ? "" : ", ").append(each);
      return text;
    }
    case column_type::integer:
    case column_type::size:
      return "integer";
  }
  return {};
}

}  // namespace

std::vector<sql_table_about> sql_schema() {
  std::vector<sql_table_about> abouts;
  const auto add = [&](std::string_view name, std::string about, sql_table_kind kind, const auto& columns) {
    sql_table_about output{std::string(name), std::move(about), kind, {}};
    for (const column& each : columns)
      output.columns.push_back({std::string(each.name), std::string(each.about), type_words(each)});
    abouts.push_back(std::move(output));
  };
  for (const view_about& each : sql_views()) {
    const auto tables = find_tables(each);
    std::vector<column> columns;
    for (const view_column& one : each.columns) columns.push_back(describe_column(one, tables));
    add(each.name, std::string(each.about), sql_table_kind::view, columns);
  }
  for (const metric_table& each : metric_tables()) {
    std::string about(each.about);
    if (each.ranged) about += fmt::format("; for a part of the recording: {}(begin, end)", each.name);
    add(each.name, std::move(about), sql_table_kind::metrics, each.columns);
  }
  for (const table& each : tables()) add(each.name, std::string(each.about), sql_table_kind::rows, each.columns);
  return abouts;
}

std::string sql_schema_text() {
  static constexpr std::array<std::string_view, 3> kinds = {"Rows, as recorded", "Views", "Metrics"};
  std::string text;
  const sql_table_about* before = nullptr;
  const auto schema = sql_schema();
  for (const sql_table_about& table : schema) {
    if (before == nullptr || before->kind != table.kind)
      text += fmt::format("## {}\n\n", kinds[static_cast<std::size_t>(table.kind)]);
    text += fmt::format("### {}\n\n{}.\n\n| column | description | type |\n|---|---|---|\n", table.name, table.about);
    for (const sql_column_about& column : table.columns)
      text += fmt::format("| `{}` | {} | {} |\n", column.name, column.about, column.type);
    text += '\n';
    before = &table;
  }
  return text;
}

}  // namespace sluice::query
