#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Finding out, section after section, what a file keeps of its parts, without ever holding more than one of them.
namespace sluice::analysis {

struct section_pass_result {
  bool complete =
      false;  ///< Else something could not be read again, or nobody wanted it any more: the rest means nothing.
  recording_facts whole;
  std::uint64_t malformed = 0;  ///< Rows about memory that make no sense.
};

/// Goes through the sections in order of time. Of each it makes an index from the rows in it and from what the one before left: blocks
/// that live on, slices that run on, samples in force. A block is done with when it was freed: what it was for is known then.
///
/// Adds to the file what `save_sections` adds of an index of all rows, but for what only all parts together show, which is returned. In that
/// the highest values of categories are still 0: the caller fills them in and adds it. What it takes of memory: a section's index, the blocks that live at
/// once, and some 400 bytes for each that lives over the begin of a section. O(rows * log): those of a chunk once for each section that
/// it reaches into.
///
/// Once it is not `wanted`, which is asked once a section, or does not `go_on`, which is asked after each chunk, it stops.
///
/// Beside an index of all rows it errs only where a checkpoint after a loss implies that blocks were freed, which no row says: it has
/// them live on.
[[nodiscard]] section_pass_result run_section_pass(
    const recording_scan& known, std::shared_ptr<const step_facts> steps, section_writer& into,
    const std::function<bool()>& wanted = [] { return true; }, const std::function<bool()>& goes_on = {});

}  // namespace sluice::analysis
