#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

/// The JSON of all verbs. Unknown values become null; core/base/json/json_text.hpp makes the text.
namespace sluice::cli {

/// `value` if it is `known`.
template <class T>
[[nodiscard]] nlohmann::ordered_json value_or_null(bool known, const T& value) {
  return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}
template <class T>
[[nodiscard]] nlohmann::ordered_json value_or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

[[nodiscard]] inline nlohmann::ordered_json number_or_null(double value) { return value_or_null(value > 0, value); }
[[nodiscard]] inline nlohmann::ordered_json count_or_null(std::uint64_t value) {
  return value_or_null(value > 0, value);
}
[[nodiscard]] inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return value_or_null(!text.empty(), text);
}

/// An array of what `to_value` returns for each item.
template <class Items, class Function>
[[nodiscard]] nlohmann::ordered_json list_json(const Items& items, Function&& to_value) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& each : items) array.push_back(to_value(each));
  return array;
}

}  // namespace sluice::cli
