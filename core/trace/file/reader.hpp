#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/local_files.hpp"
#include "core/trace/columns/column_set.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::trace {

template <class Row>
class row_values;

/// Where a chunk lies and what it spans; chunks may overlap in time, because events come late without bound.
struct chunk_info {
  row_type type{};
  std::uint32_t rows = 0;
  std::uint64_t offset = 0;        ///< Of its header in the file.
  std::uint32_t stored_bytes = 0;  ///< Payload on disk.
  std::uint32_t raw_bytes = 0;     ///< Payload decoded.
  time_ns min_time = 0;            ///< Of the rows' times and ends; 0 for tables. Of bins: their tile's.
  time_ns max_time = 0;
  /// Ids of its events, those of attributes and links of what they are about; 0: not known, as the file was not closed.
  std::uint64_t lowest_event = 0;
  std::uint64_t highest_event = 0;
};

/// When a row begins and ends, as it says.
struct row_span {
  time_ns time = 0;
  time_ns end = 0;
};

struct reader_options {
  std::size_t cache_bytes = std::size_t{256} << 20;  ///< Decoded chunks kept.
  /// The summaries of a file that is not complete are shown too: for who is adding them.
  bool unfinished_summaries = false;
  /// Folders of this machine in which the sources and symbols that the recording names may be looked for: see local_files.
  std::vector<std::string> sources_from{};
};

class file;

/// A trace as it was at one moment: immutable, cheap to hold, readable from any thread. What a later refresh finds is
/// in a later snapshot.
class snapshot {
 public:
  /// Grows by one with each refresh that found something.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const trace::tables& tables() const { return *tables_; }
  [[nodiscard]] std::span<const chunk_info> chunks() const { return *chunks_; }
  /// The chunks that sum up the others, in order of the file (summary_rows.hpp); none unless the file is complete, or
  /// `reader_options::unfinished_summaries`, or `with_summaries` gave them.
  [[nodiscard]] std::span<const chunk_info> summaries() const { return *summaries_; }
  /// The time span of all events; begin > end when there are none.
  [[nodiscard]] time_ns begin() const { return begin_; }
  [[nodiscard]] time_ns end() const { return end_; }
  /// The file was closed by its writer; otherwise it is still growing, or its writer died.
  [[nodiscard]] bool complete() const { return complete_; }
  /// A writer had the file open: more may come. Neither growing nor complete: the writer died.
  [[nodiscard]] bool growing() const { return growing_; }
  [[nodiscard]] bool simulated() const { return simulated_; }
  /// CLOCK_REALTIME ns at time 0, 0: not known.
  [[nodiscard]] std::int64_t realtime_origin() const { return realtime_origin_; }
  /// What could not be read, in words: skipped bytes, unknown rows, a missing index.
  [[nodiscard]] std::span<const std::string> warnings() const { return *warnings_; }
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  /// The file was recorded on this machine by this user (core/base/origin.hpp).
  [[nodiscard]] bool recorded_here() const { return recorded_here_; }
  /// What of this machine may be read to show its sources and symbols.
  [[nodiscard]] const local_files& local() const { return *local_; }
  /// Both are of one file: the one with more chunks begins with those of the other.
  [[nodiscard]] bool is_of_the_file_of(const snapshot& other) const { return file_ == other.file_; }

  /// The same events with the summaries that `other` has: of another file, made from this snapshot and no other. That file stays open
  /// as long as this is held.
  [[nodiscard]] std::shared_ptr<const snapshot> with_summaries(const snapshot& other) const;
  /// The same with one more line among its warnings.
  [[nodiscard]] std::shared_ptr<const snapshot> with_warning(std::string line) const;

  /// Decodes chunk `index`, or finds it in the cache. `Row` must be the struct of its type. Thread-safe; reads the
  /// disk. Errors: io, corrupt (file and offset named).
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read(std::size_t index) const;

  /// The same into `rows`, whose memory is used again, past the cache: for who goes through a trace once. Only columns in `wanted` are
  /// sure to be read.
  template <class Row>
  [[nodiscard]] result<void> read_into(std::size_t index, std::vector<Row>& rows, column_set<Row> wanted = {}) const;

  /// One member of each row of a chunk, which costs a fraction of the rows: for who looks for few among many. Past the cache;
  /// texts cannot be read so. Errors as of `read`.
  template <class Row, class Class, class Member>
  [[nodiscard]] result<void> read_column(std::size_t index, Member Class::*member, std::vector<Member>& values) const;

  /// Decodes one of `summaries()`, past the cache. Thread-safe. Errors as of `read`.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, std::vector<Row>& rows) const;

  /// The same as its columns have them, of tiles. Only columns in `wanted` are sure to be read.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, row_values<Row>& rows,
                                          column_set<Row> wanted = {}) const;

  /// The same, or found in the cache, where those who want the same columns find it: for what many questions read.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read_summary(const chunk_info& chunk,
                                                                             column_set<Row> wanted = {}) const;

  /// When each row of one of `summaries()` begins and ends, in order: for who looks for few among many. Decoded, or found in the cache,
  /// where it takes a fraction of what rows do. Of rows that have an end. Errors as of `read`.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<row_span>>> read_spans(const chunk_info& chunk) const;

  /// Every row of a kind that overlaps [from, to], chunk after chunk in file order; `visit(const Row&)`.
  /// Rows of a kind come nearly, not strictly, in order of time. Stops at the first error.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit, time_ns from = INT64_MIN, time_ns to = INT64_MAX) const;

 private:
  friend class file;
  std::shared_ptr<const file> file_;
  std::shared_ptr<const trace::tables> tables_;
  std::shared_ptr<const std::vector<chunk_info>> chunks_;
  std::shared_ptr<const std::vector<chunk_info>> summaries_;
  std::shared_ptr<const file> summaries_file_;  ///< That has them; null: the same that has the events.
  std::shared_ptr<const std::vector<std::string>> warnings_;
  std::uint64_t version_ = 0;
  std::uint64_t file_bytes_ = 0;
  time_ns begin_ = 0;
  time_ns end_ = -1;
  bool complete_ = false;
  bool growing_ = false;
  bool simulated_ = false;
  bool recorded_here_ = false;
  std::shared_ptr<const local_files> local_;
  std::int64_t realtime_origin_ = 0;
};

/// An open trace. Opening reads the header and the index, or walks the chunk headers when there is none (the file is
/// still being written, or its writer died). Reads are `pread`: a file cut short under us is an error, not a signal.
class file : public std::enable_shared_from_this<file> {
 public:
  /// Errors: not_found, io, foreign, newer_version, corrupt (with the offset).
  [[nodiscard]] static result<std::shared_ptr<file>> open(const std::string& path, const reader_options& options = {});
  ~file();

  /// The newest snapshot. Thread-safe.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;

  /// Looks for what has been appended since; true if there is a newer snapshot. Thread-safe. Costs O(new chunks).
  result<bool> refresh();

  /// The file that has taken this one's place at its path since, opened likewise; null if none has. What was read of this one stays as it
  /// was. Thread-safe. Errors: those of `open`.
  [[nodiscard]] result<std::shared_ptr<file>> successor() const;

  /// `amended`, which was made of the newest snapshot by its `with_` functions, is the newest from now on, until a refresh finds more.
  /// False, and nothing changes, if it is of an older one or of another file. Thread-safe.
  bool adopt(const std::shared_ptr<const snapshot>& amended);

  [[nodiscard]] const std::string& path() const;

 private:
  friend class snapshot;
  struct state;
  explicit file(std::unique_ptr<state> s);
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read(const chunk_info& chunk,
                                                                     column_set<Row> wanted = {}) const;
  template <class Row>
  [[nodiscard]] result<void> read_into(const chunk_info& chunk, std::vector<Row>& rows,
                                       column_set<Row> wanted = {}) const;
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<row_span>>> read_spans(const chunk_info& chunk) const;
  template <class Row>
  [[nodiscard]] result<void> read_values(const chunk_info& chunk, row_values<Row>& rows, column_set<Row> wanted) const;
  /// One column as 64-bit values; see `decode_column`.
  [[nodiscard]] result<void> read_bits(const chunk_info& chunk, std::uint16_t number, std::uint64_t usual,
                                       std::vector<std::uint64_t>& values) const;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::trace

#include "core/trace/file/reader_inline.hpp"
