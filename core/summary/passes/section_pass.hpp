#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Computes what a file stores about its sections, one section at a time, so that never more than one is in memory.
namespace sluice::analysis {

struct section_pass_result {
  bool complete =
      false;  ///< False if a row could not be read again or the pass was stopped; then ignore the other members.
  recording_facts whole;
  std::uint64_t malformed = 0;  ///< Contradictory memory rows.
};

/// Goes through the sections in order of time. Indexes each from its rows and the state left by the one before: live
/// blocks, running slices and current samples. A block is finished when it is freed: then its category is known.
///
/// Writes what `save_sections` writes from an index of all rows, except the facts about the whole recording. These are
/// returned. In them the highest bytes of each category are 0: the caller fills them in and stores the facts. Memory: one section's
/// index, the live blocks, and some 400 bytes per block that crosses a section boundary. O(rows * log): a chunk is read
/// once for each section that it reaches into.
///
/// Stops once `wanted`, called once per section, or `goes_on`, called after each chunk, returns false.
///
/// Frees that were lost are inferred, as in an index of all rows, from the checkpoints that follow the loss
/// (`recording_scan::telling_checkpoints`).
[[nodiscard]] section_pass_result run_section_pass(
    const recording_scan& known, std::shared_ptr<const step_facts> steps, section_writer& into,
    const std::function<bool()>& wanted = [] { return true; }, const std::function<bool()>& goes_on = {});

}  // namespace sluice::analysis
