#pragma once

#include <string>

#include "core/analysis/summary.hpp"
#include "core/error.hpp"

/// What `sluice report` prints, as text and as JSON. Both say the same; both are made of analysis::summary alone.
namespace sluice::cli {

struct report_subject {
  const analysis::summary& of;
  const trace::tables& tables;
  std::string path;
};

/// What a reader wants to know in a minute.
[[nodiscard]] std::string report_text(const report_subject& subject);

/// Everything, in the schema of report_schema.md. Ends in a newline.
[[nodiscard]] std::string report_json(const report_subject& subject);

/// Reads FROM:TO. Each is a number with ns, us, ms or s behind it (none: s); an empty one is the recording's begin or end.
/// Errors: invalid_argument.
[[nodiscard]] result<analysis::time_range> parse_range(const std::string& text, analysis::time_range whole);

}  // namespace sluice::cli
