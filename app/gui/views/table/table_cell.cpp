#include "app/gui/views/table/table_cell.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/base/format.hpp"

namespace sluice::gui {

table_cell table_cell::words(std::string_view shown, std::string_view plain) {
  table_cell cell{kind::words, shown};
  cell.plain_ = plain;
  return cell;
}

table_cell table_cell::from_number(cell_type type, std::uint64_t whole) {
  switch (type) {
    case cell_type::bytes:
      return bytes(whole);
    case cell_type::duration:
      return {kind::duration, whole};
    case cell_type::moment:
      return {kind::moment, whole};
    case cell_type::address:
      return address(whole);
    case cell_type::rate:
    case cell_type::share:
      return from_number(type, static_cast<double>(whole));
    case cell_type::text:
    case cell_type::count:
      break;
  }
  return count(whole);
}

table_cell table_cell::from_number(cell_type type, double real) {
  if (type == cell_type::rate) return rate(real);
  if (type == cell_type::share) return share(real);
  // Times may be negative.
  if (type == cell_type::duration || type == cell_type::moment)
    return from_number(type, static_cast<std::uint64_t>(static_cast<time_ns>(real)));
  return from_number(type, static_cast<std::uint64_t>(real));
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
  switch (kind_) {
    case kind::bytes:
      return format_bytes(whole_);
    case kind::count:
      return format_count(whole_);
    case kind::duration:
      return format_time(static_cast<time_ns>(whole_));
    case kind::moment:
      return format_moment(static_cast<time_ns>(whole_));
    case kind::rate:
      return format_rate(real_);
    case kind::share:
      return format_share(real_);
    case kind::address:
      return format_address(whole_);
    case kind::text:
    case kind::none:
    case kind::words:
      break;
  }
  return text_;
}

std::string table_cell::plain() const {
  switch (kind_) {
    case kind::bytes:
    case kind::count:
      return std::to_string(whole_);
    case kind::duration:
    case kind::moment:
      return std::to_string(static_cast<time_ns>(whole_));
    case kind::rate:
    case kind::share:
      return fmt::format("{}", real_);  // the fewest digits that identify the value
    case kind::address:
      return format_address(whole_);
    case kind::none:
      return {};
    case kind::words:
      return plain_;
    case kind::text:
      break;
  }
  return text_;
}

std::optional<double> table_cell::number() const {
  switch (kind_) {
    case kind::bytes:
    case kind::count:
    case kind::address:
      return static_cast<double>(whole_);
    case kind::duration:
    case kind::moment:
      return static_cast<double>(static_cast<time_ns>(whole_));
    case kind::rate:
    case kind::share:
      return real_;
    case kind::none:
      return std::nullopt;
    case kind::text:
    case kind::words:
      break;
  }
  const std::string& text = kind_ == kind::words ? plain_ : text_;
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace sluice::gui
