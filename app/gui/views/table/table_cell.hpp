#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/time/time_range.hpp"

namespace sluice::gui {

/// What a column contains. It decides how a value is formatted, aligned, sorted and written to CSV.
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
  [[nodiscard]] static table_cell text(std::string_view words) { return {kind::text, words}; }
  /// CSV contains bytes.
  [[nodiscard]] static table_cell bytes(std::uint64_t amount) { return {kind::bytes, amount}; }
  [[nodiscard]] static table_cell bytes(double amount) { return bytes(static_cast<std::uint64_t>(amount)); }
  [[nodiscard]] static table_cell count(std::uint64_t amount) { return {kind::count, amount}; }
  /// CSV contains ns.
  [[nodiscard]] static table_cell duration(time_ns ns) { return {kind::duration, static_cast<std::uint64_t>(ns)}; }
  [[nodiscard]] static table_cell moment(time_ns ns) { return {kind::moment, static_cast<std::uint64_t>(ns)}; }
  /// CSV contains bytes per second.
  [[nodiscard]] static table_cell rate(double bytes_per_second) { return {kind::rate, bytes_per_second}; }
  /// The panel shows percent. CSV contains 0..1.
  [[nodiscard]] static table_cell share(double part) { return {kind::share, part}; }
  [[nodiscard]] static table_cell address(std::uint64_t at) { return {kind::address, at}; }
  /// The cell has no value; it is empty in CSV.
  [[nodiscard]] static table_cell none(std::string_view words = "-") { return {kind::none, words}; }
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
  [[nodiscard]] bool has_value() const { return kind_ != kind::none; }
  [[nodiscard]] tone get_tone() const { return tone_; }
  [[nodiscard]] const std::optional<cell_swatch>& swatch() const { return swatch_; }
  [[nodiscard]] const std::string& about() const { return about_; }

 private:
  enum class kind : std::uint8_t { text, bytes, count, duration, moment, rate, share, address, none, words };
  table_cell(kind of, std::string_view words) : kind_(of), text_(words) {
    if (of == kind::none) tone_ = tone::muted;
  }
  table_cell(kind of, std::uint64_t whole) : kind_(of), whole_(whole) {}
  table_cell(kind of, double real) : kind_(of), real_(real) {}
  static table_cell from_number(cell_type type, std::uint64_t whole);
  static table_cell from_number(cell_type type, double real);

  kind kind_;
  tone tone_ = tone::plain;
  std::string text_{};
  std::string plain_{};  ///< Set only if `kind_` is `words`.
  std::string about_{};
  std::optional<cell_swatch> swatch_{};
  std::uint64_t whole_ = 0;
  double real_ = 0;
};

template <class Value>
table_cell table_cell::make(cell_type type, Value&& value) {
  using plain_type = std::remove_cvref_t<Value>;
  if constexpr (std::is_same_v<plain_type, table_cell>) {
    return std::forward<Value>(value);
  } else if constexpr (std::is_convertible_v<Value, std::string_view>) {
    return text(value);
  } else if constexpr (std::is_floating_point_v<plain_type>) {
    return from_number(type, static_cast<double>(value));
  } else if constexpr (std::is_integral_v<plain_type>) {
    return from_number(type, static_cast<std::uint64_t>(value));
  } else {
    return value ? make(type, *value) : none();
  }
}

}  // namespace sluice::gui
