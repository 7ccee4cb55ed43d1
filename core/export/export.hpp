#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/time/time_range.hpp"
#include "core/export/output.hpp"
#include "core/export/recording/redact.hpp"
#include "core/query/sql/columns.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/schema.hpp"

/// Writes traces (recordings) in the formats of other programs. Each format is one function in a file of this folder,
/// and one line in export.cpp.
///
/// Exports read the trace chunk by chunk, so the memory that they need does not grow with the trace.
namespace sluice::exports {

/// An entity to which an export can be limited. Only events that refer to its id are exported.
struct subject {
  query::id_kind kind = query::id_kind::none;  ///< process, thread, device, stream, block, event, pool or counter.
  std::uint64_t id = 0;
  friend bool operator==(const subject&, const subject&) = default;
};

/// The data that the caller wants in an export.
struct options {
  /// Exports only events that overlap this range. None: all events.
  std::optional<time_range> range;
  /// For each kind of entity in this list, an event must refer to one of the listed ids. Empty: all events. Tables
  /// (processes, streams, ...) are always exported completely.
  std::vector<subject> only;
  /// For formats that write tables (CSV, SQLite): the names of the tables to write. Empty: all tables.
  std::vector<std::string> tables;
  /// For folded stacks: the quantity to sum up for each stack. Empty: the format's default.
  std::string measure;
  redaction redact;
  /// For formats that store a name of the recording: the name to store. Empty: the name of the recording's file.
  std::string name;
  bool replaces = false;                ///< For data sets: replace existing partitions of the same run and rank.
  std::function<void(float)> progress;  ///< Called from time to time on the calling thread, with 0..1.
  const std::atomic<bool>* cancelled = nullptr;
};

/// One export: the trace and the options. Also counts rows, reports progress and checks for cancellation.
class job {
 public:
  job(const trace::snapshot& recording, const options& wanted);

  [[nodiscard]] const trace::snapshot& trace() const { return trace_; }
  [[nodiscard]] const trace::tables& tables() const { return trace_.tables(); }
  [[nodiscard]] const options& wanted() const { return wanted_; }
  /// The requested range, or that of the whole trace. It includes its begin and excludes its end, both clamped by
  /// `bounded`.
  [[nodiscard]] time_range range() const { return range_; }
  /// True if everything is exported, because neither a range nor a subject was requested.
  [[nodiscard]] bool whole() const { return !wanted_.range && wanted_.only.empty(); }

  /// True if an event overlaps the range and matches the subjects. Always true for rows that are not events.
  template <class Row>
  [[nodiscard]] bool takes(const Row& row) const;

  /// Calls `visit(const Row&)` for every requested event of one kind, in the order of the file. `visit` may return a
  /// `result<void>`; an error ends the loop. Errors: io, corrupt, cancelled, and those of `visit`.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit);

  /// Returns the text, redacted as requested. Valid until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role) { return redactor_.text(text, role); }
  [[nodiscard]] std::string_view text(trace::string_id id, text_role role) { return text(tables().text(id), role); }
  [[nodiscard]] exports::redactor& redactor() { return redactor_; }

  /// Sets how often the format reads each chunk on average, for the progress. The default is 1.
  void set_passes(double passes) { passes_ = passes; }
  /// Reports progress, and fails if the export is cancelled. Formats that read the trace without `for_each` must call
  /// this function after each chunk.
  result<void> chunk_done(const trace::chunk_info& chunk);
  [[nodiscard]] const std::atomic<bool>& cancelled() const;

  /// Adds a note about data that the format cannot represent. Notes are shown to the user at the end.
  void note(std::string words) { notes_.push_back(std::move(words)); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void count_rows(std::uint64_t rows) { rows_ += rows; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  const trace::snapshot& trace_;
  const options& wanted_;
  time_range range_;
  exports::redactor redactor_;
  double passes_ = 1;
  std::uint64_t all_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<std::string> notes_;
};

/// A format of export, such as CSV.
struct format {
  std::string_view name;    ///< The argument of --format.
  std::string_view suffix;  ///< The suffix of files, with the dot; empty if the output is a folder.
  std::string_view about;   ///< One line for the help.
  /// Returns the shape of the output, which depends on the options: CSV of one table is a stream, CSV of several tables
  /// is a folder.
  output_shape (*shape)(const options& wanted) = nullptr;
  /// Writes the export. Errors: those of reading and writing; cancelled; invalid_argument for unsupported options.
  result<void> (*write)(job& export_job, output& to) = nullptr;
};

/// Returns all formats, in the order in which the help lists them.
[[nodiscard]] std::span<const format> formats();
/// Returns the format with that name, or null if there is none.
[[nodiscard]] const format* find_format(std::string_view name);
/// Returns the format with the suffix of `path`, or null if there is none.
[[nodiscard]] const format* format_of_file(std::string_view path);

/// What an export wrote.
struct written_summary {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;
};

/// Checks that a table with each of the names exists. Errors: invalid_argument, with the list of table names.
[[nodiscard]] result<void> check_tables(std::span<const std::string> names);

/// Exports `recording` to `path` ("-" is standard output). Replaces an existing file only after everything has been
/// written without an error. Takes O(trace) time. Errors: those of the format and of `check_tables`; not_found for an
/// unknown subject.
[[nodiscard]] result<written_summary> write(const trace::snapshot& recording, const format& as, const std::string& path,
                                            const options& wanted);

/// Parses a subject such as "process:3" or "block:77". Errors: invalid_argument.
[[nodiscard]] result<subject> parse_subject(std::string_view text);

// --- templates ------------------------------------------------------------------------------------------------------

namespace detail {
/// True if any member of the row is the subject's id.
template <class Row>
[[nodiscard]] bool names(const Row& row, const subject& one) {
  return trace::schema<Row>::apply([&](const auto&... field) {
    const auto current = [&](const auto& value) {
      using type = std::remove_cvref_t<decltype(value)>;
      if constexpr (query::kind_of_id<type> == query::id_kind::none) {
        return false;
      } else {
        return query::kind_of_id<type> == one.kind && raw(value) == one.id;
      }
    };
    return (current(row.*(field.member)) || ...);
  });
}
}  // namespace detail

template <class Row>
bool job::takes(const Row& row) const {
  if constexpr (trace::is_event_row<Row>) {
    if (wanted_.range && (row.time >= range_.end || trace::detail::get_end(row) < range_.begin)) return false;
    for (const subject& one : wanted_.only) {
      bool found = false;
      for (const subject& other : wanted_.only) found = found || (other.kind == one.kind && detail::names(row, other));
      if (!found) return false;
    }
  }
  return true;
}

template <class Row, class Visit>
result<void> job::for_each(Visit&& visit) {
  const auto chunks = trace_.chunks();
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const trace::chunk_info& chunk = chunks[i];
    if (chunk.type != trace::type_of_row<Row>) continue;
    if (!wanted_.range || (chunk.min_time < range_.end && chunk.max_time >= range_.begin)) {
      const auto rows = trace_.read<Row>(i);
      if (!rows) return tl::unexpected(rows.error());
      for (const Row& row : **rows) {
        if (!takes(row)) continue;
        ++rows_;
        if constexpr (std::is_void_v<decltype(visit(row))>) {
          visit(row);
        } else {
          if (auto done = visit(row); !done) return done;
        }
      }
    }
    if (auto on = chunk_done(chunk); !on) return on;
  }
  return {};
}

}  // namespace sluice::exports
