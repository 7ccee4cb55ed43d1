#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/figures/check/check.hpp"

/// The output of `sluice check`.
namespace sluice::cli {

enum class check_format : unsigned char {
  text,      ///< For people: a table, and what to look at.
  json,      ///< One object; check_schema.md describes it.
  junit,     ///< XML with one test case a condition.
  markdown,  ///< A table for a comment on a pull request.
  github     ///< Workflow commands: an annotation for each condition that is not met.
};

/// "text", "json", "junit", "markdown", "github".
[[nodiscard]] std::optional<check_format> check_format_named(std::string_view name);

struct checked_recording {
  std::string path;
  std::string baseline;  ///< Path of the baseline; empty: none.
  std::vector<analysis::condition> conditions;
  std::vector<std::string> warnings;  ///< What is wrong with the recording.
  /// Folders whose paths annotations show relative to themselves: that of the repository.
  std::vector<std::string> roots{};
};

/// The whole output, which ends with a newline. Text from the recording is escaped as the format needs.
[[nodiscard]] std::string check_text(const checked_recording& of, check_format as);

/// The size in bytes of "20GiB", "1.5 GB" or "4096"; KB is 1000 bytes, KiB 1024. Nothing if it is none.
[[nodiscard]] std::optional<std::uint64_t> size_named(std::string_view text);

/// The share of "5%" or "0.05", as 0..1. Nothing if it is none.
[[nodiscard]] std::optional<double> share_named(std::string_view text);

}  // namespace sluice::cli
