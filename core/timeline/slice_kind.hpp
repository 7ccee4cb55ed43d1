#pragma once

#include <cstdint>

namespace sluice::analysis {

/// What a slice of a track is, which is what colours it.
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

/// Of steps, what other slices have as bytes is a number, which does not add up.
[[nodiscard]] constexpr bool is_step(std::uint8_t kind) { return kind == static_cast<std::uint8_t>(slice_kind::step); }

}  // namespace sluice::analysis
