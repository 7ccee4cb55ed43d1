#pragma once

#include <string>

#include "core/figures/report.hpp"

/// The output of `sluice report`, as text or as JSON. Both use analysis::report only, and agree.
namespace sluice::cli {

struct report_subject {
  const analysis::report& of;
  const trace::tables& tables;
  std::string path;
};

/// The text report: the most important findings.
[[nodiscard]] std::string report_text(const report_subject& subject);

/// The JSON report: everything, in the schema of report_schema.md. Ends with a newline.
[[nodiscard]] std::string report_json(const report_subject& subject);

}  // namespace sluice::cli
