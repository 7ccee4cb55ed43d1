#pragma once

#include <cstdint>
#include <span>

#include "instrumentation/runtime/kernel.hpp"
#include "instrumentation/runtime/stream.hpp"

// The computation that the demos share: simple enough that every word can be verified, long enough to be visible in a
// recording.

namespace sluice::demos {

inline constexpr std::uint32_t multiplier = 1664525, increment = 1013904223;  // from Numerical Recipes

/// Word `i` of the input, the same for all demos.
[[nodiscard]] inline std::uint32_t input_word(std::uint64_t i) {
  return static_cast<std::uint32_t>(i * 2654435761u + 12345);
}

inline void fill_input(std::span<std::uint32_t> words, std::uint64_t first = 0) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = input_word(first + i);
}

/// True if each of `words`, which start at index `first`, is the result of applying x * multiplier + increment to its
/// input word `rounds` times.
[[nodiscard]] inline bool is_output(std::span<const std::uint32_t> words, std::uint32_t rounds,
                                    std::uint64_t first = 0) {
  // Combines all rounds into one linear map first; each word then needs only one multiplication and one addition.
  const std::uint32_t offset = runtime::kernels::affine(0, multiplier, increment, rounds);
  const std::uint32_t factor = runtime::kernels::affine(1, multiplier, increment, rounds) - offset;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != factor * input_word(first + i) + offset) return false;
  }
  return true;
}

inline void launch_rounds(std::span<std::uint32_t> words, std::uint32_t rounds, const runtime::stream_ref& stream) {
  runtime::launch(runtime::kernels::affine_u32, runtime::launch_config::for_size(words.size()), stream, words.data(),
                  std::uint64_t{words.size()}, multiplier, increment, rounds);
}

}  // namespace sluice::demos
