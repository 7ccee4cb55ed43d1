#pragma once

#include <string>

#include "core/export/export.hpp"

/// Kinds of output files, and how to recognize an existing file of each kind by its content.
namespace sluice::cli {

struct output_kind {
  std::string name;  ///< Name with an article, for example "a recording".
  /// True if the content of the file at `path` is of this kind. Reads a few KiB at most.
  bool (*matches)(const std::string& path) = nullptr;
};

[[nodiscard]] output_kind recording_kind();
[[nodiscard]] output_kind picture_kind();
/// The kind of a single-file export format. CSV and folded stacks have no signature, so CSV is recognized by its header
/// line, and folded stacks by their first line.
[[nodiscard]] output_kind get_kind(const exports::format& format);

}  // namespace sluice::cli
