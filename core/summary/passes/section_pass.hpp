#pragma once

#include <cstdint>
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
  std::size_t most_kept = std::size_t{1} << 16;  ///< See `section_pass`.
};

struct section_pass_result {
  bool complete =
      false;  ///< False if a row could not be read again or the pass was stopped; then ignore the other members.
  recording_facts whole;
  std::uint64_t malformed = 0;  ///< Number of contradictory allocation, free and checkpoint rows.
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
/// Stops once `wanted`, called before each section, or `goes_on`, called after each chunk and from any thread, returns false.
///
/// Infers lost frees, as an index of all rows does, from the checkpoints that follow the loss
/// (`recording_scan::loss_checkpoints`).
///
/// Call `begin`, then `go_until`, and `finish` after the last section. The recording may grow: then call `settle` after `go_until`, let a
/// copy go on to the end, and `begin` again later.
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
  /// Goes through the sections before number `behind`. False if a row could not be read, or it was stopped: by `wanted`, after a
  /// section, from which it may go on; by `goes_on`, in one.
  [[nodiscard]] bool go_until(std::size_t behind);
  /// How many sections it has gone through.
  [[nodiscard]] std::size_t gone_through() const;
  /// See `section_pass_options`. Counts from the next `go_until` on.
  void set_several_cores(bool several);
  /// Writes what is left to be told of the sections so far: what runs when they begin, and chunks. `ahead` is a copy that has gone on to
  /// the last section; it leaves that out.
  void settle(section_pass& ahead);
  /// True if the sections so far may have been judged otherwise than all that is known by now says. Call after `begin` or
  /// `go_until`.
  [[nodiscard]] bool revised() const;
  /// The highest id of an allocation whose block was judged for good.
  [[nodiscard]] std::uint64_t highest_judged() const;
  /// Call once, after `go_until` of all sections.
  [[nodiscard]] section_pass_result finish();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::analysis
