#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/event_store.hpp"
#include "core/summary/sections/section_list.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Reads what a file stores about its sections, so that a query about a short interval reads only part of the file.
namespace sluice::summary {

/// Builds event stores of sections from a file. Immutable; may be used by many threads at the same time.
class section_reader {
 public:
  /// `sections`: the sections of the file, if they have been read already. Errors: not_found if the file stores no
  /// sections; corrupt; io.
  [[nodiscard]] static result<std::shared_ptr<const section_reader>> open(
      std::shared_ptr<const trace::snapshot> recording, std::shared_ptr<const index::step_facts> steps,
      std::shared_ptr<const section_list> sections = nullptr);
  /// Makes a reader from known sections and known facts about the whole recording. Only the rest is read from the file.
  [[nodiscard]] static std::shared_ptr<const section_reader> of(std::shared_ptr<const trace::snapshot> recording,
                                                                std::span<const trace::section_row> sections,
                                                                std::shared_ptr<const index::recording_facts> whole);

  [[nodiscard]] const trace::snapshot& snapshot() const { return *from_; }
  [[nodiscard]] const section_list& sections() const { return *sections_; }
  /// Facts about the whole recording. A file may omit their `segments`.
  [[nodiscard]] const std::shared_ptr<const index::recording_facts>& whole() const { return whole_; }
  /// Facts about the whole recording, including `segments`. If `whole` omits them, the first call reads them. Null if
  /// they cannot be read.
  [[nodiscard]] const std::shared_ptr<const index::recording_facts>& whole_with_segments() const;
  /// Returns the section that contains `time`. The first section also covers all earlier times, and the last section
  /// all later times.
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  /// Returns the time range of sections [first, last]. The first section has no start, and the last section has no end.
  [[nodiscard]] time_range find_run(std::size_t first, std::size_t last) const;

  /// Builds an event store of sections [first, last]: see `section_index`. Calls `goes_on`, if set, after each chunk.
  /// If `only` is set, the result contains the events of that process alone, and nothing shared by all processes, such
  /// as samples of a device's memory. O(rows of the sections + blocks live at their start). Errors: cancelled once
  /// `goes_on` returns false; io, corrupt.
  [[nodiscard]] result<std::shared_ptr<const index::event_store>> get_index(
      std::size_t first, std::size_t last, index::section_scope scope = index::section_scope::everything,
      const std::function<bool()>& goes_on = {}, trace::process_id only = trace::process_id::none) const;

  /// Returns the stored steps of a process that overlap `range`, in order. Empty if there are too many to examine
  /// individually, or if they cannot be read. O(log steps + steps found).
  [[nodiscard]] std::vector<index::step> few_steps_in(time_range range, trace::process_id process) const;

 private:
  [[nodiscard]] result<index::section_facts> read(std::size_t first, std::size_t last, index::section_scope scope,
                                                  const std::function<bool()>& goes_on) const;
  template <class Row, class Use>
  result<void> get_rows(const trace::chunk_info& chunk, time_ns begin, time_ns to, Use&& use,
                        trace::column_set<Row> wanted) const;
  template <class Row, class Use>
  result<void> rows_in(time_ns begin, time_ns to, Use&& use, trace::column_set<Row> wanted = {},
                       const std::function<bool()>& goes_on = {}) const;

  std::shared_ptr<const trace::snapshot> from_;
  std::shared_ptr<const index::recording_facts> whole_;
  bool in_short_ = false;  ///< True if `whole_` omits `segments`.
  mutable std::once_flag segments_read_;
  mutable std::shared_ptr<const index::recording_facts> with_segments_;
  /// The start of a section, as it is stored in the rows about the section.
  [[nodiscard]] time_ns get_begin(std::size_t section) const { return bounded(sections_->at(section).begin); }

  std::shared_ptr<const section_list> sections_;
};

}  // namespace sluice::summary
