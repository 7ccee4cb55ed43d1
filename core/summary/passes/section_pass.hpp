#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

/// Computes the data that a file stores about its sections. Processes them in order, with at most three in memory.
namespace sluice::summary {

struct section_pass_options {
  /// Uses three more threads to read ahead data that does not depend on blocks: uses of blocks, device and host work.
  bool several_cores = true;
  std::size_t max_kept = std::size_t{1} << 16;  ///< See `section_pass`.
};

struct section_pass_result {
  bool complete =
      false;  ///< False if a row could not be read again or the pass was stopped; then ignore the other members.
  index::recording_facts whole;
  std::uint64_t malformed = 0;  ///< Number of contradictory allocation, free and checkpoint rows.
};

/// Indexes the sections in order of time, each from its own rows and the state after the previous one: live blocks,
/// running slices and current samples. A block gets its category once it is freed.
///
/// Writes data for `section_reader`: blocks that cross section boundaries, categories, running slices, samples. Returns
/// the facts about the whole recording. In these, the peak bytes of each category are 0: the caller must fill them in
/// and store the facts.
/// Memory: the index of one section, parts of two more, the live blocks, and some 400 bytes for each block that crosses
/// a section boundary, until it is written. With more than `max_kept` such blocks, those that were freed before the
/// last section are written; later rows about them count as malformed.
/// O(rows * log): a chunk is read once for each section that it overlaps.
///
/// Stops once one of two callbacks returns false: `wanted`, called before each section, or `goes_on`, called after each
/// chunk and from any thread.
///
/// Infers lost frees from the checkpoints after the loss, as an event store of all rows does
/// (`recording_scan::loss_checkpoints`).
///
/// Call `begin`, then `go_until`, and `finish` after the last section. For a growing recording, call `settle` after
/// `go_until`, let a copy continue to the end, and call `begin` again later.
class section_pass {
 public:
  /// `known` must outlive this.
  explicit section_pass(const recording_scan& known, const section_pass_options& options = {});
  section_pass(const section_pass& other);  ///< The copy is independent.
  section_pass& operator=(const section_pass&) = delete;
  ~section_pass();

  /// Call first, and again when the scan has continued. `into` has the sections; those that were already processed must
  /// be the first of them, unchanged. All arguments must outlive the calls that follow.
  void begin(std::shared_ptr<const index::step_facts> steps, section_writer& into, const std::function<bool()>& wanted,
             const std::function<bool()>& goes_on);
  /// Processes the sections before number `behind`. False if a row could not be read or a callback stopped it: after
  /// `wanted`, it can continue; after `goes_on`, which stops within a section, it cannot.
  [[nodiscard]] bool go_until(std::size_t behind);
  /// The number of processed sections.
  [[nodiscard]] std::size_t gone_through() const;
  /// See `section_pass_options`. Applies from the next `go_until`.
  void set_several_cores(bool several);
  /// Writes the remaining data of the sections so far: slices that run when they start, and chunks. `ahead` is a copy
  /// that has continued to the last section; it then omits this data.
  void settle(section_pass& ahead);
  /// True if blocks of the sections so far might get other categories with the current data. Call after `begin` or
  /// `go_until`.
  [[nodiscard]] bool revised() const;
  /// The highest allocation id among the blocks with a final category.
  [[nodiscard]] std::uint64_t highest_judged() const;
  /// Call once, after `go_until` of all sections.
  [[nodiscard]] section_pass_result finish();

 private:
  class state;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::summary
