#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace sluice::importing {

/// Describes, in texts for the user, a known file format that cannot be imported.
struct unread_format {
  std::string_view name;  ///< What the file is: "is a zip archive".
  std::string_view hint;  ///< What the user can do: "unpack it".
};

/// Recognizes a file that no importer can read, by the start of its content (`head`, at most 4 KiB) or, if the content
/// shows nothing, by its name. Returns null if the format is unknown.
[[nodiscard]] const unread_format* find_unread_format(std::string_view head, const std::string& path);

/// True if `head` is from `nsys export --type json`, whose lines are objects that start with their type.
[[nodiscard]] bool is_nsys_lines(std::string_view head);

/// Recognizes the format of a JSON object by one of its members, such as "$schema" of speedscope, or "nodes" and
/// "samples" of a CPU profile. Returns null if the member is not specific.
[[nodiscard]] const unread_format* find_unread_json(std::string_view member, std::string_view value);

}  // namespace sluice::importing
