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

}  // namespace sluice::analysis
