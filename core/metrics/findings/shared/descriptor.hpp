#pragma once

#include <span>
#include <string_view>

#include "core/metrics/report/finding.hpp"

/// What the folder of a finding registers.
namespace sluice::metrics {

struct finder;

/// The fix of a kind of finding as code: valid code of one to three lines, without line breaks at the end. Words in it
/// that are no names of the framework (`x`, `model`, `batch`) stand for names of the program.
struct code_fix {
  std::string_view framework;  ///< For which programs: a result of `finder::find_framework`.
  std::string_view code;
  std::string_view when{};  ///< The case in which it helps, such as "activations"; empty: in each case.
};

/// Returns the first fix for `framework` in the case `when`; empty if there is none. O(fixes).
[[nodiscard]] constexpr std::string_view choose_fix(std::span<const code_fix> fixes, std::string_view framework,
                                                    std::string_view when) {
  for (const code_fix& each : fixes)
    if (each.framework == framework && (each.when.empty() || each.when == when)) return each.code;
  return {};
}

/// The explanation of one kind of finding.
struct finding_rule {
  finding_kind kind{};
  std::string_view word;        ///< The name in JSON, in SQL and for `--explain`, such as "held_late".
  std::string_view title;       ///< The problem in a few words; `get_title` (verdict/finding_title.hpp) adds details.
  std::string_view means;       ///< What is wrong, in one or two sentences.
  std::string_view found_by;    ///< How the finding is detected, with the thresholds.
  std::string_view cannot_see;  ///< What the rule cannot detect.
  std::span<const code_fix> fixes{};  ///< The fixes that are code; empty if the fix is not code.
};

/// Adds findings of one or several kinds to `in`.
using find_function = void (*)(finder& in);

/// The findings of one folder. Its texts and functions live as long as the program.
struct finding_descriptor {
  std::string_view folder;               ///< The name of the folder in core/metrics/findings.
  std::string_view title;                ///< The title of the folder's page.
  std::span<const finding_rule> rules;   ///< One for each kind that the folder registers.
  std::span<const find_function> steps;  ///< Called in this order. A step may look at findings of earlier steps.
};

}  // namespace sluice::metrics
