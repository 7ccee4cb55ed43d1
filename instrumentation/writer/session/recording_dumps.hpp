#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/writer.hpp"
#include "instrumentation/writer/decoder/record_decoder.hpp"
#include "instrumentation/writer/session/warning_list.hpp"

namespace sluice::writer {

/// Writes dumps: copies of the recording so far, in the same folder (NAME-dump1.sluice, ...). Not thread-safe.
class recording_dumps {
 public:
  recording_dumps(trace::file_writer& file, record_decoder& rows, warning_list& warnings)
      : file_(file), rows_(rows), warnings_(warnings) {}

  /// Writes a dump. A warning contains `reason`, and says where the dump is.
  void write(const std::string& reason);
  /// Writes a dump if an event of the recording has requested one. Writes at most one such dump per second, because a
  /// program that runs out of memory retries many times.
  void consider();

  /// Call when the file contains an allocation failure for which the recording is kept.
  void keep_failure() { failure_unsaved_ = true; }
  /// True if the file contains such a failure that is in no dump.
  [[nodiscard]] bool has_unsaved_failure() const { return failure_unsaved_; }
  /// Writes a dump if the file is about to be cut and contains an unsaved failure, which the cut would drop.
  void save_failure();
  /// The dumps that `save_failure` has written.
  [[nodiscard]] const std::vector<std::string>& failure_dumps() const { return failure_dumps_; }

 private:
  result<std::string> write_copy();

  trace::file_writer& file_;
  record_decoder& rows_;
  warning_list& warnings_;
  int count_ = 0;                               ///< Number of dumps so far.
  std::chrono::steady_clock::time_point last_;  ///< Time of the last dump that `consider` wrote.
  bool failure_unsaved_ = false;
  std::vector<std::string> failure_dumps_;
};

}  // namespace sluice::writer
