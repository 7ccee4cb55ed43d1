#pragma once

#include <functional>
#include <memory>

#include "core/index/event_store.hpp"

namespace sluice::index {

/// The index of one section (time span) of a recording, or of several adjacent sections. It contains the events in that
/// time span, and facts about the time outside (`section_facts`). Queries about times in the section return the same
/// results as an index of the whole recording. Exceptions are the owners of imported memory, GPU faults, and the names
/// and categories that the program assigned to blocks: if `is_part` is true, callers must read these from rows.
class section_index final : public event_store {
 public:
  /// `about.whole` must describe the file of the snapshot that is passed to `absorb`. The constructor reads nothing.
  explicit section_index(section_facts about);

  /// Reads the section. Must be called only once. O(rows in the section + rows of types for which `matters_everywhere`
  /// is true). If `goes_on` is not empty, it is called after each chunk. Once `goes_on` returns false, reading stops
  /// and `absorb` returns false. The index must then not be queried.
  bool absorb(const trace::snapshot& recording, const std::function<bool()>& goes_on = {});
  /// Keeps only the data that a timeline draws: slices, and curves, including the curves by category. Discards the
  /// blocks. `absorb` must not be called afterwards.
  void keep_what_is_drawn(const trace::snapshot& recording);

 private:
  void set_known(const section_facts& about);
  void set_known_memory(const section_facts& about);
  void set_known_uses(const section_facts& about);
  void expect_uses(const trace::snapshot& recording);
  void set_known_samples(const section_facts& about);
  void set_known_slices(const section_facts& about);
  void forget_reported_blocks(const trace::snapshot& recording);
  void find_stacks_of_copies(const trace::snapshot& recording, std::span<const std::size_t> taken);
};

}  // namespace sluice::index
