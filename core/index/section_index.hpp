#pragma once

#include <functional>
#include <memory>

#include "core/index/index.hpp"

namespace sluice::analysis {

/// The index of one section (time span) of a recording, or of adjacent sections. It knows the events inside, and facts
/// about the time outside (`section_facts`). Queries about times inside give the same result as an index of the whole
/// recording, except for owners of imported memory, GPU faults, and names and categories that the program gave to
/// blocks: callers that find `is_part` true must read these from rows.
class section_index final : public index {
 public:
  /// `about.whole` must be of the same file as the snapshot passed to `absorb`. Reads nothing yet.
  explicit section_index(section_facts about);

  /// Reads the section; call once. O(rows in the section + rows of types that `matters_everywhere` names). Calls a
  /// non-empty `goes_on` after each chunk; if that returns false, stops and returns false. Then no query is allowed.
  bool absorb(const trace::snapshot& from, const std::function<bool()>& goes_on = {});
  /// Keeps only what a timeline draws: slices and curves (also by category). Discards the blocks. No `absorb` after.
  void keep_what_is_drawn(const trace::snapshot& from);

 private:
  void set_known(const section_facts& about);
  void set_known_memory(const section_facts& about);
  void set_known_uses(const section_facts& about);
  void expect_uses(const trace::snapshot& from);
  void set_known_samples(const section_facts& about);
  void set_known_slices(const section_facts& about);
  void forget_told_blocks(const trace::snapshot& from);
  void find_stacks_of_copies(const trace::snapshot& from, std::span<const std::size_t> taken);
};

}  // namespace sluice::analysis
