#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "core/base/error.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

/// Sorts the chunks of a recording. The recorder writes a small chunk every tenth of a second, in order of arrival. The
/// sorted file has few, full chunks, each with rows that are read together.
namespace sluice::summary {

class recording_scan;

/// Which of the due rows are moved: all rows, or only rows of row types with many rows.
enum class rows_moved : std::uint8_t { many, all };

/// Moves the rows of a recording to a new file, section by section, in order of (time, id), possibly while the
/// recording is being written. The rows of tables that are known so far precede the events of a section. A row type
/// with enough rows in a section gets chunks for rows that end in the section, and separate chunks for rows that end
/// later. A query about a section then reads few other rows. Rare types share chunks across sections. Attributes and
/// links keep their order, because only the last row counts. Ids do not change.
///
/// For each row type, holds the rows of a section in memory, at most 131,072 plus a chunk. Larger sections are sorted
/// in pieces. Not thread-safe.
class reordering {
 public:
  /// `to` must be empty. If `scan` is not null, it receives the events as they are written, and the caller must call
  /// `recording_scan::look_at` afterwards. `to` and `scan` must outlive this object.
  explicit reordering(trace::file_writer& to, recording_scan* scan = nullptr);
  ~reordering();

  /// Moves the table rows of `recording` that were added since the last call. `recording` must have the chunks that it
  /// had in the last call, with the same numbers, and may have more. Call this before moving events of the new chunks.
  /// Calls `goes_on` before each chunk. Errors: io, corrupt, no_space; cancelled once `goes_on` returns false. After
  /// cancelled, repeat the call to continue.
  [[nodiscard]] result<void> take(const trace::snapshot& recording, const std::function<bool()>& goes_on);
  /// Moves the rows that begin before `end`, the end of a section, and late rows of earlier sections. Errors: see
  /// `take`. O(events * log(events in memory)).
  [[nodiscard]] result<void> move_until(const trace::snapshot& recording, trace::time_ns end,
                                        const std::function<bool()>& goes_on, rows_moved which = rows_moved::many);
  /// Moves the remaining rows, which are the last section.
  [[nodiscard]] result<void> move_rest(const trace::snapshot& recording, const std::function<bool()>& goes_on);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Moves all rows of `recording`, as `reordering` does. If `sections` is empty, sorts all rows as one section.
[[nodiscard]] result<void> reorder_chunks(const trace::snapshot& recording,
                                          std::span<const trace::section_row> sections, trace::file_writer& to,
                                          const std::function<bool()>& goes_on, recording_scan* scan = nullptr);

}  // namespace sluice::summary
