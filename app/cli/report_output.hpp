#pragma once

#include <optional>
#include <string>

#include "core/figures/report.hpp"
#include "core/figures/waste/one_rank.hpp"

/// The output of `sluice report`, as text or as JSON. Both use analysis::report only, and agree.
namespace sluice::cli {

struct report_subject {
  const analysis::report& of;
  const trace::tables& tables;
  std::string path;
  std::optional<analysis::one_rank> only{};  ///< The rank that `of` is limited to; none: it is of all.
};

/// The text report: the most important findings.
[[nodiscard]] std::string report_text(const report_subject& subject);

/// The JSON report: everything, in the schema of report_schema.md. Ends with a newline.
[[nodiscard]] std::string report_json(const report_subject& subject);

}  // namespace sluice::cli
