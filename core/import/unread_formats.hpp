#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace sluice::importing {

/// A known file format that cannot be imported: what it is, and what to do instead, in words for the user.
struct unread_format {
  std::string_view is;    ///< "is a zip archive".
  std::string_view hint;  ///< "unpack it".
};

/// Recognizes a file that no importer knows, by its content (`head`, at most 4 KiB) and, where the content does not
/// tell, by its name. Null if the format is unknown.
[[nodiscard]] const unread_format* find_unread_format(std::string_view head, const std::string& path);

/// True for `nsys export --type json`: each line is an object that begins with its type.
[[nodiscard]] bool is_nsys_lines(std::string_view head);

/// Recognizes a JSON object by a member: "$schema" of speedscope, "nodes" and "samples" of a CPU profile.
[[nodiscard]] const unread_format* find_unread_json(std::string_view member, std::string_view value);

}  // namespace sluice::importing
