#pragma once

#include <span>
#include <string_view>

#include "core/metrics/report/finding.hpp"

/// What the folder of a finding registers.
namespace sluice::metrics {

struct finder;

/// The explanation of one kind of finding.
struct finding_rule {
  finding_kind kind{};
  std::string_view word;        ///< The name in JSON, in SQL and for `--explain`, such as "held_late".
  std::string_view title;       ///< The problem in a few words; `get_title` (verdict/finding_title.hpp) adds details.
  std::string_view means;       ///< What is wrong, in one or two sentences.
  std::string_view found_by;    ///< How the finding is detected, with the thresholds.
  std::string_view cannot_see;  ///< What the rule cannot detect.
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
