#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/export/recording/redact.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

/// Cuts a part out of a recording.
namespace sluice::exports {

struct trim_options {
  analysis::time_range range;  ///< Events that overlap it are kept whole.
  redaction redact;            ///< What to redact.
  long_task task{};
};

struct trimmed {
  std::uint64_t events = 0;
  std::uint64_t live = 0;  ///< Blocks that were live when the range began.
  std::uint64_t bytes = 0;
};

/// Writes the events in a range of `from` to `path`, which is created or replaced. The result is a complete recording:
/// a checkpoint just before the range lists the live blocks; counters, pools and samples have their last values there;
/// calls that requested work in the range and definitions of graphs launched in it are kept, as are all table rows that
/// these refer to. Attributes of kept events (names, tags) and links between them are kept, whatever their time. Blocks
/// freed after the range live to its end and are marked `freed_after`, so that they do not look like leaks. Times, ids
/// and all figures of the range are unchanged, with one exception: until the first device sample in the range,
/// untracked memory is computed from the last sample before it. Time: O(events up to the range's end, frees, attributes
/// and links), in two passes. Memory: the blocks live at its start, the tables, and one bit per block and event.
/// Errors: those of reading and writing; invalid_argument for an empty range; cancelled.
[[nodiscard]] result<trimmed> trim(const trace::snapshot& from, const trim_options& options, const std::string& path);

}  // namespace sluice::exports
