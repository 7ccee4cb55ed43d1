#include "app/gui/views/table/table_cell.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/base/format.hpp"

namespace sluice::gui {

table_cell table_cell::none(std::string_view words) {
  table_cell cell = text(words).in(tone::muted);
  cell.has_value_ = false;
  return cell;
}

table_cell table_cell::words(std::string_view shown, std::string_view plain) {
  table_cell cell = text(shown);
  cell.plain_ = plain;
  return cell;
}

table_cell table_cell::in(tone wanted) && {
  tone_ = wanted;
  return std::move(*this);
}

table_cell table_cell::marked(std::uint32_t colour, bool outlined) && {
  swatch_ = cell_swatch{colour, outlined};
  return std::move(*this);
}

table_cell table_cell::explained(std::string about) && {
  about_ = std::move(about);
  return std::move(*this);
}

std::string table_cell::shown() const {
  if (!is_formatted()) return text_;
  switch (type_) {
    case cell_type::bytes:
      return format_bytes(whole_);
    case cell_type::duration:
      return format_time(static_cast<time_ns>(whole_));
    case cell_type::moment:
      return format_moment(static_cast<time_ns>(whole_));
    case cell_type::rate:
      return format_rate(real_);
    case cell_type::share:
      return format_share(real_);
    case cell_type::address:
      return format_address(whole_);
    case cell_type::text:
    case cell_type::count:
      break;
  }
  return format_count(whole_);
}

std::string table_cell::plain() const {
  if (!has_value_) return {};
  if (!is_formatted()) return plain_.value_or(text_);
  if (type_ == cell_type::rate || type_ == cell_type::share)
    return fmt::format("{}", real_);  // the fewest digits that identify the value
  if (type_ == cell_type::address) return format_address(whole_);
  const bool may_be_negative = type_ == cell_type::duration || type_ == cell_type::moment;
  return may_be_negative ? std::to_string(static_cast<time_ns>(whole_)) : std::to_string(whole_);
}

std::optional<double> table_cell::number() const {
  if (!has_value_) return std::nullopt;
  if (type_ == cell_type::address) return static_cast<double>(whole_);
  const std::string text = plain();
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace sluice::gui
