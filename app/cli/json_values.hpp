#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/trace/model/ids.hpp"

/// JSON values for the report; unknown values become null.
namespace sluice::cli {

[[nodiscard]] inline nlohmann::ordered_json time_or_null(trace::time_ns time) {
  return time == trace::unknown_time ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(time);
}

[[nodiscard]] inline nlohmann::ordered_json number_or_null(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

[[nodiscard]] inline nlohmann::ordered_json count_or_null(std::uint64_t value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

template <class Id>
[[nodiscard]] nlohmann::ordered_json id_or_null(Id id) {
  return id == Id{} ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(raw(id));
}

}  // namespace sluice::cli
