#pragma once

#include <functional>
#include <memory>

#include "core/index/index.hpp"

namespace sluice::analysis {

/// The index of one section of a recording, or of several that follow one another: of its events, and of what the file says about the time
/// around it (`section_facts`). Questions about a moment or a range inside are answered as an index of the whole recording answers them, but
/// for three: who imported a block, which faults there were, and the names and categories that the program gave to blocks. Those are read
/// from rows (`is_part`).
class section_index final : public index {
 public:
  /// `about.whole` must be of the same file as `from`. Nothing is read yet.
  explicit section_index(section_facts about);

  /// Reads the section, once. O(rows in the section + rows before it of kinds that still matter in it). Calls `goes_on`, if there is
  /// one, after each chunk. If that returns false, stops and returns false; the index must not be asked anything then.
  bool absorb(const trace::snapshot& from, const std::function<bool()>& goes_on = {});
  /// Keeps what a timeline draws: curves, slices, and what blocks are for. Frees the blocks. Nothing can be read after this.
  void keep_what_is_drawn(const trace::snapshot& from);

 private:
  void set_known(const section_facts& about);
  void set_known_samples(const section_facts& about);
  void set_known_slices(const section_facts& about);
  void find_stacks_of_copies(const trace::snapshot& from, const std::vector<bool>& taken);
};

}  // namespace sluice::analysis
