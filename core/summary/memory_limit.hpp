#pragma once

#include <cstddef>

/// How readers of recordings divide their memory budget. All values are in bytes, as measured.
namespace sluice::summary {

/// The default memory limit of a reader.
inline constexpr std::size_t usual_memory_limit = 400'000'000;

/// Memory that a reader uses besides its event stores: the program and the window, plus either the memory for building
/// a summary, or the caches of tiles and chunks and a few sections, while a query over a long interval reads them in
/// turn.
inline constexpr std::size_t taken_while_summing_up = 180'000'000;
inline constexpr std::size_t taken_while_reading_sections = 260'000'000;

/// The size of the cache for reading a summary while it is being built. It is needed because neighbouring sections need
/// the same chunks.
inline constexpr std::size_t summaries_cache = std::size_t{16} << 20U;

/// Returns the part of `limit` that is left for event stores.
[[nodiscard]] constexpr std::size_t left_for_indexes(std::size_t limit, std::size_t taken) {
  return limit > taken ? limit - taken : 0;
}

}  // namespace sluice::summary
