#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/import/import.hpp"
#include "core/import/input.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::importing {

/// What an importer works with: the file, the trace it becomes, and whoever waits for it. One thread owns it.
///
/// An importer is a function `result<void>(job&)`: it calls `begin` when it knows when time 0 was, adds rows, says what it read and
/// what it did not understand, and calls `advance` every few thousand rows. `import_file` does the rest: messages, closing, and
/// removing what was written when the importer fails.
class job {
 public:
  job(input source, std::string out, const options& with);

  [[nodiscard]] input& source() { return source_; }
  [[nodiscard]] std::size_t memory_bytes() const { return with_.memory_bytes; }

  /// Creates the trace; once, before the first row. `realtime_origin`: CLOCK_REALTIME ns at its time 0, 0 if not known.
  /// Time 0 should be where the recording begins. Errors: io, no_space.
  [[nodiscard]] result<void> begin(std::int64_t realtime_origin = 0);
  /// The trace; `begin` comes first.
  [[nodiscard]] trace::file_writer& out() { return *writer_; }
  [[nodiscard]] bool began() const { return writer_.has_value(); }

  /// `share` of the work is done, 0..1. Errors: cancelled; what the writer met (a full disk).
  [[nodiscard]] result<void> advance(double share);

  /// When the first event is, if not at 0: messages are of that time, so that the recording's span is that of its events.
  void set_begin(trace::time_ns time) { begin_ = time; }

  /// Counts something that was read, such as "trace entries". O(kinds).
  void read(std::string_view what, std::uint64_t number = 1);
  /// Counts something that is not in the trace, with where it was met: "entries with the action 'x'". O(kinds), which are kept few:
  /// what comes after the first hundred is counted under one name.
  void not_understood(std::string_view what, std::uint64_t number = 1, std::uint64_t offset = error::no_offset);
  /// Something that the user should read, beside these counts.
  void say(trace::severity how, std::string_view text);

  /// An error about the file, for importers to return.
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
  double told_ = -1;
};

}  // namespace sluice::importing
