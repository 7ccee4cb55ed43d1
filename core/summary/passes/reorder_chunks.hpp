#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Sorts the chunks of a recording. The recorder writes a small chunk every tenth of a second, as events come; the sorted
/// file has few, full chunks with rows that are read together.
namespace sluice::analysis {

class recording_scan;

/// Which of the rows that are due are moved: all, or of kinds with few of them none.
enum class rows_moved : std::uint8_t { many, all };

/// Moves the rows of a recording to a new file, section by section, in order of (time, id); also while it is written.
/// Before the events of a section come the rows of tables so far. A row type with enough rows in a section gets chunks
/// for rows that end in the section, and separate chunks for rows that end later, so that a query about a section reads
/// little else. Rare types share chunks across sections. Attributes and links, where the last row counts, keep their
/// order. Ids do not change.
///
/// Of each row type, holds a section's rows in memory, at most 131,072 and a chunk; larger sections are sorted in pieces.
/// Not thread-safe.
class reordering {
 public:
  /// `to` is empty. `scan`, if not null, gets the events as they are written; `recording_scan::end` is up to the caller.
  /// Both must outlive this.
  explicit reordering(trace::file_writer& to, recording_scan* scan = nullptr);
  ~reordering();

  /// Moves what `from` has more of tables than at the last call. `from` has the chunks of the last call, with the same
  /// numbers, and maybe more. Call it before moving events of the new chunks. Calls `goes_on` before each chunk.
  /// Errors: io, corrupt, no_space; cancelled once `goes_on` returns false. Then the same call continues.
  [[nodiscard]] result<void> take(const trace::snapshot& from, const std::function<bool()>& goes_on);
  /// Moves the rows that begin before `end`, the end of a section. Rows of an earlier section that came late are moved
  /// too. Errors as of `take`. O(events * log(events in memory)).
  [[nodiscard]] result<void> move_until(const trace::snapshot& from, trace::time_ns end,
                                        const std::function<bool()>& goes_on, rows_moved which = rows_moved::many);
  /// Moves all that is left: the last section.
  [[nodiscard]] result<void> move_rest(const trace::snapshot& from, const std::function<bool()>& goes_on);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Moves all rows of `from`, as `reordering` does. Without sections, they are sorted as one.
[[nodiscard]] result<void> reorder_chunks(const trace::snapshot& from, std::span<const trace::section_row> sections,
                                          trace::file_writer& to, const std::function<bool()>& goes_on,
                                          recording_scan* scan = nullptr);

}  // namespace sluice::analysis
