#pragma once

#include <cstdint>

namespace sluice::timeline {

/// The kind of event that a slice of a track shows. It determines the color of the slice.
enum class slice_kind : std::uint8_t {
  kernel,
  h2d,
  d2h,
  d2d,
  p2p,
  h2h,
  memset,
  migration,
  api_call,
  sync,
  range,
  file_io,
  marker,
  graph,
  step
};

/// True for a step. The `bytes` of a step's slice hold the number of the step, so they must not be added up.
[[nodiscard]] constexpr bool is_step(std::uint8_t kind) { return kind == static_cast<std::uint8_t>(slice_kind::step); }

}  // namespace sluice::timeline
