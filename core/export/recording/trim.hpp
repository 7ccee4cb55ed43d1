#pragma once

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/export/recording/redact.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"

/// A part of a recording as a recording of its own.
namespace sluice::exports {

struct trim_options {
  analysis::time_range range;  ///< What happens in it is kept: events that overlap it, whole.
  redaction redact;            ///< What else is left out.
  long_task task{};
};

struct trimmed {
  std::uint64_t events = 0;
  std::uint64_t live = 0;  ///< Blocks that were there when the range began.
  std::uint64_t bytes = 0;
};

/// Writes what happens in a range of `from` to `path`, which is created or replaced. It stands alone: blocks that live when the range
/// begins are in a checkpoint just before it, counters, pools and samples have their last values there, calls that asked for
/// work in the range are kept, and so are the definitions of graphs that are launched in it; of the tables, what all these name. What is
/// said of all these (attributes such as names and tags, links between them) is kept whenever it was said. Blocks that are freed after
/// the range live to its end and are marked `freed_after`: nobody forgot them. Times and ids are as they were, and so is every figure of the range, but for one:
/// until the first sample in the range, what nobody tracks of a device is worked out from the last sample before it. O(events up to the
/// range's end, frees, attributes and links) time, in two passes; memory is that of what lives when it begins, of the tables, and a bit for each block and each
/// event. Errors: those of reading and writing,
/// invalid_argument for an empty range, cancelled.
[[nodiscard]] result<trimmed> trim(const trace::snapshot& from, const trim_options& options, const std::string& path);

}  // namespace sluice::exports
