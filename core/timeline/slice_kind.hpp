#pragma once

#include <cstdint>

namespace sluice::analysis {

/// What kind of event a slice of a track shows. Determines its color.
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

/// For steps, the `bytes` of a slice hold the step's number, so they must not be summed.
[[nodiscard]] constexpr bool is_step(std::uint8_t kind) { return kind == static_cast<std::uint8_t>(slice_kind::step); }

}  // namespace sluice::analysis
