#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tests/core/import/pickle_bytes.hpp"

namespace sluice::testing {

inline void add_pickled(pickle_bytes& to, const nlohmann::json& value) {
  if (value.is_null()) {
    to.code('N');
  } else if (value.is_boolean()) {
    to.code(value.get<bool>() ? '\x88' : '\x89');
  } else if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) {
    to.code('\x8a').code(9).little(value.get<std::uint64_t>(), 8).code(0);
  } else if (value.is_number_integer()) {
    to.integer(value.get<std::int64_t>());
  } else if (value.is_string()) {
    to.text(value.get<std::string>());
  } else if (value.is_array()) {
    to.code(']').code('(');
    for (const auto& each : value) add_pickled(to, each);
    to.code('e');
  } else {
    to.code('}').code('(');
    for (const auto& [key, each] : value.items()) {
      to.text(key);
      add_pickled(to, each);
    }
    to.code('u');
  }
}

/// Pickles a JSON value.
inline std::string pickled(const nlohmann::json& value) {
  pickle_bytes bytes;
  add_pickled(bytes, value);
  return bytes.end();
}

/// An entry of a snapshot's device trace.
inline nlohmann::json entry(const char* action, std::uint64_t address, std::uint64_t size, std::int64_t time_us,
                            nlohmann::json more = nlohmann::json::object()) {
  nlohmann::json object = {{"action", action}, {"addr", address}, {"size", size}, {"stream", 0}, {"time_us", time_us}};
  object.update(more);
  return object;
}

inline nlohmann::json select_block(std::uint64_t address, std::uint64_t size, std::uint64_t requested,
                                   const char* state) {
  return {{"address", address},
          {"size", size},
          {"requested_size", requested},
          {"state", state},
          {"frames", nlohmann::json::array()}};
}

inline nlohmann::json get_segment(std::uint64_t address, std::uint64_t size, nlohmann::json blocks,
                                  nlohmann::json more = nlohmann::json::object()) {
  nlohmann::json object = {{"device", 0},
                           {"address", address},
                           {"total_size", size},
                           {"stream", 0},
                           {"segment_type", "large"},
                           {"segment_pool_id", {0, 0}},
                           {"is_expandable", false},
                           {"frames", nlohmann::json::array()},
                           {"blocks", std::move(blocks)}};
  object.update(more);
  return object;
}

}  // namespace sluice::testing
