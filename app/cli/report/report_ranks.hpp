#pragma once

#include <string>

#include "app/cli/report/report_output.hpp"

/// The section of the text report that compares the ranks of a job.
namespace sluice::cli {

/// A table with a row for each rank; if there are many ranks, with the lowest, the median and the highest value of each
/// metric. Empty if there are fewer than two ranks.
[[nodiscard]] std::string ranks_text(const report_subject& subject);

}  // namespace sluice::cli
