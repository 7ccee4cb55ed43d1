#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/input.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// The input and output of an importer: the foreign file, the trace to write, and progress. Use from one thread.
///
/// An importer is a function `result<void>(job&)`. It calls `begin` when it knows time 0, writes rows to `out`, counts
/// the rows that it imported or could not import, and calls `advance` every few thousand rows. `import_file` does the
/// rest: it writes the messages, closes the trace, and removes it if the importer fails.
class job {
 public:
  job(input source, std::string out, const options& with);

  [[nodiscard]] input& source() { return source_; }
  [[nodiscard]] std::size_t memory_bytes() const { return with_.memory_bytes; }

  /// Creates the trace. Call once, before writing the first row. `realtime_origin` is CLOCK_REALTIME in ns at time 0 of
  /// the trace, or 0 if unknown. Time 0 should be the start of the recording. Errors: io, no_space.
  [[nodiscard]] result<void> begin(std::int64_t realtime_origin = 0);
  /// Discards the trace and all counts and messages, and opens the foreign file again, so that an importer can read it
  /// twice. Errors: those of opening the file.
  [[nodiscard]] result<void> start_over();
  /// The trace. Call `begin` first.
  [[nodiscard]] trace::file_writer& out() { return *writer_; }
  [[nodiscard]] bool began() const { return writer_.has_value(); }

  /// Reports the share of the work that is done, 0..1. Errors: cancelled; those of writing, such as a full disk.
  [[nodiscard]] result<void> advance(double share);

  /// Sets the time of the first event, if it is not 0. Messages get this time, so that they do not extend the time span
  /// of the events.
  void set_begin(trace::time_ns time) { begin_ = time; }

  /// Counts imported rows of the kind `subject`, such as "trace entries". O(kinds).
  void read(std::string_view subject, std::uint64_t number = 1);
  /// Counts rows of the kind `subject` that were not imported, such as "entries with the action 'x'". `offset` is that
  /// of the first of these rows. After a hundred kinds, all further kinds are counted together. O(kinds).
  void not_understood(std::string_view subject, std::uint64_t number = 1, std::uint64_t offset = error::no_offset);
  /// Adds a message for the user, in addition to the counts.
  void say(trace::severity severity, std::string_view text);

  /// Creates an error about the foreign file, for importers to return.
  [[nodiscard]] tl::unexpected<error> corrupt(std::string message, std::uint64_t offset, std::string hint = {}) const;

 private:
  friend result<report> import_file(const std::string& path, const std::string& out, const options& with);
  result<report> finish(format origin);

  input source_;
  std::string out_;
  options with_;
  std::optional<trace::file_writer> writer_;
  report report_;
  struct message {
    trace::severity level{};
    std::string text;
  };
  std::vector<message> said_;  ///< Written at the end, when the first event's time is known.
  trace::time_ns begin_ = 0;
  double reported_ = -1;
};

}  // namespace sluice::importing
