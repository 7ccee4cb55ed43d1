#pragma once

#include <string>

#include "core/export/export.hpp"

/// What an output is, and how to tell from a file's content that it is one already.
namespace sluice::cli {

struct output_kind {
  std::string name;  ///< With its article: "a recording".
  /// Whether the file looks like one. Reads a few KiB at most.
  bool (*is)(const std::string& path) = nullptr;
};

[[nodiscard]] output_kind recording_kind();
[[nodiscard]] output_kind picture_kind();
/// Of a format that writes one file. CSV is known by its line of column names and folded stacks by their first line, for want of a
/// signature.
[[nodiscard]] output_kind kind_of(const exports::format& format);

}  // namespace sluice::cli
