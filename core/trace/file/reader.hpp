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
#include "core/trace/file/chunk_list.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"
#include "core/trace/model/tables.hpp"

namespace sluice::trace {

template <class Row>
class row_values;
class byte_source;

/// Begin and end of a row, as stored in the row.
struct row_span {
  time_ns time = 0;
  time_ns end = 0;
};

struct reader_options {
  std::size_t cache_bytes = std::size_t{256} << 20;  ///< Size of the cache for decoded chunks.
  /// Also read what others may not see yet: summaries of a file that is not closed, and rows after the last flush.
  bool for_its_writer = false;
  /// Local folders to search for the sources and symbols that the recording names: see local_files.
  std::vector<std::string> sources_from{};
};

class file;

/// All that a snapshot says of a recording, except rows of events. For showing a recording whose rows are elsewhere.
struct outline {
  std::string path;
  std::shared_ptr<const trace::tables> tables;
  std::vector<std::string> warnings;
  std::uint64_t file_bytes = 0;
  time_ns begin = 0;
  time_ns end = -1;
  std::int64_t realtime_origin = 0;
  bool complete = false;
  bool growing = false;
  bool simulated = false;
};

/// A recording as it was at one moment: immutable, cheap to hold, readable from any thread. Data found by a later
/// refresh is in a later snapshot.
class snapshot {
 public:
  /// Increases by one with each refresh that found something.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const trace::tables& tables() const { return *tables_; }
  /// All chunks of tables and events, in file order. For those who go through all of a recording: of a large file the
  /// first call reads the list. Who needs some of them asks for those.
  [[nodiscard]] std::span<const chunk_info> chunks() const { return chunks_->all(); }
  [[nodiscard]] std::size_t chunk_count() const { return chunks_->size(); }
  /// Chunk `index` of `chunks`; one without rows if there is none.
  [[nodiscard]] chunk_info chunk(std::size_t index) const { return chunks_->at(index); }
  /// The same list, to be searched.
  [[nodiscard]] const chunk_list& chunks_to_search() const { return *chunks_; }
  /// The chunks that summarize the others (summary_rows.hpp), by type, those of a type in file order, those of tiles by
  /// level and time. Empty unless the file is complete, or they come from `reader_options::for_its_writer` or
  /// `with_summaries`. Reads the list as `chunks` does.
  [[nodiscard]] std::span<const chunk_info> summaries() const { return summaries_->all(); }
  [[nodiscard]] bool has_summaries() const { return !summaries_->empty(); }
  [[nodiscard]] const chunk_list& summaries_to_search() const { return *summaries_; }
  /// Calls `use(chunk)` in order for the summaries of a type that overlap [from, to]. Reads the part of the list that
  /// may name some.
  template <class Use>
  void for_each_summary(row_type type, Use&& use, time_ns from = INT64_MIN, time_ns to = INT64_MAX) const {
    summaries_->for_each([=](row_type each) { return each == type; },
                         [&](std::size_t, const chunk_info& chunk) { use(chunk); }, from, to);
  }
  /// Time span of all events; begin > end if there are none.
  [[nodiscard]] time_ns begin() const { return begin_; }
  [[nodiscard]] time_ns end() const { return end_; }
  /// The writer closed the file; otherwise it is still growing, or its writer died.
  [[nodiscard]] bool complete() const { return complete_; }
  /// A writer had the file open, so the file may grow. If neither `growing` nor `complete`, the writer died.
  [[nodiscard]] bool growing() const { return growing_; }
  [[nodiscard]] bool simulated() const { return simulated_; }
  /// CLOCK_REALTIME ns at time 0; 0: unknown.
  [[nodiscard]] std::int64_t realtime_origin() const { return realtime_origin_; }
  /// Messages about what could not be read: skipped bytes, unknown rows, a missing index. Pages of the index are read as
  /// they are needed, so damage in one is said once it was found.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }
  /// True if the file was recorded on this machine by this user (core/base/origin.hpp).
  [[nodiscard]] bool recorded_here() const { return recorded_here_; }
  /// Which local files may be read to show the recording's sources and symbols.
  [[nodiscard]] const local_files& local() const { return *local_; }
  /// True if this and `other` are snapshots of one file: the longer list of chunks then begins with the shorter list.
  [[nodiscard]] bool is_of_the_file_of(const snapshot& other) const { return file_ == other.file_; }

  /// Returns a copy of this snapshot with the summaries of `other`, a snapshot of another file, whose summaries must
  /// have been made from this very snapshot. The other file stays open as long as the result exists.
  [[nodiscard]] std::shared_ptr<const snapshot> with_summaries(const snapshot& other) const;
  /// The same with the summaries of two files. Those of a type in `settled` go before those in `rest`.
  [[nodiscard]] std::shared_ptr<const snapshot> with_summaries(const snapshot& settled, const snapshot& rest) const;
  /// True if all of these summaries are in the first of those two files: they are the same in every such snapshot.
  [[nodiscard]] bool are_settled(std::span<const chunk_info> summaries) const;
  /// Returns a copy of this snapshot with one more warning, `line`.
  [[nodiscard]] std::shared_ptr<const snapshot> with_warning(std::string line) const;

  [[nodiscard]] outline about() const;

  /// Returns the rows of chunk `index`, from the cache if possible. `Row` must match the chunk's type. Thread-safe; may
  /// read the disk. Errors: io, corrupt (with file and offset).
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read(std::size_t index) const;

  /// Decodes chunk `index` into `rows`, reusing its memory and bypassing the cache: for a single pass over a recording.
  /// Columns outside `wanted` may be left out.
  template <class Row>
  [[nodiscard]] result<void> read_into(std::size_t index, std::vector<Row>& rows, column_set<Row> wanted = {}) const;

  /// Reads one member of each row of a chunk, at a fraction of the cost of whole rows. For finding few rows among many.
  /// Bypasses the cache. Not for texts. Errors as of `read`.
  template <class Row, class Class, class Member>
  [[nodiscard]] result<void> read_column(std::size_t index, Member Class::*member, std::vector<Member>& values) const;

  /// Decodes one chunk of `summaries()`, bypassing the cache. Thread-safe. Errors as of `read`.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, std::vector<Row>& rows) const;

  /// Decodes one chunk of bins of tiles (summary_rows.hpp) into columns. Columns outside `wanted` may be left out.
  template <class Row>
  [[nodiscard]] result<void> read_summary(const chunk_info& chunk, row_values<Row>& rows,
                                          column_set<Row> wanted = {}) const;

  /// Returns the rows of a chunk of `summaries()`, cached for callers with equal `wanted`: for chunks read often.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<Row>>> read_summary(const chunk_info& chunk,
                                                                             column_set<Row> wanted = {}) const;

  /// Returns begin and end of each row of a chunk of `summaries()`, in order. For finding few rows among many. The
  /// result is cached, in a fraction of the space of rows. `Row` must have an `end`. Errors as of `read`.
  template <class Row>
  [[nodiscard]] result<std::shared_ptr<const std::vector<row_span>>> read_spans(const chunk_info& chunk) const;

  /// Calls `visit(const Row&)` for every `Row` that overlaps [from, to], in file order, which is nearly but not
  /// strictly the order of time. Stops at the first error.
  template <class Row, class Visit>
  [[nodiscard]] result<void> for_each(Visit&& visit, time_ns from = INT64_MIN, time_ns to = INT64_MAX) const;

 private:
  friend class file;
  std::shared_ptr<const file> file_;
  std::shared_ptr<const trace::tables> tables_;
  std::shared_ptr<const chunk_list> chunks_;
  std::shared_ptr<const chunk_list> summaries_;
  /// The file with a chunk of summaries, and the chunk as it is listed there.
  struct stored_summary {
    const file& in;
    chunk_info chunk;
  };
  [[nodiscard]] stored_summary summary_of(const chunk_info& chunk) const;
  std::shared_ptr<const file> summaries_file_;  ///< The file with the summaries; null: the file with the events.
  std::shared_ptr<const file> rest_file_;  ///< That with the chunks whose offset has the bit `in_rest`; null: none.
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

/// An open recording. Opening reads the header and the index, of a large file the list of its pages, or walks the chunk
/// headers if there is no index (the file is still being written, or its writer died). Its bytes are read as asked for
/// (byte_source.hpp) and not mapped, so a truncated file is an error, not a signal.
class file : public std::enable_shared_from_this<file> {
 public:
  /// Opens `path`. Errors: not_found, io, foreign, newer_version, corrupt (with the offset).
  [[nodiscard]] static result<std::shared_ptr<file>> open(const std::string& path, const reader_options& options = {});
  /// Opens what comes from `source`. Errors as above, except not_found.
  [[nodiscard]] static result<std::shared_ptr<file>> open(std::shared_ptr<byte_source> source,
                                                          const reader_options& options = {});
  /// A recording of which only `about` is here: its snapshot has no chunks, and `refresh` finds nothing.
  [[nodiscard]] static std::shared_ptr<file> without_rows(outline about);
  ~file();

  /// Returns the newest snapshot. Thread-safe.
  [[nodiscard]] std::shared_ptr<const snapshot> latest() const;

  /// Looks for appended data. Returns true if there is a newer snapshot. Thread-safe. O(new chunks).
  result<bool> refresh();

  /// Opens the file that has replaced this one at its path, with the same options; null if none has. This file and its
  /// snapshots stay unchanged. Thread-safe. Errors: those of `open`.
  [[nodiscard]] result<std::shared_ptr<file>> successor() const;

  /// Makes `amended` the newest snapshot until a refresh finds more. `amended` must come from a `with_` function of the
  /// newest snapshot; otherwise nothing changes and the result is false. Thread-safe.
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
  /// Reads column `number` of a chunk as 64-bit values; `usual` for each row if the chunk lacks the column.
  [[nodiscard]] result<void> read_bits(const chunk_info& chunk, std::uint16_t number, std::uint64_t usual,
                                       std::vector<std::uint64_t>& values) const;
  std::unique_ptr<state> state_;
};

}  // namespace sluice::trace

#include "core/trace/file/reader_inline.hpp"
