// Describes the tables and views as text.
#include <fmt/format.h>

#include <array>

#include "core/query/sql/metric_tables.hpp"
#include "core/query/sql/sql_context.hpp"

namespace sluice::query {
namespace {

std::string type_words(column_type type, id_kind id, std::span<const std::string_view> words) {
  static constexpr std::array<std::string_view, 16> things = {
      "",       "event", "block",   "host",  "process", "thread", "device", "context",
      "stream", "pool",  "counter", "stack", "frame",   "module", "source", "graph"};
  switch (type) {
    case column_type::id: {
      const std::string_view thing = things[static_cast<std::size_t>(id)];
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
      for (const std::string_view each : words) text.append(text.empty() ? "" : ", ").append(each);
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
  for (const view_about& each : sql_views()) {
    sql_table_about about{std::string(each.name), std::string(each.about), sql_table_kind::view, {}};
    for (const view_about::part& one : each.columns)
      about.columns.push_back({std::string(one.name), std::string(one.about), {}});
    abouts.push_back(std::move(about));
  }
  for (const metric_table& each : metric_tables()) {
    sql_table_about table_about{std::string(each.name), std::string(each.about), sql_table_kind::metrics, {}};
    if (each.ranged) table_about.about += "; for a part of the recording: " + table_about.name + "(begin, end)";
    for (const metric_column& one : each.columns)
      table_about.columns.push_back({std::string(one.name), std::string(one.about), type_words(one.type, one.id, {})});
    abouts.push_back(std::move(table_about));
  }
  for (const table& each : tables()) {
    sql_table_about output{std::string(each.name), std::string(each.about), sql_table_kind::rows, {}};
    for (const column& one : each.columns)
      output.columns.push_back(
          {std::string(one.name), std::string(one.about), type_words(one.type, one.id, one.words)});
    abouts.push_back(std::move(output));
  }
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
