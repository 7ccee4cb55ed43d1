#include "core/query/sql/sql_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/base/csv_text.hpp"
#include "core/base/printable.hpp"
#include "core/base/utf8.hpp"

namespace sluice::query {
namespace {

constexpr std::size_t rows_to_measure = 1000;
constexpr std::size_t widest = 120;  ///< The widest column, in characters. Longer texts exceed it.

/// Counts the characters of a text: all bytes except the continuation bytes of UTF-8.
std::size_t measure_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0U) != 0x80; }));
}

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

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char c = text.front();
    if (length == 0) {
      to += "\ufffd";
    } else if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(to), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      to += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  to += '"';
}

sql_writer::sql_writer(sql_format as, std::span<const sql_column> columns) : as_(as) {
  std::unordered_map<std::string, unsigned> seen;
  for (const sql_column& each : columns) {
    const unsigned times = ++seen[each.name];
    names_.push_back(as == sql_format::json && times > 1 ? each.name + ":" + std::to_string(times) : each.name);
  }
  numbers_.assign(names_.size(), true);
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

void sql_writer::write_line(const std::vector<std::string>& cells, std::string& to) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += "  ";
    const std::string padding(widths_[i] - std::min(widths_[i], measure_width(cells[i])), ' ');
    line += numbers_[i] ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  to += line + "\n";
}

void sql_writer::write_lines(std::string& to) {
  if (!measured_) {
    measured_ = true;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      widths_.push_back(measure_width(names_[i]));
      for (const auto& cells : waiting_) widths_[i] = std::max(widths_[i], std::min(widest, measure_width(cells[i])));
      if (waiting_.empty()) numbers_[i] = false;
    }
    write_line(names_, to);
  }
  for (const auto& cells : waiting_) write_line(cells, to);
  waiting_.clear();
}

void sql_writer::row(const sql_statement& statement, std::string& to) {
  if (as_ == sql_format::json) {
    write_json(statement, to);
    ++rows_;
    return;
  }
  if (as_ == sql_format::csv) {
    if (rows_ == 0) end(to);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (i > 0) to += ',';
      append_csv(to, to_text(statement.at(i)));
    }
    to += '\n';
    ++rows_;
    return;
  }
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const cell value = statement.at(i);
    if (value.type == cell::kind::text && !measured_) numbers_[i] = false;
    cells.push_back(printable(to_text(value)));
  }
  waiting_.push_back(std::move(cells));
  ++rows_;
  if (measured_ || waiting_.size() >= rows_to_measure) write_lines(to);
}

void sql_writer::end(std::string& to) {
  if (as_ == sql_format::json) {
    to += rows_ == 0 ? "[]\n" : "\n]\n";
  } else if (as_ == sql_format::table) {
    write_lines(to);
  } else if (rows_ == 0) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (i > 0) to += ',';
      append_csv(to, names_[i]);
    }
    to += '\n';
  }
}

}  // namespace sluice::query
