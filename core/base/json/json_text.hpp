#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "core/base/error.hpp"

/// Parses JSON from untrusted sources (files next to recordings, messages from other programs), and writes it.
namespace sluice {

/// Limits for a JSON text that is parsed into a tree. nlohmann's library copies a tree recursively, searches members
/// linearly, and needs about 50 bytes for a value of 2 bytes. Without limits, the size of the text would determine how
/// much stack, time and memory parsing needs.
inline constexpr std::size_t max_json_levels = 100;        ///< Nesting depth of arrays and objects.
inline constexpr std::size_t max_json_members = 256;       ///< Members of a single object.
inline constexpr std::size_t max_json_values = 1'000'000;  ///< Values in all arrays and objects together.

/// Parses JSON. A text that exceeds the limits above is rejected before a tree is built, in O(bytes) and without any
/// allocation. The caller must limit the size of the text. `file`: where the text comes from, for error messages.
/// Errors: corrupt, with the offset of the first invalid byte.
[[nodiscard]] result<nlohmann::ordered_json> parse_json(std::string_view text, const std::string& file = {});

/// Formats JSON as a document: indented by 2, with a newline at its end. Invalid UTF-8 becomes U+FFFD, because names
/// come from recorded programs.
[[nodiscard]] std::string json_document(const nlohmann::ordered_json& value);
/// Formats JSON as one line without a newline. Invalid UTF-8 becomes U+FFFD.
[[nodiscard]] std::string json_line(const nlohmann::ordered_json& value);

/// Appends `text` as a JSON string with quotes, for documents that are too large for a tree. Invalid UTF-8 becomes
/// U+FFFD.
void append_json_string(std::string& to, std::string_view text);

}  // namespace sluice
