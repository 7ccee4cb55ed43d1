#include "core/query/sql/sql_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "core/base/csv_text.hpp"
#include "core/base/json/json_text.hpp"

namespace sluice::query {
namespace {

constexpr std::size_t rows_to_measure = 1000;
constexpr std::size_t widest = 120;  ///< The widest column, in characters.

}  // namespace

std::string to_text(const cell& value) {
  switch (value.type) {
    case cell::kind::null:
      return {};
    case cell::kind::integer:
      return std::to_string(value.integer);
    case cell::kind::real:
      return fmt::format("{}", value.real);
    case cell::kind::text:
      return std::string(value.text);
  }
  return {};
}

sql_writer::sql_writer(sql_format as, std::span<const sql_column> columns)
    : as_(as), table_(std::string(columns.size(), 'r'), widest) {
  std::unordered_map<std::string, unsigned> seen;
  for (const sql_column& each : columns) {
    const unsigned times = ++seen[each.name];
    names_.push_back(as == sql_format::json && times > 1 ? each.name + ":" + std::to_string(times) : each.name);
  }
}

void sql_writer::write_json(const sql_statement& statement, std::string& to) {
  to += rows_ == 0 ? "[\n{" : ",\n{";
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0) to += ", ";
    append_json_string(to, names_[i]);
    to += ": ";
    const cell value = statement.at(i);
    if (value.type == cell::kind::text) {
      append_json_string(to, value.text);
    } else if (value.type == cell::kind::null || (value.type == cell::kind::real && !std::isfinite(value.real))) {
      to += "null";
    } else {
      to += to_text(value);
    }
  }
  to += '}';
}

void sql_writer::write_names(std::string& to) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0) to += ',';
    append_csv(to, names_[i]);
  }
  to += '\n';
}

void sql_writer::write_csv(const sql_statement& statement, std::string& to) {
  if (rows_ == 0) write_names(to);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (i > 0) to += ',';
    append_csv(to, to_text(statement.at(i)));
  }
  to += '\n';
}

void sql_writer::write_table(const sql_statement& statement, std::string& to) {
  if (rows_ == 0) table_.row(names_);
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const cell value = statement.at(i);
    if (value.type == cell::kind::text && rows_ < rows_to_measure) table_.align(i, text_table::side::left);
    cells.push_back(to_text(value));
  }
  table_.row(std::move(cells));
  if (rows_ + 1 >= rows_to_measure) to += table_.take();
}

void sql_writer::row(const sql_statement& statement, std::string& to) {
  if (as_ == sql_format::json) write_json(statement, to);
  if (as_ == sql_format::csv) write_csv(statement, to);
  if (as_ == sql_format::table) write_table(statement, to);
  ++rows_;
}

void sql_writer::end(std::string& to) {
  if (as_ == sql_format::json) to += rows_ == 0 ? "[]\n" : "\n]\n";
  if (as_ == sql_format::csv && rows_ == 0) write_names(to);
  if (as_ == sql_format::table && rows_ == 0) {
    for (std::size_t i = 0; i < names_.size(); ++i) table_.align(i, text_table::side::left);
    table_.row(names_);
  }
  to += table_.take();
}

}  // namespace sluice::query
