#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/trace/columns/row_columns.hpp"
#include "core/trace/file/dropped_rows.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

namespace sluice::trace {

struct writer_options {
  bool simulated = false;             ///< All clocks of the recording are simulated. Readers show this.
  std::int64_t realtime_origin = 0;   ///< CLOCK_REALTIME ns at time 0; 0: unknown.
  std::size_t rows_per_chunk = 8192;  ///< A chunk is written once this many rows of one kind are waiting.
  int compression_level = 1;          ///< The compression level of zstd.
  /// Marks the file as recorded by this user on this machine (core/base/files/origin.hpp). Only the recorder sets this.
  bool recorded_here = false;
  /// If true and a write fails (because of a full disk, a limit or a disk error), the writer counts the rows that it
  /// drops, and continues once writes succeed again: see `resume`.
  bool outlives_failures = false;
  /// If true, an existing file may be replaced. If false, only a file without contents (`holds_nothing`) may be
  /// replaced.
  bool replaces = true;
};

/// What other programs have done to a file while it was being written.
enum class file_fate : std::uint8_t {
  kept,     ///< The file was not touched.
  moved,    ///< The file was renamed; `path` may now be another file.
  deleted,  ///< The file was deleted and disappears once it is closed; `path` may now be another file.
  damaged,  ///< The file was truncated or overwritten: earlier contents are missing.
};

/// True for an empty file, and for a recording that contains only its header and is not being written. The recorder of
/// such a recording was killed before its command ran. False if the file does not exist. O(1).
[[nodiscard]] bool holds_nothing(const std::string& path);

/// Writes a recording: accepts rows in any order of time and writes them in chunks. Each chunk is written completely
/// before the next one is started, so after a crash, the file is readable up to its last flush. Not thread-safe: one
/// thread owns a writer.
///
/// After an error (such as a full disk), the file stays valid up to the last complete chunk. The writer drops later
/// rows, and `flush` and `close` return the error. With `outlives_failures`, the writer counts the dropped rows until
/// `resume` succeeds. Meanwhile, it keeps in memory the frees of blocks that are in the file, and up to 64 MiB of rows
/// of each kind of table. `close` tries to write once more. If the disk is still full, `close` replaces the last chunks
/// by rows that report the loss.
class file_writer {
 public:
  /// Creates a file at `path`, where it is visible at once. An existing file is replaced, not truncated, so programs
  /// that have it open can still read it. Errors: those of `create_unpublished`.
  [[nodiscard]] static result<file_writer> create(const std::string& path, const writer_options& options = {});
  /// Creates a file next to `path`, which `publish` then moves to `path`. If `publish` is not called, the file is
  /// removed. Until then, an existing file stays and is claimed: no other writer can replace it. Errors: io, no_space;
  /// invalid_argument if `path` is not a regular file (core/base/files/replacement.hpp), or if it exists and must not be
  /// replaced; also io if another writer writes or claims it.
  [[nodiscard]] static result<file_writer> create_unpublished(const std::string& path,
                                                              const writer_options& options = {});
  /// Like `create_unpublished`, but if `path` does not exist yet, the new file gets that name at once. If several
  /// writers start at the same moment, exactly one gets the name, on any file system. See `discard`. Errors: those of
  /// `create_unpublished`.
  [[nodiscard]] static result<file_writer> create_claimed(const std::string& path, const writer_options& options = {});
  /// Creates a recording in the file `scratch`. Errors: io, no_space.
  [[nodiscard]] static result<file_writer> create(const scratch_file& scratch, const writer_options& options = {});

  /// Moves the file to its final path, which `path` then returns. May be called before or after `close`; a second call
  /// does nothing. Errors: io, no_space. After an error, the file stays where it was. The caller can try again or call
  /// `publish_where_it_is`.
  [[nodiscard]] result<void> publish();
  /// Keeps the file under its temporary name (`path`). Use this for a file that could not be published and must not be
  /// lost.
  void publish_where_it_is();
  /// Closes the file and removes it, even if it already has its final name. A file that another program has moved is
  /// not removed. Use this for a recording without content.
  void discard();

  file_writer(file_writer&&) noexcept;
  file_writer& operator=(file_writer&&) noexcept;
  ~file_writer();  ///< Closes the file. Errors are lost.

  /// Returns the id of `text`; none for an empty text. Amortized O(1).
  string_id intern(std::string_view text);

  /// Returns the id of the next event. `add` assigns such an id to an event that has none.
  event_id next_event();

  /// The number of events added so far, which is also the last id assigned.
  [[nodiscard]] std::uint64_t events() const;

  /// Adds a row. Returns its id if it is an event, and 0 if it is a table row. Amortized O(1); may write a chunk.
  template <class Row>
  std::uint64_t add(const Row& row);

  /// Adds a copy of the event `like`, with the next id, and returns it so that the caller can change it. The reference
  /// is valid until the next event of the same kind is added, or `flush` or `mark` is called. Defined in
  /// writer_inline.hpp.
  template <class Row>
  Row& start(const Row& like = blank<Row>);

  /// Writes all waiting rows: tables first, so that the names that an event uses precede it.
  result<void> flush();

  /// Returns the first write error since the last successful `resume`, if there is one. Errors: io, no_space.
  [[nodiscard]] result<void> outcome() const;
  /// True if the last write failed, so that rows are counted and dropped. Always false without `outlives_failures`.
  [[nodiscard]] bool is_stopped() const;
  /// Tries to continue after a failed write. Returns the losses, which it also writes to the file. Returns nothing if
  /// writes still fail, or if none had failed.
  std::optional<dropped_rows> resume();
  /// The rows that were dropped since a write last failed.
  [[nodiscard]] const dropped_rows& dropped() const;
  /// After `close`: false if the losses in `dropped` could not be written to the file.
  [[nodiscard]] bool says_losses() const;

  /// Writes all waiting rows, and then the summary rows `rows` (summary_rows.hpp). The time range stored for their
  /// chunks is `over`; without `over`, it is the range of the rows' times. After this, only more summaries may be
  /// added, and `close` called.
  template <class Row>
  void add_summary(std::span<const Row> rows, std::optional<std::pair<time_ns, time_ns>> over = std::nullopt);

  /// Adds a copy of all summaries that `source` has written. After this, only more summaries may be added, and `close`
  /// called. O(bytes of the summaries). Errors: io, no_space.
  result<void> add_summaries_of(const file_writer& source);

  /// Flushes, writes the index, and closes the file. Later calls do nothing.
  result<void> close();

  /// Writes all waiting rows and returns the length of the file: the offset at which rows added later will start.
  result<std::uint64_t> mark();

  /// Removes the events before the offset `mark`, but no tables. Writes a new file and renames it into place
  /// atomically, so after a crash, either the old or the new file is there. Returns the offset of the mark in the new
  /// file. O(file). Errors: no_space; io, also if `path` is now another file. After an error, the file is unchanged.
  result<std::uint64_t> drop_before(std::uint64_t mark);

  /// Writes a complete copy to the file `path`, which is replaced if it exists. O(file). Errors: io, no_space. This
  /// file does not change.
  result<void> copy_to(const std::string& path);

  /// True if `path` is still this file. False if the file was renamed or deleted, or if `path` is now another file.
  [[nodiscard]] bool is_at_its_path() const;

  /// Checks what other programs have done to the file. Takes a few system calls.
  [[nodiscard]] file_fate fate() const;

  /// Returns the current path of a file that may have been moved; if unknown, returns `path`.
  [[nodiscard]] std::string place() const;

  /// Continues under the current name of a moved file: `path` then returns what `place` returns.
  void follow();

  /// Continues in another file at `path`, and replaces an existing file there. Copies the readable chunks and returns
  /// the number of unreadable chunks. O(file). Errors: io, no_space. After an error, the writer continues with this
  /// file, unchanged.
  result<std::size_t> move_to(const std::string& path);

  /// Creates an empty recording next to this file, with the options of this writer. The new file is removed unless it
  /// is passed to `yield_place_to`. Errors: io, no_space.
  [[nodiscard]] result<file_writer> create_beside() const;

  /// Replaces this file by `other`, which must come from `create_beside` and be closed. `other` is first synced to
  /// disk. Afterwards, `path` is `other`; programs that have this file open can still read its last state, and nothing
  /// can be written to it any more. Errors: io, also if not `is_at_its_path`. After an error, this file is unchanged
  /// and still open.
  result<void> yield_place_to(file_writer& other);

  /// The number of bytes written to the file.
  [[nodiscard]] std::uint64_t bytes_written() const;
  /// The current path of the file.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const writer_options& options() const;

 private:
  struct state;
  struct waiting_rows;
  /// Makes room for one more waiting `Row`. If enough rows are waiting, writes them as a chunk, or drops them if writes
  /// have failed.
  template <class Row>
  void make_room();
  static result<std::unique_ptr<state>> begin(const std::string& path, const writer_options& options);
  /// The result of `rewrite`.
  struct rewritten {
    std::unique_ptr<state> file;
    std::uint64_t behind = 0;    ///< The offset of the mark in the new file.
    std::size_t unreadable = 0;  ///< The number of chunks that were skipped.
    dropped_rows lost;           ///< The rows of the skipped chunks.
  };
  enum class unreadable_chunks : std::uint8_t { fail, pass_over };
  static result<rewritten> rewrite(const state& source, const std::string& path, std::uint64_t mark,
                                   unreadable_chunks broken = unreadable_chunks::fail);
  void take_over(rewritten output);
  explicit file_writer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
  waiting_rows* waiting_;  ///< Points into `state_`.
};

}  // namespace sluice::trace
