#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/long_task.hpp"
#include "core/export/recording/clock_alignment.hpp"
#include "core/trace/file/reader.hpp"

/// Recordings of several processes or machines as one.
namespace sluice::exports {

struct merged {
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::vector<clock_offset> clocks;  ///< Of each recording, in their order; against the one that began first.
  std::vector<std::string>
      said;  ///< What a user should know of the clocks, one line a recording; it is in the file too.
};

/// Writes all of `parts` to `path`, on the clock of the one that began first. Ids are given anew, so that none meets another's; texts,
/// machines and devices (by their UUID) are the same in all parts. Checkpoints stay what they are: each tells of the blocks of the part that it
/// comes from. Where clocks drift apart, times of the parts are moved by a line, not by an offset alone; the error left is stated. Memory is that of the tables and of the collectives' times.
/// Errors: invalid_argument for fewer than two parts, those of reading and writing, cancelled.
[[nodiscard]] result<merged> merge(const std::vector<std::shared_ptr<const trace::snapshot>>& parts,
                                   const std::string& path, const long_task& task = {});

}  // namespace sluice::exports
