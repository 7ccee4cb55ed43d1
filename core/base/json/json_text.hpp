#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

/// JSON that others wrote: files beside recordings, messages of programs.
namespace sluice {

/// What a text may hold to be made into a tree. nlohmann copies a tree by recursion, looks members up one by one, and
/// takes some 50 bytes for a value of 2 bytes: stack, time and memory would grow with the text.
inline constexpr std::size_t most_json_levels = 100;        ///< Of arrays and objects within one another.
inline constexpr std::size_t most_json_members = 256;       ///< Of one object.
inline constexpr std::size_t most_json_values = 1'000'000;  ///< Of all arrays and objects together.

/// Parses JSON. A text beyond the limits above is refused before any of it is made into a tree, in O(bytes) without
/// allocating. The caller bounds the text's size. `file`: for errors; where the text is from. Errors: corrupt, with the
/// offset from which the text is wrong.
[[nodiscard]] result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& file = {});

}  // namespace sluice
