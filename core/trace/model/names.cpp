#include "core/trace/model/names.hpp"

#include <array>
#include <cstddef>

#include "core/trace/model/words.hpp"

namespace sluice::trace {

std::string_view get_name(trace::layer layer) { return get_word(layer); }

std::string_view get_label(trace::layer layer) {
  static constexpr std::array<std::string_view, trace::layer_count> labels = {"CUDA allocations", "pool blocks",
                                                                              "framework tensors", "user blocks"};
  return labels[static_cast<std::size_t>(layer) % labels.size()];
}

std::string describe_memory(trace::layer layer, trace::memory_kind kind) {
  std::string text(get_label(layer));
  if (kind != trace::memory_kind::device) text.append(", ").append(get_name(kind));
  return text;
}

std::string_view get_name(trace::recording_mode mode) { return get_word(mode); }
std::string_view get_name(trace::memory_kind kind) { return get_word(kind); }

std::string_view get_name(trace::direction way) {
  static constexpr std::array<std::string_view, trace::direction_count> names = {
      "unknown direction", "host to device", "device to host", "device to device", "peer to device", "host to host"};
  return names[static_cast<std::size_t>(way) % names.size()];
}

std::string_view name_of_side(trace::memory_kind kind) {
  return kind == trace::memory_kind::host ? std::string_view("pageable") : get_name(kind);
}

}  // namespace sluice::trace
