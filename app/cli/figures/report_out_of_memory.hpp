#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/report_output.hpp"

/// The section about an allocation that failed for want of memory: a report with one opens with it.
namespace sluice::cli {

/// The text of the section; empty without such a failure.
[[nodiscard]] std::string out_of_memory_text(const report_subject& subject);

/// The member `out_of_memory` of the JSON report; null without such a failure.
[[nodiscard]] nlohmann::ordered_json out_of_memory_json(const report_subject& subject);

}  // namespace sluice::cli
