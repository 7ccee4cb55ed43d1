#include "core/trace/model/names.hpp"

#include <array>
#include <cstddef>

namespace sluice {

std::string_view name_of(trace::recording_mode mode) {
  switch (mode) {
    case trace::recording_mode::memory:
      return "memory";
    case trace::recording_mode::timeline:
      return "timeline";
    case trace::recording_mode::all:
      return "all";
    case trace::recording_mode::unknown:
      break;
  }
  return "unknown";
}

std::string_view name_of(trace::layer layer) {
  static constexpr std::array<std::string_view, trace::layer_count> names = {"driver", "pool", "framework", "user"};
  return names[static_cast<std::size_t>(layer) % names.size()];
}

std::string_view name_of(trace::memory_kind kind) {
  static constexpr std::array<std::string_view, trace::memory_kind_count> names = {
      "unknown", "device", "pinned", "managed", "host", "array", "reservation", "physical", "mapping"};
  return names[static_cast<std::size_t>(kind) % names.size()];
}

std::string_view name_of(trace::direction way) {
  static constexpr std::array<std::string_view, trace::direction_count> names = {
      "unknown direction", "host to device", "device to host", "device to device", "peer to device", "host to host"};
  return names[static_cast<std::size_t>(way) % names.size()];
}

std::string_view name_of_side(trace::memory_kind kind) {
  return kind == trace::memory_kind::host ? std::string_view("pageable") : name_of(kind);
}

}  // namespace sluice
