#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/figures/report.hpp"

/// What each kind of finding means. `sluice report --explain KIND` prints it.
namespace sluice::analysis {

struct finding_rule {
  finding_kind kind{};
  std::string_view word;      ///< In JSON and SQL, and for `--explain`: "held_late".
  std::string_view means;     ///< What is wrong, in one or two sentences.
  std::string_view found_by;  ///< The rule, with its thresholds.
  std::string_view cannot_see;
};

/// All rules, in the order of `finding_kind`.
[[nodiscard]] std::span<const finding_rule> finding_rules();
[[nodiscard]] std::string_view word_of(finding_kind kind);
/// Null if no kind has this word.
[[nodiscard]] const finding_rule* rule_named(std::string_view word);
/// The rule as text of several lines, without a line break at the end.
[[nodiscard]] std::string text_of(const finding_rule& rule);

}  // namespace sluice::analysis
