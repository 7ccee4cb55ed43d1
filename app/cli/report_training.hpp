#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/cli/report_output.hpp"

/// The parts of the report that are about tensors: what the peak is made of, the steps, what was kept without use.
namespace sluice::cli {

/// Sections of the text, each after an empty line; empty when there is nothing to say.
[[nodiscard]] std::string training_text(const report_subject& subject);

/// Adds `peak_composition`, `steps` and `unused` to `into`.
void put_training(const report_subject& subject, nlohmann::ordered_json& into);

}  // namespace sluice::cli
