#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/export/recording/clock_alignment.hpp"
#include "core/trace/file/reader.hpp"

/// Merges recordings of several processes or machines.
namespace sluice::exports {

struct merged {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  /// For each recording, the offset of its clock from that of the recording that started first.
  std::vector<clock_offset> clocks;
  std::vector<std::string>
      said;  ///< Messages for the user about the clocks, one line per recording. Also stored in the file.
};

/// Writes all of `parts` as one recording to `path`, with times on the clock of the part that started first. Renumbers
/// ids to be unique. Merges equal texts, machines and devices (identified by UUID). A checkpoint lists only the blocks
/// of its own part. If a clock drifts, converts times by a linear function instead of an offset, and reports the
/// remaining error. Holds the tables and the times of collectives in memory. Errors: invalid_argument for fewer than
/// two parts; those of reading and writing; cancelled.
[[nodiscard]] result<merged> merge(const std::vector<std::shared_ptr<const trace::snapshot>>& parts,
                                   const std::string& path, const long_task& task = {});

}  // namespace sluice::exports
