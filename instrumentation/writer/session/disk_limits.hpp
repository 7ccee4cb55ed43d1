#pragma once

#include <chrono>

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/session/warning_list.hpp"

namespace sluice::writer {

/// Keeps a recording within its size limit, and continues it after failed writes, such as on a full disk. Not
/// thread-safe.
class disk_limits {
 public:
  disk_limits(trace::file_writer& file, record_decoder& rows, warning_list& warnings)
      : file_(file), rows_(rows), warnings_(warnings) {}

  /// Cuts the file if it has reached its size limit. After a full disk, waits a second before the next attempt; after
  /// any other error, adds a warning and makes no further attempt.
  void keep_limit();

  /// Tries to continue after a failed write. Does nothing if no write failed.
  void resume();
  /// Like `resume`, but makes at most one attempt per second.
  void consider_resuming() {
    if (std::chrono::steady_clock::now() >= next_resume_) resume();
  }
  /// Adds a warning about the rows that were dropped. The loss rows in the file have the same figures.
  void report_losses();
  /// The rows that were dropped because writes failed.
  [[nodiscard]] const trace::dropped_rows& losses() const { return losses_; }

 private:
  trace::file_writer& file_;
  record_decoder& rows_;
  warning_list& warnings_;
  bool cannot_cut_ = false;                           ///< True after an error that will not pass.
  std::chrono::steady_clock::time_point next_cut_{};  ///< Next attempt to shorten the file, after a failed one.
  std::chrono::steady_clock::time_point next_resume_{};
  trace::dropped_rows losses_;
  error_code why_stopped_ = error_code::no_space;  ///< Error of the last failed write.
};

/// Describes the events that were lost because of a full or faulty disk.
[[nodiscard]] std::string describe_losses(const trace::dropped_rows& lost, error_code why);

}  // namespace sluice::writer
