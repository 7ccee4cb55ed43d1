#include "core/base/outputs/text_table.hpp"

#include <algorithm>

namespace sluice {
namespace {

/// Counts characters instead of bytes, that is, all bytes except UTF-8 continuation bytes.
std::size_t get_columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0U) != 0x80; }));
}

}  // namespace

text_table::text_table(std::string_view sides, std::size_t widest) : widest_(widest) {
  for (const char c : sides) sides_.push_back(c == 'r' ? side::right : side::left);
}

void text_table::row(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> text_table::measure() const {
  std::vector<std::size_t> widths(sides_.size(), 0);
  for (const auto& row : rows_) {
    const std::size_t limit = &row == &rows_.front() ? std::numeric_limits<std::size_t>::max() : widest_;
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], std::min(limit, get_columns(row[i])));
  }
  return widths;
}

std::string text_table::format(const std::vector<std::size_t>& widths, std::size_t indent) const {
  std::string content;
  for (const auto& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i) {
      if (i > 0) line += "  ";
      const std::string padding(widths[i] - std::min(widths[i], get_columns(row[i])), ' ');
      line += sides_[i] == side::right ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    content += line + "\n";
  }
  return content;
}

std::string text_table::text(std::size_t indent) const { return format(measure(), indent); }

std::string text_table::take() {
  if (taken_widths_.empty()) taken_widths_ = measure();
  std::string content = format(taken_widths_, 0);
  rows_.clear();
  return content;
}

}  // namespace sluice
