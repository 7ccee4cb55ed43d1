#pragma once

#include <string>

#include "core/figures/report.hpp"

/// What `sluice report` prints, as text and as JSON. Both say the same; both are made of analysis::report alone.
namespace sluice::cli {

struct report_subject {
  const analysis::report& of;
  const trace::tables& tables;
  std::string path;
};

/// What a reader wants to know in a minute.
[[nodiscard]] std::string report_text(const report_subject& subject);

/// Everything, in the schema of report_schema.md. Ends in a newline.
[[nodiscard]] std::string report_json(const report_subject& subject);

}  // namespace sluice::cli
