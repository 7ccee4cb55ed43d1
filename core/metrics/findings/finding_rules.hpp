#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/metrics/report/report.hpp"

/// Explains each kind of finding. `sluice report --explain KIND` prints the explanation.
namespace sluice::metrics {

/// The explanation of one kind of finding.
struct finding_rule {
  finding_kind kind{};
  std::string_view word;        ///< The name in JSON, in SQL and for `--explain`, such as "held_late".
  std::string_view means;       ///< What is wrong, in one or two sentences.
  std::string_view found_by;    ///< How the finding is detected, with the thresholds.
  std::string_view cannot_see;  ///< What the rule cannot detect.
};

/// Returns all rules, in the order of the enumerators of `finding_kind`.
[[nodiscard]] std::span<const finding_rule> finding_rules();
[[nodiscard]] std::string_view get_word(finding_kind kind);
/// Returns the rule of the kind with this word; null if no kind has this word.
[[nodiscard]] const finding_rule* rule_named(std::string_view word);
/// Returns the rule as several lines of text, without a trailing line break.
[[nodiscard]] std::string to_text(const finding_rule& rule);

}  // namespace sluice::metrics
