#include "core/export/parquet/data_set.hpp"

#include <array>

namespace sluice::exports {
namespace {

using query::column_type;
using query::view_column;
using query::view_value;

constexpr std::array<std::string_view, 9> tables = {"events", "blocks",   "transfers",  "kernels", "host_samples",
                                                    "step",   "idle_use", "idle_cause", "finding"};

/// True for the texts of whole stacks. Files have none, since the texts of all stacks would not fit into memory.
bool is_whole_stack(const view_column& shown) {
  return (shown.value == view_value::stack || shown.value == view_value::call_stack) && shown.to == "text";
}

parquet_type find_type(const query::column& described) {
  switch (described.type) {
    case column_type::time:
      return parquet_type::rising;
    case column_type::id:
      return described.id == query::id_kind::event || described.id == query::id_kind::block ? parquet_type::rising
                                                                                            : parquet_type::integer;
    case column_type::integer:
    case column_type::size:
      return parquet_type::integer;
    case column_type::real:
      return parquet_type::real;
    case column_type::flag:
      return parquet_type::flag;
    case column_type::text:
    case column_type::word:
      return parquet_type::text;
  }
  return parquet_type::text;
}

data_table make_table(std::string_view name) {
  data_table output{name, {}, {}};
  const query::view_about* view = query::find_view(name);
  const auto sources = view == nullptr ? std::vector{name} : query::find_tables(*view);
  if (view == nullptr)
    for (const query::column& each : query::find_columns(name)) output.shown.push_back({each.name});
  else
    for (const view_column& each : view->columns)
      if (!is_whole_stack(each)) output.shown.push_back(each);
  for (const view_column& each : output.shown)
    output.columns.push_back({each.name, find_type(query::describe_column(each, sources))});
  return output;
}

}  // namespace

std::vector<data_table> data_tables() {
  std::vector<data_table> output;
  for (const std::string_view name : exports::tables) output.push_back(make_table(name));
  return output;
}

}  // namespace sluice::exports
