#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Computes the data that a file stores about its sections. Processes the sections in order, with at most three of them
/// in memory.
namespace sluice::summary {

struct section_pass_options {
  /// If true, three more threads read ahead data that does not depend on blocks: uses of blocks, device and host work.
  bool several_cores = true;
  std::size_t max_kept = std::size_t{1} << 16;  ///< See `section_pass`.
};

struct section_pass_result {
  bool complete =
      false;  ///< False if a row could not be read again or the pass was stopped. The other members are then
              ///< meaningless.
  index::recording_facts whole;
  std::uint64_t malformed = 0;  ///< Number of contradictory allocation, free and checkpoint rows.
};

/// Indexes the sections in order of time. A section is indexed from its own rows and from the state after the previous
/// section: live blocks, running slices and current samples. A block gets its category once it is freed.
///
/// Writes data for `section_reader`: blocks that cross section boundaries, categories, running slices, samples. Returns
/// the facts about the whole recording. In these facts, the peak bytes of each category are 0, so the caller must fill
/// them in and store the facts.
///
/// The pass takes the memory of the index of one section, of parts of two more, of the live blocks, and some 400 bytes
/// for each block that crosses a section boundary, until the block is written. If there are more than `max_kept` such
/// blocks, the blocks that were freed before the last section are written. Later rows about these blocks count as
/// malformed. O(rows * log). A chunk is read once for each section that it overlaps.
///
/// The pass stops once one of two callbacks returns false. `wanted` is called before each section. `goes_on` is called
/// after each chunk, from any thread.
///
/// The pass infers lost frees from the checkpoints after the loss, as an event store of all rows does
/// (`recording_scan::loss_checkpoints`).
///
/// The caller calls `begin`, then `go_until`, and `finish` after the last section. For a growing recording, it calls
/// `settle` after `go_until`, lets a copy continue to the end, and calls `begin` again later.
class section_pass {
 public:
  /// `known` must outlive this object.
  explicit section_pass(const recording_scan& known, const section_pass_options& options = {});
  section_pass(const section_pass& other);  ///< The copy is independent.
  section_pass& operator=(const section_pass&) = delete;
  ~section_pass();

  /// Starts the pass. Must be called first, and again when the scan has continued. `into` has the sections. The
  /// sections that were already processed must be the first of them, unchanged. All arguments must outlive the calls
  /// that follow.
  void begin(std::shared_ptr<const index::step_facts> steps, section_writer& into, const std::function<bool()>& wanted,
             const std::function<bool()>& goes_on);
  /// Processes the sections before number `behind`. Returns false if a row could not be read or a callback stopped the
  /// pass. After `wanted`, the pass can continue. After `goes_on`, which stops within a section, it cannot.
  [[nodiscard]] bool go_until(std::size_t behind);
  /// The number of processed sections.
  [[nodiscard]] std::size_t gone_through() const;
  /// See `section_pass_options`. The setting applies from the next `go_until`.
  void set_several_cores(bool several);
  /// Writes the remaining data of the sections so far: slices that run when the sections start, and chunks. `ahead` is
  /// a copy that has continued to the last section. It then omits this data.
  void settle(section_pass& ahead);
  /// True if blocks of the sections so far might get other categories with the current data. Must be called after
  /// `begin` or `go_until`.
  [[nodiscard]] bool revised() const;
  /// The highest allocation id among the blocks with a final category.
  [[nodiscard]] std::uint64_t highest_judged() const;
  /// Returns the result. Must be called once, after `go_until` of all sections.
  [[nodiscard]] section_pass_result finish();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::summary
