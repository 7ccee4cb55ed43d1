#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/index.hpp"
#include "core/summary/sections/section_list.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Reads what a file stores about its sections, so that a query about a short time only reads a part of the file.
namespace sluice::analysis {

/// Builds indexes of sections from a file. Immutable; may be used by many threads at once.
class section_reader {
 public:
  /// `sections`: those of the file, if they have been read. Errors: not_found if the file stores no sections; corrupt; io.
  [[nodiscard]] static result<std::shared_ptr<const section_reader>> open(
      std::shared_ptr<const trace::snapshot> from, std::shared_ptr<const step_facts> steps,
      std::shared_ptr<const section_list> sections = nullptr);
  /// Makes a reader from known sections and facts about the whole recording; reads only the rest from the file.
  [[nodiscard]] static std::shared_ptr<const section_reader> of(std::shared_ptr<const trace::snapshot> from,
                                                                std::span<const trace::section_row> sections,
                                                                std::shared_ptr<const recording_facts> whole);

  [[nodiscard]] const trace::snapshot& snapshot() const { return *from_; }
  [[nodiscard]] const section_list& sections() const { return *sections_; }
  /// Facts about the whole recording, of which a file may leave out `segments`.
  [[nodiscard]] const std::shared_ptr<const recording_facts>& whole() const { return whole_; }
  /// The same with `segments`, which the first call reads if `whole` leaves them out. Null if they cannot be read.
  [[nodiscard]] const std::shared_ptr<const recording_facts>& whole_with_segments() const;
  /// The section that contains `time`. The first also covers all earlier times, the last all later ones.
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  /// The time range of sections [first, last]. The first section has no begin, the last no end.
  [[nodiscard]] time_range run_of(std::size_t first, std::size_t last) const;

  /// Builds an index of sections [first, last]: see `section_index`. Calls `goes_on`, if set, after each chunk. O(rows
  /// of the sections + blocks live at their start). Errors: cancelled once `goes_on` returns false; io, corrupt.
  /// `only`: the index knows the events of this process alone, and not what is of all processes, such as samples of a
  /// device's memory.
  [[nodiscard]] result<std::shared_ptr<const index>> index_of(std::size_t first, std::size_t last,
                                                              section_scope scope = section_scope::everything,
                                                              const std::function<bool()>& goes_on = {},
                                                              trace::process_id only = trace::process_id::none) const;

  /// The stored steps of a process that overlap `range`, in order. Empty if there are too many to be looked at one by
  /// one, or if they cannot be read. O(log steps + found).
  [[nodiscard]] std::vector<step> few_steps_in(time_range range, trace::process_id process) const;

 private:
  [[nodiscard]] result<section_facts> read(std::size_t first, std::size_t last, section_scope scope,
                                           const std::function<bool()>& goes_on) const;
  template <class Row, class Use>
  result<void> rows_of(const trace::chunk_info& chunk, time_ns from, time_ns to, Use&& use,
                       trace::column_set<Row> wanted) const;
  template <class Row, class Use>
  result<void> rows_in(time_ns from, time_ns to, Use&& use, trace::column_set<Row> wanted = {},
                       const std::function<bool()>& goes_on = {}) const;

  std::shared_ptr<const trace::snapshot> from_;
  std::shared_ptr<const recording_facts> whole_;
  bool in_short_ = false;  ///< `whole_` leaves out `segments`.
  mutable std::once_flag segments_read_;
  mutable std::shared_ptr<const recording_facts> with_segments_;
  /// When a section begins, as its rows have it.
  [[nodiscard]] time_ns begin_of(std::size_t section) const { return bounded(sections_->at(section).begin); }

  std::shared_ptr<const section_list> sections_;
};

}  // namespace sluice::analysis
