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

/// Builds the file that replaces a recording when the recording is closed. The file has the rows of the recording in
/// sorted order, and its summary.
namespace sluice::summary {

/// The sorted copy of a recording. It is built at the end of the recording, or started while the recording is written.
/// In the latter case, finished sections are moved early, and the rest is moved at the end. Both ways give the same
/// file, with two exceptions. Early moves also place tables between the events, and rows that arrive after their
/// section was moved are stored after that section. The object must be used from one thread at a time.
class reordered_copy {
 public:
  /// Starts a copy next to the file of `file_writer`, with about `section_events` events per section. Errors: those of
  /// `file_writer::create_beside`.
  [[nodiscard]] static result<std::unique_ptr<reordered_copy>> beside(const trace::file_writer& file_writer,
                                                                      double section_events);
  reordered_copy(trace::file_writer to, std::string text, double section_events);

  /// Moves the sections of a growing recording that end no later than `until`. `so_far` must be a snapshot of the same
  /// file as in the last call. O(chunks so far + new events). Errors: those of `reordering`. After any error but
  /// cancelled, this object is unusable.
  [[nodiscard]] result<void> grow(std::shared_ptr<const trace::snapshot> so_far, time_ns until,
                                  const std::function<bool()>& goes_on);
  /// Sums up the moved rows that will not change any more. Must be called after `grow` has moved everything up to its
  /// `until`. See `summing_up::go_on`.
  void sum_up_so_far(const std::function<bool()>& wanted);
  /// True if this is a copy of a part of `whole`, a snapshot of the file of `file_writer`. This is the case if that
  /// file has not been replaced, moved or truncated in the meantime. O(chunks).
  [[nodiscard]] bool is_part_of(const trace::file_writer& file_writer, const trace::snapshot& whole) const;
  /// Moves the remaining rows of `whole`. Errors: see `grow`.
  [[nodiscard]] result<void> complete(const trace::snapshot& whole, const std::function<bool()>& goes_on);

  [[nodiscard]] trace::file_writer& file() { return to_; }
  /// Returns a snapshot of the copy, and passes it to the scan. Errors: those of `trace::file::open`.
  [[nodiscard]] result<std::shared_ptr<const trace::snapshot>> snapshot();
  /// False if the scan does not know all chunks, because the writer split a chunk of very long rows. `sums` is then
  /// unusable.
  [[nodiscard]] bool is_scanned() const { return scanned_; }
  /// The sums of the copy. `end` of the result must be called once this copy is complete and `snapshot` has been
  /// called.
  [[nodiscard]] summing_up& sums() { return sums_; }
  /// The sections moved so far; all sections once the copy is complete.
  [[nodiscard]] const std::vector<trace::section_row>& sections() const { return sections_; }

 private:
  trace::file_writer to_;
  std::string of_;  ///< Path of the recording.
  double section_events_;
  trace::tables tables_;  ///< The tables read so far, for the scan.
  recording_scan scan_{tables_};
  reordering moves_{to_, &scan_};
  summing_up sums_{scan_};
  bool scanned_ = true;
  std::shared_ptr<trace::file> reader_;            ///< Reads `to_`.
  std::shared_ptr<const trace::snapshot> moved_;   ///< The last snapshot of `to_`.
  std::shared_ptr<const trace::snapshot> so_far_;  ///< The snapshot passed to the last `grow` that moved something.
  std::vector<trace::section_row> sections_;
  time_ns moved_until_ = -latest_time;
};

}  // namespace sluice::summary
