#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/check/check.hpp"

/// The output of `sluice check`.
namespace sluice::cli {

enum class check_format : unsigned char {
  text,      ///< For people: a table, and where to look first.
  json,      ///< One object; check_schema.md describes it.
  junit,     ///< XML with one test case per condition.
  markdown,  ///< A table, for a comment on a pull request.
  github     ///< Workflow commands: an annotation for each unmet condition.
};

/// Recognizes "text", "json", "junit", "markdown" and "github". Null for any other name.
[[nodiscard]] std::optional<check_format> check_format_named(std::string_view name);

struct checked_recording {
  std::string path;
  std::string baseline;  ///< Path of the baseline; empty: none.
  std::vector<metrics::condition> conditions;
  std::vector<std::string> warnings;  ///< Problems of the recording, such as lost events.
  /// Annotations show paths below these folders as relative paths; usually the repository's root.
  std::vector<std::string> roots{};
};

/// The complete output; ends with a newline. Text from the recording is escaped as the format requires.
[[nodiscard]] std::string check_text(const checked_recording& recording, check_format as);

/// Parses a size such as "20GiB", "1.5 GB" or "4096" (KB is 1000 bytes, KiB 1024). Null if it is invalid.
[[nodiscard]] std::optional<std::uint64_t> size_named(std::string_view text);

/// Parses a share such as "5%" or "0.05" into 0..1. Null if it is invalid.
[[nodiscard]] std::optional<double> share_named(std::string_view text);

}  // namespace sluice::cli
