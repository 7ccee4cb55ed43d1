#include "core/trace/model/names.hpp"

#include <array>
#include <cstddef>

#include "core/trace/model/words.hpp"

namespace sluice::trace {

std::string_view name_of(trace::layer layer) { return word_of(layer); }
std::string_view name_of(trace::recording_mode mode) { return word_of(mode); }
std::string_view name_of(trace::memory_kind kind) { return word_of(kind); }

std::string_view name_of(trace::direction way) {
  static constexpr std::array<std::string_view, trace::direction_count> names = {
      "unknown direction", "host to device", "device to host", "device to device", "peer to device", "host to host"};
  return names[static_cast<std::size_t>(way) % names.size()];
}

std::string_view name_of_side(trace::memory_kind kind) {
  return kind == trace::memory_kind::host ? std::string_view("pageable") : name_of(kind);
}

}  // namespace sluice::trace
