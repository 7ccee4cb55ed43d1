#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/files/local_files.hpp"
#include "core/trace/columns/column_set.hpp"
#include "core/trace/file/chunk_list.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::trace {

template <class Row>
class row_values;
class byte_source;

/// The start and the end of a row, as stored in it.
struct row_span {
  time_ns time = 0;
  time_ns end = 0;
};

struct reader_options {
  std::size_t cache_bytes = std::size_t{256} << 20;  ///< Size of the cache for decoded chunks.
  /// Also read data that other readers may not see yet: the summaries of a file that is not closed, and the rows after
  /// the last flush.
  bool for_its_writer = false;
  /// Local folders in which the sources and symbols that the recording names are searched: see local_files.
  std::vector<std::string> sources_from{};
};

class file;

/// A recording as it was at one moment: immutable, cheap to hold, and readable from any thread. Data that a later
/// refresh finds is only in a later snapshot.
class snapshot {
 public:
  /// Increases by one with each refresh that finds something.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const trace::tables& tables() const { return *tables_; }
  /// All chunks of tables and events, in file order. Meant for callers that go through a whole recording, because for a
  /// large file, the first call reads the whole list of chunks. To find only some chunks, search `chunks_to_search`
  /// instead.
  [[nodiscard]] std::span<const chunk_info> chunks() const { return chunks_->all(); }
  [[nodiscard]] std::size_t chunk_count() const { return chunks_->size(); }
  /// Returns chunk number `index` of `chunks`; a chunk without rows if there is no such chunk.
  [[nodiscard]] chunk_info chunk(std::size_t index) const { return chunks_->at(index); }
  /// The same chunks as `chunks`, in a list that can be searched without reading all of it.
  [[nodiscard]] const chunk_list& chunks_to_search() const { return *chunks_; }
  /// The chunks that summarize the other chunks (summary_rows.hpp), sorted by type. Chunks of one type are in file
  /// order; those of tiles are in order of level and time. Empty unless the file is complete, or the summaries come
  /// from `reader_options::for_its_writer` or `with_summaries`. Like `chunks`, the first call reads the whole list.
  [[nodiscard]] std::span<const chunk_info> summaries() const { return summaries_->all(); }
  [[nodiscard]] bool has_summaries() const { return !summaries_->empty(); }
  [[nodiscard]] const chunk_list& summaries_to_search() const { return *summaries_; }
  /// Calls `use(chunk)`, in order, for the summary chunks of a type that overlap [from, to]. Reads only the part of the
  /// list that may contain such chunks.
  template <class Use>
  void for_each_summary(row_type type, Use&& use, time_ns start = INT64_MIN, time_ns to = INT64_MAX) const {
    summaries_->for_each([=](row_type each) { return each == type; },
                         [&](std::size_t, const chunk_info& chunk) { use(chunk); }, start, to);
  }
  /// The time span of all events. begin > end if there are no events.
  [[nodiscard]] time_ns begin() const { return begin_; }
  [[nodiscard]] time_ns end() const { return end_; }
  /// True if the writer closed the file. If false, the file is still growing, or its writer ended without closing it.
  [[nodiscard]] bool complete() const { return complete_; }
  /// True if a writer had the file open, so that the file may grow. If neither `growing` nor `complete` is true, the
  /// writer ended without closing the file.
  [[nodiscard]] bool growing() const { return growing_; }
  [[nodiscard]] bool simulated() const { return simulated_; }
  /// CLOCK_REALTIME ns at time 0; 0: unknown.
  [[nodiscard]] std::int64_t realtime_origin() const { return realtime_origin_; }
  /// Messages about data that could not be read: skipped bytes, unknown rows, a missing index. Pages of the index are
  /// read on demand, so damage in a page is reported only after that page has been read.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  /// True if this user made the recording on this machine (core/base/files/origin.hpp).
  [[nodiscard]] bool recorded_here() const { return recorded_here_; }
  /// Which local files may be read to show the recording's sources and symbols.
  [[nodiscard]] const local_files& local() const { return *local_; }
  /// True if this and `other` are snapshots of the same file. Then the longer of their two lists of chunks starts with
  /// the shorter list.
  [[nodiscard]] bool is_of_the_file_of(const snapshot& other) const { return file_ == other.file_; }

  /// Returns a copy of this snapshot that uses the summaries of `other`, which must be a snapshot of another file.
  /// These summaries must have been computed from this snapshot. The other file stays open as long as the result
  /// exists.
  [[nodiscard]] std::shared_ptr<const snapshot> with_summaries(const snapshot& other) const;
  /// Like the function above, with the summaries of two files. For each type, the chunks in `settled` come before those
  /// in `rest`.
  [[nodiscard]] std::shared_ptr<const snapshot> with_summaries(const snapshot& settled, const snapshot& rest) const;
  /// True if all these summaries are in the first of the two files (`settled`). Every snapshot that uses that file then
  /// has the same summaries.
  [[nodiscard]] bool are_settled(std::span<const chunk_info> summaries) const;
  /// Returns a copy of this snapshot with the additional warning `line`.
  [[nodiscard]] std::shared_ptr<const snapshot> with_warning(std::string line) const;

  /// Returns the rows of chunk number `index`, from the cache if possible. `Row` must match the type of the chunk.
  /// Thread-safe. May read from disk. Errors: io, corrupt (with file and offset).
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read(std::size_t index) const;

  /// Decodes chunk number `index` into `rows`, reuses the memory of `rows`, and bypasses the cache. Meant for a single
  /// pass over a recording. Columns outside `wanted` may be left out.
  template <class Row>
  [[nodiscard]] result<void> read_into(std::size_t index, std::vector<Row>& rows, column_set<Row> wanted = {}) const;

  /// Reads one member of each row of a chunk, at a fraction of the cost of reading whole rows. Meant for finding a few
  /// rows among many. Bypasses the cache. The member must not be a text. Errors: those of `read`.
  template <class Row, class Class, class Member>
  [[nodiscard]] result<void> read_column(std::size_t index, Member Class::*member, std::vector<Member>& values) const;

  /// Decodes one chunk of `summaries()`, bypassing the cache. Thread-safe. Errors: those of `read`.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, std::vector<Row>& rows) const;

  /// Decodes one chunk of tile bins (summary_rows.hpp) into columns. Columns outside `wanted` may be left out.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, row_values<Row>& rows,
                                          column_set<Row> wanted = {}) const;

  /// Returns the rows of a chunk of `summaries()`. The rows are cached for callers with the same `wanted`. Meant for
  /// chunks that are read often.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read_summary(const chunk_info& chunk,
                                                                             column_set<Row> wanted = {}) const;

  /// Returns the start and end of each row of a chunk of `summaries()`, in order. Meant for finding a few rows among
  /// many. The result is cached and takes a fraction of the space of the rows. `Row` must have an `end`. Errors: those
  /// of `read`.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<row_span>>> read_spans(const chunk_info& chunk) const;

  /// Calls `visit(const Row&)` for every `Row` that overlaps [from, to], in file order, which is roughly but not
  /// strictly in order of time. Stops at the first error.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit, time_ns start = INT64_MIN, time_ns to = INT64_MAX) const;

 private:
  friend class file;
  std::shared_ptr<const file> file_;
  std::shared_ptr<const trace::tables> tables_;
  std::shared_ptr<const chunk_list> chunks_;
  std::shared_ptr<const chunk_list> summaries_;
  /// A summary chunk, as the index of its file lists it, and that file.
  struct stored_summary {
    const file& in;
    chunk_info chunk;
  };
  [[nodiscard]] stored_summary get_summary(const chunk_info& chunk) const;
  std::shared_ptr<const file> summaries_file_;  ///< The file that contains the summaries. Null if they are in the file
                                                ///< of the events.
  std::shared_ptr<const file> rest_file_;  ///< The file that contains the chunks whose offset has the bit `in_rest`
                                           ///< set. Null if there are no such chunks.
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

/// An open recording. When a file is opened, its header and its index are read (for a large file, only the list of
/// index pages). If there is no index, because the file is still being written or its writer ended without closing it,
/// the chunk headers are walked instead. Bytes are read on demand (byte_source.hpp) and not mapped, so a truncated file
/// causes an error, not a signal.
class file : public std::enable_shared_from_this<file> {
 public:
  /// Opens `path`. Errors: not_found, io, foreign, newer_version, corrupt (with the offset).
  [[nodiscard]] static result<std::shared_ptr<file>> open(const std::string& path, const reader_options& options = {});
  /// Opens the recording that `source` provides. Errors as above, except not_found.
  [[nodiscard]] static result<std::shared_ptr<file>> open(std::shared_ptr<byte_source> source,
                                                          const reader_options& options = {});
  ~file();

  /// Returns the newest snapshot. Thread-safe.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;

  /// Checks whether data was appended. Returns true if there is a newer snapshot. Thread-safe. O(new chunks).
  result<bool> refresh();

  /// Opens the file that has replaced this file at its path, with the same options. Returns null if no file has. This
  /// file and its snapshots do not change. Thread-safe. Errors: those of `open`.
  [[nodiscard]] result<std::shared_ptr<file>> successor() const;

  /// Makes `amended` the newest snapshot until a refresh finds more data. `amended` must come from a `with_` function
  /// of the newest snapshot; otherwise, changes nothing and returns false. Thread-safe.
  bool adopt(const std::shared_ptr<const snapshot>& amended);

  [[nodiscard]] const std::string& path() const;
  /// The source of the recording's bytes.
  [[nodiscard]] std::shared_ptr<byte_source> source() const;

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
  /// Reads column `number` of a chunk as 64-bit values. If the chunk does not have the column, each value is `usual`.
  [[nodiscard]] result<void> read_bits(const chunk_info& chunk, std::uint16_t number, std::uint64_t usual,
                                       std::vector<std::uint64_t>& values) const;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::trace

#include "core/trace/file/reader_inline.hpp"
