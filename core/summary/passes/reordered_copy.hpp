#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/summary/passes/recording_scan.hpp"
#include "core/summary/passes/reorder_chunks.hpp"
#include "core/summary/passes/summing_up.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"
#include "core/trace/model/summary_rows.hpp"

/// The file that replaces a recording when that is closed: its rows in order, and what sums them up.
namespace sluice::analysis {

/// Made at the end of a recording, or begun while it is written: sections that are over are moved, and the rest at the
/// end. Both ways give the same file, except that tables then lie between the events too, and rows that come later than
/// their section was moved lie behind it. Use from one thread at a time.
class reordered_copy {
 public:
  /// Begins a copy beside the file of `of`, with sections of about `section_events` events. Errors: those of
  /// `file_writer::create_beside`.
  [[nodiscard]] static result<std::unique_ptr<reordered_copy>> beside(const trace::file_writer& of,
                                                                      double section_events);
  reordered_copy(trace::file_writer to, std::string of, double section_events);

  /// Moves the sections of a growing recording that end by `until`. `so_far` is of the same file as at the last call.
  /// O(chunks so far + new events). Errors: those of `reordering`; after any but cancelled, this is of no use.
  [[nodiscard]] result<void> grow(std::shared_ptr<const trace::snapshot> so_far, time_ns until,
                                  const std::function<bool()>& goes_on);
  /// Sums up, of what was moved, what will not change any more; call it after `grow` has moved all up to its `until`. See
  /// `summing_up::go_on`.
  void sum_up_so_far(const std::function<bool()>& wanted);
  /// True if this is a part of `whole`, a snapshot of the file of `of`: that file was not replaced, moved or cut since.
  /// O(chunks).
  [[nodiscard]] bool is_part_of(const trace::file_writer& of, const trace::snapshot& whole) const;
  /// Moves all that is left of `whole`. Errors as of `grow`.
  [[nodiscard]] result<void> complete(const trace::snapshot& whole, const std::function<bool()>& goes_on);

  [[nodiscard]] trace::file_writer& file() { return to_; }
  /// Returns a snapshot of the file, and shows it to the scan. Errors: those of `trace::file::open`.
  [[nodiscard]] result<std::shared_ptr<const trace::snapshot>> look();
  /// False if the scan does not know all chunks: the writer cuts one of very long rows in two. Then `sums` is of no use.
  [[nodiscard]] bool is_scanned() const { return scanned_; }
  /// Once this is complete and was looked at, end it.
  [[nodiscard]] summing_up& sums() { return sums_; }
  /// The sections so far. Once this is complete: all.
  [[nodiscard]] const std::vector<trace::section_row>& sections() const { return sections_; }

 private:
  trace::file_writer to_;
  std::string of_;  ///< Path of the recording.
  double section_events_;
  trace::tables tables_;  ///< Those so far, for the scan.
  recording_scan scan_{tables_};
  reordering moves_{to_, &scan_};
  summing_up sums_{scan_};
  bool scanned_ = true;
  std::shared_ptr<trace::file> reader_;            ///< Of `to_`.
  std::shared_ptr<const trace::snapshot> moved_;   ///< The last snapshot of it.
  std::shared_ptr<const trace::snapshot> so_far_;  ///< From the last `grow` that moved something.
  std::vector<trace::section_row> sections_;
  time_ns moved_until_ = -latest_time;
};

}  // namespace sluice::analysis
