#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/index/boundary_samples.hpp"
#include "core/index/recording_facts.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/sections/section_writer.hpp"

namespace sluice::summary {

/// The owners (streams, directions, threads) of a section's slices, by position.
struct slice_owners;

/// Tracks device work, host threads and counters section by section, so that the work that runs at the end of a section
/// is known when the next section is read. `section_pass` uses this class. Not thread-safe.
class section_work {
 public:
  /// `known` must outlive this object.
  explicit section_work(const recording_scan& known);
  section_work(const section_work& other);  ///< The copy is independent.
  section_work& operator=(const section_work&) = delete;
  ~section_work();

  /// Sets the sections. Must be called first, and again when the recording has grown. `begins` are the start times of
  /// the sections; the times from earlier calls must not change. `chunks` are all chunks of the recording. The array of
  /// `begins` must outlive this object.
  void begin(std::span<const time_ns> begins, std::shared_ptr<const index::chunk_index> chunks);

  /// Reads a section. Must be called for each section, in order. Returns the counter samples that apply when the next
  /// section begins. Returns nothing if a row could not be read, or once `goes_on`, which is called after each chunk,
  /// returns false.
  [[nodiscard]] std::optional<std::vector<trace::last_sample_row>> go_through(std::size_t section,
                                                                              const std::function<bool()>& goes_on);

  /// Writes the slices that run at the start of each section processed so far. `ahead` must be a copy of this object
  /// that has processed all sections; `ahead` knows all owners (streams, directions, threads), and numbers them.
  /// `ahead` will not write these slices again. Owners that an earlier call numbered keep their numbers.
  void settle(section_writer& into, section_work& ahead);

  // The following functions must be called after the last section.

  /// Writes the slices that run at the starts of the remaining sections.
  void write_open_slices(section_writer& into) {
    keep_numbers();
    write_open_slices(into, *owners_);
  }
  /// Adds the streams, directions and threads to `into`.
  void put_facts(index::recording_facts& into) const;
  /// Returns the first and the highest samples of counters. Must be called only once.
  [[nodiscard]] index::counter_trees take_counters();

 private:
  /// Gives owners the positions under which `settle` has written them.
  void keep_numbers();
  void write_open_slices(section_writer& into, const slice_owners& owners);
  struct boundary_slices {
    std::vector<trace::open_slice_row> rows;  ///< The owners in the rows are positions in `by`.
    std::shared_ptr<const slice_owners> by;
  };

  const recording_scan& known_;
  time_range span_;
  std::span<const time_ns> begins_;
  std::vector<trace::last_sample_row> first_samples_;  ///< The first sample of each counter in the recording.
  /// The facts so far. They do not change while the event store of a section uses them.
  const std::shared_ptr<index::recording_facts> whole_;
  std::shared_ptr<const slice_owners> owners_;
  std::vector<boundary_slices> boundaries_;  ///< One element for each section start, from the second section on.
  /// The number of boundaries that have been written. The rows of all these boundaries but the last are dropped.
  std::size_t written_ = 0;
  std::shared_ptr<const slice_owners> written_for_;  ///< The owners at the last `settle`; null if there was none.
  std::vector<trace::last_sample_row> samples_before_;
  std::map<index::direction_key, double> highest_rates_;
  index::counter_trees counters_;  ///< The first and the highest samples of each section.
};

}  // namespace sluice::summary
