#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/time/time_range.hpp"

namespace sluice::gui {

/// What a column contains. It decides how a value is formatted, aligned, sorted and written to CSV, which contains
/// bytes, ns, bytes per second, and shares in 0..1.
enum class cell_type : std::uint8_t { text, bytes, count, duration, moment, rate, share, address };

/// How a cell is emphasized; the theme has a colour for each.
enum class tone : std::uint8_t { plain, muted, link, warning, failure, shrunk };

/// A coloured square before a cell's text, as in a legend.
struct cell_swatch {
  std::uint32_t colour = 0;  ///< ImGui's format.
  bool outlined = false;     ///< A pale square with an outline, for untracked or unknown values.
};

/// A value in a table, in two formats: as the panel shows it, and as CSV contains it. Numbers are stored as numbers and
/// formatted on demand.
class table_cell {
 public:
  [[nodiscard]] static table_cell text(std::string_view words) { return {cell_type::text, words}; }
  [[nodiscard]] static table_cell bytes(std::uint64_t amount) { return {cell_type::bytes, amount}; }
  [[nodiscard]] static table_cell bytes(double amount) { return bytes(static_cast<std::uint64_t>(amount)); }
  [[nodiscard]] static table_cell count(std::uint64_t amount) { return {cell_type::count, amount}; }
  [[nodiscard]] static table_cell duration(time_ns ns) { return from_number(cell_type::duration, ns); }
  [[nodiscard]] static table_cell moment(time_ns ns) { return from_number(cell_type::moment, ns); }
  [[nodiscard]] static table_cell rate(double bytes_per_second) { return {cell_type::rate, bytes_per_second}; }
  [[nodiscard]] static table_cell share(double part) { return {cell_type::share, part}; }
  /// The cell has no value; it is empty in CSV.
  [[nodiscard]] static table_cell none(std::string_view words = "-");
  /// The panel shows `shown`. CSV contains `plain`, a number or another text.
  [[nodiscard]] static table_cell words(std::string_view shown, std::string_view plain);
  /// The cell of a column for a value: a number, a text, an optional of them, or a cell.
  template <class Value>
  [[nodiscard]] static table_cell make(cell_type type, Value&& value);

  /// The same cell in another tone; with a square before its text; with a tooltip.
  [[nodiscard]] table_cell in(tone wanted) &&;
  [[nodiscard]] table_cell marked(std::uint32_t colour, bool outlined = false) &&;
  [[nodiscard]] table_cell explained(std::string about) &&;

  [[nodiscard]] std::string shown() const;
  [[nodiscard]] std::string plain() const;
  /// The value as a number, to sort by; none for texts and cells without a value.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] bool has_value() const { return has_value_; }
  [[nodiscard]] tone get_tone() const { return tone_; }
  [[nodiscard]] const std::optional<cell_swatch>& swatch() const { return swatch_; }
  [[nodiscard]] const std::string& about() const { return about_; }

 private:
  table_cell(cell_type type, std::string_view words) : type_(type), text_(words) {}
  table_cell(cell_type type, std::uint64_t whole) : type_(type), whole_(whole) {}
  table_cell(cell_type type, double real) : type_(type), real_(real) {}
  template <class Number>
  static table_cell from_number(cell_type type, Number number) {
    if (type == cell_type::rate || type == cell_type::share) return {type, static_cast<double>(number)};
    if constexpr (std::is_integral_v<Number>) return {type, static_cast<std::uint64_t>(number)};
    return {type, static_cast<std::uint64_t>(static_cast<time_ns>(number))};
  }
  /// The cell shows a number in the format of its type.
  [[nodiscard]] bool is_formatted() const { return has_value_ && !plain_ && type_ != cell_type::text; }

  cell_type type_;
  tone tone_ = tone::plain;
  bool has_value_ = true;
  std::string text_{};
  std::optional<std::string> plain_{};  ///< Set by `words`.
  std::string about_{};
  std::optional<cell_swatch> swatch_{};
  std::uint64_t whole_ = 0;  ///< Negative times wrap around.
  double real_ = 0;
};

template <class Value>
table_cell table_cell::make(cell_type type, Value&& value) {
  using plain_type = std::remove_cvref_t<Value>;
  if constexpr (std::is_same_v<plain_type, table_cell>) {
    return std::forward<Value>(value);
  } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
    return text(value);
  } else if constexpr (std::is_arithmetic_v<plain_type>) {
    return from_number(type, value);
  } else {
    return value ? make(type, *value) : none();
  }
}

}  // namespace sluice::gui
