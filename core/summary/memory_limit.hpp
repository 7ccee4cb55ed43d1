#pragma once

#include <cstddef>

/// How a reader of recordings divides its memory budget. All values are in bytes, as measured.
namespace sluice::summary {

/// The default memory limit of a reader.
inline constexpr std::size_t usual_memory_limit = 400'000'000;

/// Memory that a reader uses besides its event stores. It includes the program and the window. While a summary is
/// built, it also includes the memory for that. While a query over a long interval reads one section after another, it
/// also includes the caches of tiles and chunks, and a few sections.
inline constexpr std::size_t taken_while_summing_up = 180'000'000;
inline constexpr std::size_t taken_while_reading_sections = 260'000'000;

/// The size of the cache for reading a summary while it is being built. The cache is needed because neighbouring
/// sections need the same chunks.
inline constexpr std::size_t summaries_cache = std::size_t{16} << 20U;

/// Returns the part of `limit` that is left for event stores.
[[nodiscard]] constexpr std::size_t left_for_indexes(std::size_t limit, std::size_t taken) {
  return limit > taken ? limit - taken : 0;
}

}  // namespace sluice::summary
