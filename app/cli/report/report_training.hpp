#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "app/cli/report/report_output.hpp"

/// The report's sections about training: composition of the peak, steps, idle memory.
namespace sluice::cli {

/// Sections of the text report, each preceded by an empty line; empty if there is nothing to report.
[[nodiscard]] std::string training_text(const report_subject& subject);

/// Adds the members `peak_composition`, `steps` and `unused` to `into`.
void put_training(const report_subject& subject, nlohmann::ordered_json& into);

}  // namespace sluice::cli
