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

/// Traces for other programs. A format is one file here with one function, and one line in the table of export.cpp.
///
/// An export reads the trace chunk by chunk and holds none of it: memory does not grow with the trace.
namespace sluice::exports {

using trace::time_ns;

/// Something that an export can be about alone: what names it by its id.
struct subject {
  query::id_kind kind = query::id_kind::none;  ///< process, thread, device, stream, block, event, pool or counter.
  std::uint64_t id = 0;
  friend bool operator==(const subject&, const subject&) = default;
};

struct options {
  /// Events that overlap it; none: all.
  std::optional<analysis::time_range> range;
  /// Of each kind that is named here an event must name one. Tables (processes, streams, ...) are always whole.
  std::vector<subject> only;
  /// Of the formats that write tables (CSV, SQLite): only these. Empty: all.
  std::vector<std::string> tables;
  /// Of folded stacks: what they are weighed by; empty: the format's own choice.
  std::string measure;
  redaction redact;
  std::function<void(float)> progress;  ///< Told 0..1 now and then, from the calling thread.
  const std::atomic<bool>* cancelled = nullptr;
};

/// What a format is asked to write. It counts what it was given, and knows when to stop.
class job {
 public:
  job(const trace::snapshot& from, const options& wanted);

  [[nodiscard]] const trace::snapshot& trace() const { return trace_; }
  [[nodiscard]] const trace::tables& tables() const { return trace_.tables(); }
  [[nodiscard]] const options& wanted() const { return wanted_; }
  /// The whole recording's, or what was asked for: [from, to), both bounded.
  [[nodiscard]] analysis::time_range range() const { return range_; }
  /// Everything is wanted: no range and no subject.
  [[nodiscard]] bool whole() const { return !wanted_.range && wanted_.only.empty(); }

  /// Whether an event is in the range and about what was asked for.
  template <class Row>
  [[nodiscard]] bool takes(const Row& row) const;

  /// Every event of one kind that is wanted, in file order; `visit(const Row&)`, which may return a `result<void>` to end it.
  /// Errors: io, corrupt, cancelled, and what `visit` returns.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit);

  /// The text, redacted as asked for. Good until the next call.
  [[nodiscard]] std::string_view text(std::string_view text, text_role role) { return redactor_.text(text, role); }
  [[nodiscard]] std::string_view text(trace::string_id id, text_role role) { return text(tables().text(id), role); }
  [[nodiscard]] exports::redactor& redactor() { return redactor_; }

  /// How often a format reads each chunk on average, for progress; 1 if it says nothing.
  void set_passes(double passes) { passes_ = passes; }
  /// Between chunks, for formats that read the trace themselves: tells progress, and fails if cancelled.
  result<void> chunk_done(const trace::chunk_info& chunk);
  [[nodiscard]] const std::atomic<bool>& cancelled() const;

  /// Something that this format cannot say, counted or in words: shown to the user at the end.
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
  std::string_view name;    ///< As --format takes it.
  std::string_view suffix;  ///< Of files, with the dot; empty for a folder.
  std::string_view about;   ///< One line, for the help.
  /// Depends on what is asked for: CSV of one table is a stream, of several a folder.
  output_shape (*shape)(const options& wanted) = nullptr;
  /// Errors: those of reading and writing, cancelled, and invalid_argument for what it cannot do.
  result<void> (*write)(job& what, output& to) = nullptr;
};

/// In the order of the help.
[[nodiscard]] std::span<const format> formats();
/// Null if there is none of that name.
[[nodiscard]] const format* find_format(std::string_view name);
/// By the suffix of a file's name; null if no format has it.
[[nodiscard]] const format* format_of_file(std::string_view path);

struct outcome {
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> notes;
};

/// Writes `from` to `path` ("-": the standard output). What was there stays until all of the new is written, and when it fails.
/// O(trace) in time. Errors: those of the format, and not_found for a table or subject that makes no sense.
[[nodiscard]] result<outcome> write(const trace::snapshot& from, const format& as, const std::string& path,
                                    const options& wanted);

/// Reads "process:3", "block:77". Errors: invalid_argument.
[[nodiscard]] result<subject> parse_subject(std::string_view text);

// --- templates ------------------------------------------------------------------------------------------------------

namespace detail {
template <class Member>
inline constexpr query::id_kind kind_of = query::id_kind::none;
template <>
inline constexpr query::id_kind kind_of<trace::event_id> = query::id_kind::event;
template <>
inline constexpr query::id_kind kind_of<trace::block_id> = query::id_kind::block;
template <>
inline constexpr query::id_kind kind_of<trace::process_id> = query::id_kind::process;
template <>
inline constexpr query::id_kind kind_of<trace::thread_id> = query::id_kind::thread;
template <>
inline constexpr query::id_kind kind_of<trace::device_id> = query::id_kind::device;
template <>
inline constexpr query::id_kind kind_of<trace::stream_id> = query::id_kind::stream;
template <>
inline constexpr query::id_kind kind_of<trace::pool_id> = query::id_kind::pool;
template <>
inline constexpr query::id_kind kind_of<trace::counter_id> = query::id_kind::counter;

/// Whether any id of the row is that one.
template <class Row>
[[nodiscard]] bool names(const Row& row, const subject& one) {
  return trace::schema<Row>::apply([&](const auto&... field) {
    const auto is = [&](const auto& value) {
      using type = std::remove_cvref_t<decltype(value)>;
      if constexpr (kind_of<type> == query::id_kind::none) {
        return false;
      } else {
        return kind_of<type> == one.kind && raw(value) == one.id;
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
