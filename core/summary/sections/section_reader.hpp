#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "core/base/error.hpp"
#include "core/index/index.hpp"
#include "core/timeline/span_groups.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// What a file keeps so that a question about a short time is answered by reading a part of it.
namespace sluice::analysis {

/// Adds to a file, before it is closed, what `section_reader` reads beside the sections: the blocks that cross from one to another, what
/// blocks are for, what runs on, and what the recording as a whole shows. `from` has taken in all of `of`, which holds the events of
/// the file. A recording of which that would take more than a chunk can hold gets none of it. O(blocks * log blocks).
void save_sections(const index& from, const trace::snapshot& of, std::span<const trace::section_row> sections,
                   trace::file_writer& to);

/// Immutable; may be used from many threads at once.
class section_reader {
 public:
  /// Errors: not_found, if the file has nothing of it; corrupt, if it makes no sense; io.
  [[nodiscard]] static result<std::shared_ptr<const section_reader>> open(std::shared_ptr<const trace::snapshot> from,
                                                                          std::shared_ptr<const step_facts> steps);
  /// The same where the sections, and what the recording shows as a whole, are known: of the file it reads the rest.
  [[nodiscard]] static std::shared_ptr<const section_reader> of(std::shared_ptr<const trace::snapshot> from,
                                                                std::span<const trace::section_row> sections,
                                                                std::shared_ptr<const recording_facts> whole);

  [[nodiscard]] const trace::snapshot& snapshot() const { return *from_; }
  [[nodiscard]] std::span<const trace::section_row> sections() const { return sections_; }
  [[nodiscard]] const std::shared_ptr<const recording_facts>& whole() const { return whole_; }
  /// The section that holds `time`; what comes before the first belongs to it, and what comes after the last to that.
  [[nodiscard]] std::size_t section_at(time_ns time) const;
  /// What lies in sections [first, last]; the first section has no begin, the last no end.
  [[nodiscard]] time_range run_of(std::size_t first, std::size_t last) const;

  /// An index of sections [first, last]: see `section_index`. Calls `goes_on`, if there is one, after each chunk that it has read.
  /// O(rows in them + blocks that live at their begin). Errors: cancelled, once `goes_on` says no; io, corrupt.
  [[nodiscard]] result<std::shared_ptr<const index>> index_of(std::size_t first, std::size_t last,
                                                              section_scope scope = section_scope::everything,
                                                              const std::function<bool()>& goes_on = {}) const;

  /// The steps of a process that the file keeps and that have something in `range`, in order; none if they are so many that nobody looks
  /// at one of them, or cannot be read. O(log steps + found).
  [[nodiscard]] std::vector<step> few_steps_in(time_range range, trace::process_id process) const;

 private:
  struct summary_chunks {
    std::vector<std::uint32_t> list;  ///< Their places among all.
    span_groups spans;
  };
  [[nodiscard]] const trace::chunk_info& summary(std::uint32_t place) const { return from_->summaries()[place]; }
  /// Once.
  void take(std::shared_ptr<const trace::snapshot> from);
  [[nodiscard]] result<section_facts> read(std::size_t first, std::size_t last, section_scope scope,
                                           const std::function<bool()>& goes_on) const;
  template <class Row, class Use>
  result<void> rows_of(const trace::chunk_info& chunk, time_ns from, time_ns to, Use&& use,
                       trace::column_set<Row> wanted) const;
  template <class Row, class Use>
  result<void> rows_in(time_ns from, time_ns to, Use&& use, trace::column_set<Row> wanted = {},
                       const std::function<bool()>& goes_on = {}) const;

  std::shared_ptr<const trace::snapshot> from_;
  std::map<trace::row_type, summary_chunks> summaries_;  ///< Of the file, but for tiles, in order.
  std::shared_ptr<const recording_facts> whole_;
  std::vector<trace::section_row> sections_;
  std::vector<time_ns> begins_;
};

}  // namespace sluice::analysis
