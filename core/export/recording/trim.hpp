#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/base/time/time_range.hpp"
#include "core/export/recording/redact.hpp"
#include "core/trace/file/reader.hpp"

/// Cuts a part out of a recording.
namespace sluice::exports {

struct trim_options {
  time_range range;  ///< Events that overlap this range are kept, with their whole duration.
  redaction redact;  ///< The information to remove.
  long_task task{};
};

struct trimmed {
  std::uint64_t events = 0;
  std::uint64_t live = 0;  ///< The number of blocks that were live at the start of the range.
  std::uint64_t bytes = 0;
};

/// Writes the events in a range of `recording` to `path`, which is created or replaced. The result is a complete
/// recording. A checkpoint just before the range lists the live blocks, and counters, pools and samples have their last
/// earlier values there. The result also has the calls that requested work in the range, the definitions of graphs
/// launched in the range, and all table rows that kept events refer to. Attributes of kept events (names, tags) and
/// links between kept events are kept regardless of their time. Blocks freed after the range are live until the end of
/// the range and are marked `freed_after`, so that nobody mistakes them for leaks. Times, ids and all metrics of the
/// range are unchanged, with one exception. Before the first device sample in the range, untracked memory is computed
/// from the last sample before the range. Takes two passes and O(events up to the range's end + frees + attributes +
/// links) time. Holds the blocks that are live at the start of the range, the tables, and one bit per block and event.
/// Errors: those of reading and writing; invalid_argument for an empty range; cancelled.
[[nodiscard]] result<trimmed> trim(const trace::snapshot& recording, const trim_options& options,
                                   const std::string& path);

}  // namespace sluice::exports
