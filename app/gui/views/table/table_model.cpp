#include "app/gui/views/table/table_model.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/csv_text.hpp"
#include "core/base/format.hpp"

namespace sluice::gui {

std::string table_model::text_of_row(std::size_t row) const {
  std::string text;
  bool first = true;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].title.empty()) continue;
    if (!first) text += '\t';
    first = false;
    std::string shown = cell(row, i).shown();
    std::replace_if(
        shown.begin(), shown.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    text += shown;
  }
  return text;
}

std::string table_model::to_csv(const row_set* only) const {
  std::string text;
  const auto add_line = [&](auto&& value) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) text += ',';
      append_csv(text, value(i));
    }
    text += '\n';
  };
  add_line([&](std::size_t column) { return columns[column].csv; });
  const std::vector<row_set::run> all{{0, rows}};
  for (const row_set::run& each : only == nullptr ? all : only->runs())
    for (std::size_t row = each.begin; row < std::min(each.end, rows); ++row)
      add_line([&](std::size_t column) { return cell(row, column).plain(); });
  return text;
}

std::string table_model::describe(const row_set& of) const {
  std::string text = format_some(of.size(), "row") + " selected";
  const auto has_sizes = [](const table_column& each) { return each.type == cell_type::bytes; };
  const auto found = std::find_if(columns.begin(), columns.end(), has_sizes);
  if (of.empty() || found == columns.end()) return text;
  const auto column = static_cast<std::size_t>(found - columns.begin());
  const bool only = std::count_if(columns.begin(), columns.end(), has_sizes) == 1;
  double sum = 0;
  for (const row_set::run& each : of.runs())
    for (std::size_t row = each.begin; row < std::min(each.end, rows); ++row)
      sum += cell(row, column).number().value_or(0);
  return text + ", " + (only || found->title.empty() ? std::string() : found->title + " ") + format_bytes(sum);
}

std::vector<std::size_t> table_model::sorted(const table_sort& by) const {
  struct sort_key {
    bool has_value;
    std::optional<double> number;
    std::string text;
  };
  std::vector<sort_key> keys;
  keys.reserve(rows);
  const bool numbers = columns[by.column].type != cell_type::text;
  for (std::size_t row = 0; row < rows; ++row) {
    const table_cell value = columns[by.column].cell(row);
    keys.push_back({value.has_value(), numbers ? value.number() : std::nullopt, std::string()});
    if (!keys.back().number) keys.back().text = value.shown();
  }
  std::vector<std::size_t> result(rows);
  std::iota(result.begin(), result.end(), std::size_t{0});
  std::stable_sort(result.begin(), result.end(), [&](std::size_t a, std::size_t b) {
    const sort_key &x = keys[a], &y = keys[b];
    if (x.has_value != y.has_value) return x.has_value;
    if (x.number != y.number) return by.descending ? x.number > y.number : x.number < y.number;
    return by.descending ? y.text < x.text : x.text < y.text;
  });
  return result;
}

}  // namespace sluice::gui
