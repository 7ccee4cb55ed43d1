#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/input.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// What an importer works with: the foreign file, the trace to write, and progress reporting. Use from one thread.
///
/// An importer is a function `result<void>(job&)`. It calls `begin` when it knows time 0, adds rows, counts what it
/// read and did not understand, and calls `advance` every few thousand rows. `import_file` does the rest: messages,
/// closing the trace, and removing it if the importer fails.
class job {
 public:
  job(input source, std::string out, const options& with);

  [[nodiscard]] input& source() { return source_; }
  [[nodiscard]] std::size_t memory_bytes() const { return with_.memory_bytes; }

  /// Creates the trace. Call once, before the first row. `realtime_origin`: CLOCK_REALTIME in ns at time 0 of the
  /// trace; 0 if unknown. Time 0 should be the start of the recording. Errors: io, no_space.
  [[nodiscard]] result<void> begin(std::int64_t realtime_origin = 0);
  /// Forgets the trace and all counts and messages, and opens the file anew: an importer may read it once more. Errors:
  /// those of opening it.
  [[nodiscard]] result<void> start_over();
  /// The trace. Call `begin` first.
  [[nodiscard]] trace::file_writer& out() { return *writer_; }
  [[nodiscard]] bool began() const { return writer_.has_value(); }

  /// Reports the share of the work done, 0..1. Errors: cancelled; those of the writer (disk full).
  [[nodiscard]] result<void> advance(double share);

  /// Sets the time of the first event, if not 0. Messages get this time, so that only events determine the span.
  void set_begin(trace::time_ns time) { begin_ = time; }

  /// Counts something that was read, such as "trace entries". O(kinds).
  void read(std::string_view what, std::uint64_t number = 1);
  /// Counts something that was not imported, with the place where it was found: "entries with the action 'x'".
  /// O(kinds); after a hundred kinds, all others are counted together.
  void not_understood(std::string_view what, std::uint64_t number = 1, std::uint64_t offset = error::no_offset);
  /// Adds a message for the user, in addition to the counts.
  void say(trace::severity how, std::string_view text);

  /// Makes an error about the file, for importers to return.
  [[nodiscard]] tl::unexpected<error> corrupt(std::string message, std::uint64_t offset, std::string hint = {}) const;

 private:
  friend result<report> import_file(const std::string& path, const std::string& out, const options& with);
  result<report> finish(format from);

  input source_;
  std::string out_;
  options with_;
  std::optional<trace::file_writer> writer_;
  report report_;
  struct message {
    trace::severity how{};
    std::string text;
  };
  std::vector<message> said_;  ///< Written at the end, when it is known when the recording begins.
  trace::time_ns begin_ = 0;
  double reported_ = -1;
};

}  // namespace sluice::importing
