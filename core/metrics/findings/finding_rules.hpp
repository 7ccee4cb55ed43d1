#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/metrics/findings/shared/descriptor.hpp"
#include "core/metrics/report/finding.hpp"

/// Explains each kind of finding. `sluice report --explain KIND` prints the explanation.
namespace sluice::metrics {

/// Returns all rules, in the order of the enumerators of `finding_kind`.
[[nodiscard]] std::span<const finding_rule> finding_rules();
[[nodiscard]] std::string_view get_word(finding_kind kind);
/// Returns the rule of the kind with this word; null if no kind has this word.
[[nodiscard]] const finding_rule* rule_named(std::string_view word);
/// Returns the rule as several lines of text, without a trailing line break.
[[nodiscard]] std::string to_text(const finding_rule& rule);

}  // namespace sluice::metrics
