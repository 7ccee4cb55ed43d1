#pragma once

#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace sluice::importing {

/// A file that people bring and that cannot be read: what it is, and what to do instead. Both are for the user.
struct unread_format {
  std::string_view is;    ///< "is a zip archive".
  std::string_view hint;  ///< "unpack it".
};

/// What a file is that no importer knows, by its content (`head`, at most 4 KiB) and, where the content does not say, by its name. Null
/// if it is nothing that we know of.
[[nodiscard]] const unread_format* find_unread_format(std::string_view head, const std::string& path);

/// The same for a JSON object, by the names of its members: "$schema" of speedscope, "nodes" and "samples" of a CPU profile.
[[nodiscard]] const unread_format* find_unread_json(std::string_view member, std::string_view value);

}  // namespace sluice::importing
