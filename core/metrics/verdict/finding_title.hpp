#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/metrics/report/report.hpp"

/// How the report, its JSON, SQL, the window and MCP name a finding. All of them call these functions, so that a finding
/// has the same name everywhere.
namespace sluice::metrics {

/// Returns the problem in a few words, such as "Memory leak: 304 MiB in 19 blocks" or "GPU waits for the host: kernel
/// launches too slow". Never empty; without a final period.
[[nodiscard]] std::string get_title(const finding& subject);

/// Returns how sure the saving is: "measured", "replayed" (recorded events were replayed without the problem) or
/// "estimated"; empty if the saving is unknown.
[[nodiscard]] std::string_view get_certainty(const saving& subject);

/// Returns the saving without a verb, such as "up to 114 MiB of reserved memory (12 %, measured)"; empty if the saving
/// is unknown.
[[nodiscard]] std::string describe_saving(const saving& subject);

/// Returns a sentence about the findings of `of` with which the saving of `subject` overlaps; empty if there are none.
[[nodiscard]] std::string describe_overlaps(const finding& subject, const report& of);

/// Returns the commands of a shell that show the finding of the recording `path`, such as "sluice report x.sluice
/// --explain held_late".
[[nodiscard]] std::vector<std::string> list_commands(const finding& subject, std::string_view path);

/// Returns the line and the line that called its function, such as "train.py:12 (make_batch), called from train.py:80 (main)";
/// empty if the place is unknown.
[[nodiscard]] std::string describe_place(const code_place& place);

}  // namespace sluice::metrics
