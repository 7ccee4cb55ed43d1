#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/cli/report/report_output.hpp"

/// The report's section about an allocation that failed because memory ran out. If there is such a failure, the report
/// starts with this section.
namespace sluice::cli {

/// The text of the section; empty if no allocation failed for lack of memory.
[[nodiscard]] std::string out_of_memory_text(const report_subject& subject);

/// The member `out_of_memory` of the JSON report; null if no allocation failed for lack of memory.
[[nodiscard]] nlohmann::ordered_json out_of_memory_json(const report_subject& subject);

}  // namespace sluice::cli
