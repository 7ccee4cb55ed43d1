#pragma once

#include <functional>
#include <memory>
#include <span>

#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Computes what a file stores about its sections, one section at a time, so that never more than three are in memory.
namespace sluice::analysis {

struct section_pass_options {
  /// Read ahead on three other threads what does not depend on blocks: their uses, and the work of devices and threads.
  bool several_cores = true;
  std::size_t most_kept = std::size_t{1} << 16;  ///< See `run_section_pass`.
};

struct section_pass_result {
  bool complete =
      false;  ///< False if a row could not be read again or the pass was stopped; then ignore the other members.
  recording_facts whole;
  std::uint64_t malformed = 0;  ///< Number of contradictory allocation, free and checkpoint rows.
};

/// The pass over the sections of a recording, which may go on as that grows. Call `begin`, then `go_until`; for a recording that
/// grows, call `settle`, and go on to the end with a copy; call `finish` after the last section. See `run_section_pass`.
class section_pass {
 public:
  /// `known` must outlive this.
  explicit section_pass(const recording_scan& known, const section_pass_options& options = {});
  section_pass(const section_pass& other);  ///< The copy goes on alone.
  section_pass& operator=(const section_pass&) = delete;
  ~section_pass();

  /// Call first, and again when the scan has gone on. `into` has the sections; those that this has gone through must be the first of
  /// them, as before. All arguments must outlive the calls that follow.
  void begin(std::shared_ptr<const step_facts> steps, section_writer& into, const std::function<bool()>& wanted,
             const std::function<bool()>& goes_on);
  /// Goes through the sections before number `behind`. False if a row could not be read, or it was stopped.
  [[nodiscard]] bool go_until(std::size_t behind);
  /// Writes what is left to be told of the sections so far: what runs when they begin, and chunks. `ahead` is a copy that has gone on to
  /// the last section; it leaves that out.
  void settle(section_pass& ahead);
  /// Call once, after `go_until` of all sections.
  [[nodiscard]] section_pass_result finish();

 private:
  class state;
  std::unique_ptr<state> state_;
};

/// Indexes the sections in order of time, each from its own rows and from what the section before left: live blocks,
/// running slices and current samples. The category of a block is known once the block is freed.
///
/// Writes what `section_reader` needs: blocks that cross section boundaries, categories, running slices, samples. Returns
/// the facts about the whole recording. In these, the highest bytes of each category are 0: the caller must fill them in
/// and store the facts.
/// Memory: the index of one section, parts of two more, the live blocks, and some 400 bytes for each of the blocks that cross a section
/// boundary until they are written: once they are more than `most_kept`, those that were freed before the last section.
/// What still later rows say about these is counted as malformed.
/// O(rows * log): a chunk is read once for each section that it reaches into.
///
/// Stops once `wanted`, called once per section, or `goes_on`, called after each chunk and from any thread, returns false.
///
/// Infers lost frees, as an index of all rows does, from the checkpoints that follow the loss
/// (`recording_scan::loss_checkpoints`).
[[nodiscard]] section_pass_result run_section_pass(
    const recording_scan& known, std::shared_ptr<const step_facts> steps, section_writer& into,
    const std::function<bool()>& wanted = [] { return true; }, const std::function<bool()>& goes_on = {},
    const section_pass_options& options = {});

}  // namespace sluice::analysis
