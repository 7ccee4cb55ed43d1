#pragma once

#include <errno.h>
#include <stdlib.h>

#include <cstddef>

#include "instrumentation/ring/ring.hpp"

/// Functions that determine the size of a ring. They use only the C library, because they are part of recorded
/// programs.
namespace sluice::ring {

/// The smallest power of two that is at least `asked`, clamped to the minimum and maximum ring size.
[[nodiscard]] inline std::size_t sensible_ring_bytes(std::size_t asked) noexcept {
  std::size_t bytes = minimum_ring_bytes;
  while (bytes < asked && bytes < maximum_ring_bytes) bytes *= 2;
  return bytes;
}

/// Parses `text` as a whole number; returns `otherwise` if `text` is null or anything else. Changes errno.
[[nodiscard]] inline std::size_t number_or(const char* text, std::size_t otherwise) noexcept {
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  char* end = nullptr;
  errno = 0;
  const std::size_t number = strtoull(text, &end, 10);
  return *end == '\0' && errno == 0 ? number : otherwise;
}

}  // namespace sluice::ring
