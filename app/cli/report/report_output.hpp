#pragma once

#include <optional>
#include <string>

#include "core/metrics/report/one_rank.hpp"
#include "core/metrics/report/report.hpp"

/// The output of `sluice report`, as text or as JSON. Both are generated from metrics::report only, so they agree.
namespace sluice::cli {

struct report_subject {
  const metrics::report& report;
  const trace::tables& tables;
  std::string path;
  std::optional<metrics::one_rank> only{};  ///< The rank to which `report` is limited; null: all ranks.
};

/// The text report: the most important findings.
[[nodiscard]] std::string report_text(const report_subject& subject);

/// The findings of one kind, as in the text report; a sentence if there are none.
[[nodiscard]] std::string findings_text(const report_subject& subject, metrics::finding_kind kind);

/// The JSON report: all metrics and findings, in the schema of report_schema.md. Ends with a newline.
[[nodiscard]] std::string report_json(const report_subject& subject);

}  // namespace sluice::cli
