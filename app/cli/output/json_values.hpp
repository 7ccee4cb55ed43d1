#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "app/cli/output/json_output.hpp"
#include "core/base/format.hpp"
#include "core/metrics/base/code_place.hpp"
#include "core/metrics/members.hpp"
#include "core/trace/model/names.hpp"
#include "core/trace/model/words.hpp"

/// JSON values of a recording's data. Unknown values become null.
namespace sluice::cli {

[[nodiscard]] inline nlohmann::ordered_json time_or_null(trace::time_ns time) {
  return value_or_null(time != trace::unknown_time, time);
}
[[nodiscard]] inline nlohmann::ordered_json category_or_null(index::category value) {
  return value_or_null(value != index::category::none, index::category_name(value));
}
template <class Id>
[[nodiscard]] nlohmann::ordered_json id_or_null(Id id) {
  return value_or_null(id != Id{}, raw(id));
}

/// The place in the code, with its caller and its module; null if it is unknown.
[[nodiscard]] nlohmann::ordered_json place_or_null(const metrics::code_place& place);

/// Adds the members of a struct of metrics to `into`, following its member list (core/metrics/base/member_list.hpp).
template <metrics::has_members Metrics>
void put_members(const Metrics& subject, const trace::tables& tables, nlohmann::ordered_json& into);

/// The value of one member: a scalar, a struct with a member list, or a vector of such structs.
template <class T>
[[nodiscard]] nlohmann::ordered_json to_json(const T& value, const trace::tables& tables,
                                             metrics::meaning meaning = metrics::meaning::plain) {
  if constexpr (metrics::has_members<T>) {
    nlohmann::ordered_json object;
    put_members(value, tables, object);
    return object;
  } else if constexpr (std::is_same_v<T, trace::string_id>) {
    return std::string(tables.text(value));
  } else if constexpr (std::is_same_v<T, index::category>) {
    return category_or_null(value);
  } else if constexpr (std::is_same_v<T, trace::memory_kind>) {
    return meaning == metrics::meaning::side ? name_of_side(value) : get_name(value);
  } else if constexpr (std::is_enum_v<T> && trace::enum_values<T> > 0) {
    return trace::get_word(value);
  } else if constexpr (std::is_enum_v<T>) {
    return id_or_null(value);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return meaning == metrics::meaning::address ? nlohmann::ordered_json(format_address(value))
                                                : nlohmann::ordered_json(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return meaning == metrics::meaning::rate ? number_or_null(value) : nlohmann::ordered_json(value);
  } else {
    return value;
  }
}

template <class T>
[[nodiscard]] nlohmann::ordered_json to_json(const std::vector<T>& values, const trace::tables& tables,
                                             metrics::meaning /*is*/ = metrics::meaning::plain) {
  return list_json(values, [&](const T& each) { return to_json(each, tables); });
}

template <metrics::has_members Metrics>
void put_members(const Metrics& subject, const trace::tables& tables, nlohmann::ordered_json& into) {
  const auto put = [&](const auto& member) {
    const auto& value = subject.*(member.pointer);
    if constexpr (metrics::has_members<std::remove_cvref_t<decltype(value)>>) {
      if (member.role == metrics::meaning::inlined) return put_members(value, tables, into);
    }
    if (!member.name.empty()) into[std::string(member.name)] = to_json(value, tables, member.role);
  };
  std::apply([&](const auto&... each) { (put(each), ...); }, metrics::get_members<Metrics>());
}

}  // namespace sluice::cli
