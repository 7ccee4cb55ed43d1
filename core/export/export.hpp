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
#include "core/export/output.hpp"
#include "core/export/recording/redact.hpp"
#include "core/query/sql/columns.hpp"
#include "core/timeline/time_range.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/schema.hpp"

/// Writes traces for other programs. A format is one file in this folder with one function, and a line in export.cpp.
///
/// Exports read the trace chunk by chunk: memory does not grow with the trace.
namespace sluice::exports {

using trace::time_ns;

/// A thing to which an export can be limited: only events that name its id are exported.
struct subject {
  query::id_kind kind = query::id_kind::none;  ///< process, thread, device, stream, block, event, pool or counter.
  std::uint64_t id = 0;
  friend bool operator==(const subject&, const subject&) = default;
};

struct options {
  /// Only events that overlap this range. None: all.
  std::optional<analysis::time_range> range;
  /// For each kind in this list, an event must name one of its ids. Tables (processes, streams, ...) are complete.
  std::vector<subject> only;
  /// For formats that write tables (CSV, SQLite): only these. Empty: all.
  std::vector<std::string> tables;
  /// For folded stacks: what to measure. Empty: the format's default.
  std::string measure;
  redaction redact;
  /// For formats that name the recording; empty: that of its file.
  std::string name;
  bool replaces = false;                ///< For data sets: replaces what has the same run and rank.
  std::function<void(float)> progress;  ///< Called now and then with 0..1 from the calling thread.
  const std::atomic<bool>* cancelled = nullptr;
};

/// What a format must write. Counts rows and reports cancellation.
class job {
 public:
  job(const trace::snapshot& from, const options& wanted);

  [[nodiscard]] const trace::snapshot& trace() const { return trace_; }
  [[nodiscard]] const trace::tables& tables() const { return trace_.tables(); }
  [[nodiscard]] const options& wanted() const { return wanted_; }
  /// The requested or whole range: [from, to), both clamped (`bounded`).
  [[nodiscard]] analysis::time_range range() const { return range_; }
  /// True if everything is exported: no range and no subject.
  [[nodiscard]] bool whole() const { return !wanted_.range && wanted_.only.empty(); }

  /// True if an event is in the range and matches the subjects.
  template <class Row>
  [[nodiscard]] bool takes(const Row& row) const;

  /// Calls `visit(const Row&)` for every wanted event of one kind, in file order. `visit` may return a `result<void>`;
  /// an error ends the loop. Errors: io, corrupt, cancelled, and those of `visit`.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit);

  /// The text, redacted as requested. Valid until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role) { return redactor_.text(text, role); }
  [[nodiscard]] std::string_view text(trace::string_id id, text_role role) { return text(tables().text(id), role); }
  [[nodiscard]] exports::redactor& redactor() { return redactor_; }

  /// Sets how often the format reads each chunk on average, for progress. Default: 1.
  void set_passes(double passes) { passes_ = passes; }
  /// For formats that read the trace themselves: call after each chunk. Reports progress; fails if cancelled.
  result<void> chunk_done(const trace::chunk_info& chunk);
  [[nodiscard]] const std::atomic<bool>& cancelled() const;

  /// Adds a note about something that this format cannot represent. Shown to the user at the end.
  void note(std::string words) { notes_.push_back(std::move(words)); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void count_rows(std::uint64_t rows) { rows_ += rows; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

 private:
  const trace::snapshot& trace_;
  const options& wanted_;
  analysis::time_range range_;
  exports::redactor redactor_;
  double passes_ = 1;
  std::uint64_t all_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t rows_ = 0;
  std::vector<std::string> notes_;
};

struct format {
  std::string_view name;    ///< As given to --format.
  std::string_view suffix;  ///< File suffix with the dot; empty for a folder.
  std::string_view about;   ///< One line for the help.
  /// The shape depends on the options: CSV of one table is a stream, of several a folder.
  output_shape (*shape)(const options& wanted) = nullptr;
  /// Errors: those of reading and writing; cancelled; invalid_argument for unsupported options.
  result<void> (*write)(job& what, output& to) = nullptr;
};

/// In the order of the help.
[[nodiscard]] std::span<const format> formats();
/// Returns null for an unknown name.
[[nodiscard]] const format* find_format(std::string_view name);
/// Finds a format by a file's suffix; null if there is none.
[[nodiscard]] const format* format_of_file(std::string_view path);

struct outcome {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;
};

/// Checks that there is a table of each name. Errors: invalid_argument, with the names that there are.
[[nodiscard]] result<void> check_tables(std::span<const std::string> names);

/// Writes `from` to `path` ("-": standard output). An existing file is replaced only after all is written without
/// error. O(trace) time. Errors: those of the format and of `check_tables`; not_found for an unknown subject.
[[nodiscard]] result<outcome> write(const trace::snapshot& from, const format& as, const std::string& path,
                                    const options& wanted);

/// Parses a subject such as "process:3" or "block:77". Errors: invalid_argument.
[[nodiscard]] result<subject> parse_subject(std::string_view text);

// --- templates ------------------------------------------------------------------------------------------------------

namespace detail {
/// True if any id of the row is that of the subject.
template <class Row>
[[nodiscard]] bool names(const Row& row, const subject& one) {
  return trace::schema<Row>::apply([&](const auto&... field) {
    const auto is = [&](const auto& value) {
      using type = std::remove_cvref_t<decltype(value)>;
      if constexpr (query::kind_of_id<type> == query::id_kind::none) {
        return false;
      } else {
        return query::kind_of_id<type> == one.kind && raw(value) == one.id;
      }
    };
    return (is(row.*(field.member)) || ...);
  });
}
}  // namespace detail

template <class Row>
bool job::takes(const Row& row) const {
  if constexpr (trace::is_event_row<Row>) {
    if (wanted_.range && (row.time >= range_.end || trace::detail::end_of(row) < range_.begin)) return false;
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
