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

namespace sluice::analysis {

/// The owners of a section's slices, by position.
struct slice_owners;

/// Goes through what devices and threads do, and through counters, section after section: what runs at the end of one is
/// known to the next. A part of `section_pass`. Not thread-safe.
class section_work {
 public:
  /// `known` must outlive this.
  explicit section_work(const recording_scan& known);
  section_work(const section_work& other);  ///< The copy goes on alone.
  section_work& operator=(const section_work&) = delete;
  ~section_work();

  /// Call first, and again when the recording has grown. `begins` are those of the sections, the first of them as before,
  /// `chunks` all of the recording. `begins` must outlive this.
  void begin(std::span<const time_ns> begins, std::shared_ptr<const chunk_index> chunks);

  /// Reads a section; call for each, in order. Returns the samples of counters that hold when the next begins; nothing if
  /// a row could not be read, or once `goes_on`, called after each chunk, returns false.
  [[nodiscard]] std::optional<std::vector<trace::last_sample_row>> go_through(std::size_t section,
                                                                              const std::function<bool()>& goes_on);

  /// Writes what runs at the begins of the sections so far, with the owners of `ahead`, a copy that has gone on to the last
  /// section. That one then leaves them out. Owners keep the numbers that they had in what was written before.
  void settle(section_writer& into, section_work& ahead);

  // After the last section:

  void write_open_slices(section_writer& into) {
    keep_numbers();
    write_open_slices(into, *owners_);
  }
  /// Adds streams, directions and threads.
  void put_facts(recording_facts& into) const;
  /// The first and the highest samples of counters, once.
  [[nodiscard]] counter_trees take_counters();

 private:
  /// Gives owners the positions by which `settle` has written them.
  void keep_numbers();
  void write_open_slices(section_writer& into, const slice_owners& owners);
  struct boundary_slices {
    std::vector<trace::open_slice_row> rows;  ///< Owners are positions in `by`.
    std::shared_ptr<const slice_owners> by;
  };

  const recording_scan& known_;
  time_range span_;
  std::span<const time_ns> begins_;
  std::vector<trace::last_sample_row> first_samples_;  ///< Of counters.
  /// The facts so far. Not changed while an index of a section uses it.
  const std::shared_ptr<recording_facts> whole_;
  std::shared_ptr<const slice_owners> owners_;
  std::vector<boundary_slices> boundaries_;          ///< From the start of the second section on.
  std::size_t written_ = 0;                          ///< Of these; their rows are gone, but those of the last.
  std::shared_ptr<const slice_owners> written_for_;  ///< By `settle`; null: nothing was.
  std::vector<trace::last_sample_row> samples_before_;
  std::map<direction_key, double> highest_rates_;
  counter_trees counters_;  ///< The first and the highest samples of each section.
};

}  // namespace sluice::analysis
