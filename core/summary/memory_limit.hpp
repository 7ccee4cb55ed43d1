#pragma once

#include <cstddef>

/// How readers of recordings divide the memory that they may use. In bytes, as measured.
namespace sluice::analysis {

/// The usual limit of a reader.
inline constexpr std::size_t usual_memory_limit = 400'000'000;

/// What a reader takes besides its indexes: the program, the window, and either building a summary, or the caches of
/// tiles and chunks with the indexes of a few sections, while a question about a long time reads them in turn.
inline constexpr std::size_t taken_while_summing_up = 180'000'000;
inline constexpr std::size_t taken_while_reading_sections = 260'000'000;

/// For reading the summaries that are just being made, because neighboring sections need the same chunks.
inline constexpr std::size_t summaries_cache = std::size_t{16} << 20U;

/// What is left of `limit` for indexes.
[[nodiscard]] constexpr std::size_t left_for_indexes(std::size_t limit, std::size_t taken) {
  return limit > taken ? limit - taken : 0;
}

}  // namespace sluice::analysis
