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
#include "core/base/scratch_file.hpp"
#include "core/trace/columns/row_columns.hpp"
#include "core/trace/file/dropped_rows.hpp"
#include "core/trace/model/model.hpp"
#include "core/trace/model/row_type.hpp"

namespace sluice::trace {

struct writer_options {
  bool simulated = false;             ///< All clocks of the recording are simulated; readers say so.
  std::int64_t realtime_origin = 0;   ///< CLOCK_REALTIME ns at time 0; 0: unknown.
  std::size_t rows_per_chunk = 8192;  ///< A chunk is written once this many rows of a kind are waiting.
  int compression_level = 1;          ///< For zstd.
  /// Set by this user's recorder, on this machine: marks the file accordingly (core/base/origin.hpp).
  bool recorded_here = false;
  /// After a failed write (a full disk, a limit, a fault of the disk), count the rows that are dropped, and continue once
  /// writes succeed again: see `resume`.
  bool outlives_failures = false;
  /// May replace a file that is there. If not, only one that holds nothing (`holds_nothing`) is replaced.
  bool replaces = true;
};

/// What happened to the file from outside while it was being written.
enum class file_fate : std::uint8_t {
  kept,     ///< Nothing.
  moved,    ///< It was renamed; `path` may be another file.
  deleted,  ///< It was deleted and disappears once closed; `path` may be another file.
  damaged,  ///< It was truncated or overwritten: earlier contents are missing.
};

/// True for an empty file, and for a recording that holds only its header and is not being written: its recorder was
/// killed before its command ran. False if there is no file. O(1).
[[nodiscard]] bool holds_nothing(const std::string& path);

/// Writes a recording: takes rows in any order of time and writes chunks. Each chunk is complete on disk before the
/// next begins, so after a crash the file is readable up to its last flush. Not thread-safe: one thread owns a writer.
///
/// After an error (a full disk) the file stays valid up to the last complete chunk. The writer drops later rows, and
/// `flush` and `close` return the error. With `outlives_failures` it counts dropped rows until `resume` succeeds, and
/// keeps up to 64 MiB of each kind of table rows, and the frees of blocks in the file, in memory. `close` tries once
/// more; if the disk is still full, it replaces the last chunks by rows that report the loss.
class file_writer {
 public:
  /// Creates a file at `path`, visible at once. An existing file is replaced, not truncated: programs that have it open
  /// keep it. Errors: as of `create_unpublished`.
  [[nodiscard]] static result<file_writer> create(const std::string& path, const writer_options& options = {});
  /// Creates a file next to `path` that is moved there by `publish`, and removed if that is not called. An existing
  /// file stays until then, and is claimed: no other writer can replace it meanwhile. Errors: io, no_space;
  /// invalid_argument if `path` is not a regular file (core/base/replacement.hpp), or is there and must not be replaced;
  /// io also if another writer writes or claims it.
  [[nodiscard]] static result<file_writer> create_unpublished(const std::string& path,
                                                              const writer_options& options = {});
  /// The same, but if there is no file yet, the new one takes the name `path` at once: of several writers that begin in
  /// the same instant exactly one has it, whatever the file system. See `discard`. Errors: as of `create_unpublished`.
  [[nodiscard]] static result<file_writer> create_claimed(const std::string& path, const writer_options& options = {});
  /// Creates a recording in `scratch`. Errors: io, no_space.
  [[nodiscard]] static result<file_writer> create(const scratch_file& scratch, const writer_options& options = {});

  /// Moves the file to its final place, to which `path` then refers. Before or after `close`; a second call does
  /// nothing. Errors: io, no_space; the file then stays where it was: try again, or call `publish_where_it_is`.
  [[nodiscard]] result<void> publish();
  /// Keeps the file under its temporary name (`path`), for a file that could not be published and must not be lost.
  void publish_where_it_is();
  /// Closes the file and removes it, also if it has its name already; not if it was moved. For a recording that came to
  /// nothing.
  void discard();

  file_writer(file_writer&&) noexcept;
  file_writer& operator=(file_writer&&) noexcept;
  ~file_writer();  ///< Closes the file; errors are lost.

  /// Returns the id of `text`; none for an empty text. O(1) amortized.
  string_id intern(std::string_view text);

  /// Returns the id for the next event. `add` assigns one to events without an id.
  event_id next_event();

  /// The number of events so far, which is the last id assigned.
  [[nodiscard]] std::uint64_t events() const;

  /// Adds a row. Returns the event's id, or 0 for a table row. Amortized O(1); may write a chunk.
  template <class Row>
  std::uint64_t add(const Row& row);

  /// Adds an event initialized from `like`, with the next id, and returns it for changes. The reference is valid until
  /// the next event of its kind is added, or `flush` or `mark` is called. Defined in writer_inline.hpp.
  template <class Row>
  Row& start(const Row& like = blank<Row>);

  /// Writes all waiting rows, tables first, so that the names of each event precede it.
  result<void> flush();

  /// The first error of a write that was not made good since. Errors: io, no_space.
  [[nodiscard]] result<void> outcome() const;
  /// True if the last write failed: rows are now counted and dropped. Only with `outlives_failures`.
  [[nodiscard]] bool is_stopped() const;
  /// Tries to continue after a failed write. Returns what was lost, which is also written to the file; nothing if writing
  /// fails still, or if it had not failed.
  std::optional<dropped_rows> resume();
  /// What has been lost since a write failed.
  [[nodiscard]] const dropped_rows& dropped() const;
  /// After `close`: false if the file could not be made to say what `dropped` counts.
  [[nodiscard]] bool says_losses() const;

  /// Writes all waiting rows, then the summary rows `rows` (summary_rows.hpp). Their chunks get the time range `over`;
  /// without `over`, the range of the rows' times. Only further summaries and `close` may follow.
  template <class Row>
  void add_summary(std::span<const Row> rows, std::optional<std::pair<time_ns, time_ns>> over = std::nullopt);

  /// Adds the summaries that `from` has written, as they are. Only further summaries and `close` may follow. O(their
  /// bytes). Errors: io, no_space.
  result<void> add_summaries_of(const file_writer& from);

  /// Flushes, writes the index, and closes the file. Later calls do nothing.
  result<void> close();

  /// Writes all waiting rows and returns the file's length: rows added later are written behind that offset.
  result<std::uint64_t> mark();

  /// Removes the events before offset `mark`, but no tables. Writes a new file and puts it in place atomically, so
  /// after a crash the old or the new file exists. Returns the mark's new offset. O(file). Errors: no_space; io, also
  /// if `path` is another file by now. After an error the file is unchanged.
  result<std::uint64_t> drop_before(std::uint64_t mark);

  /// Writes a complete copy to another file, replacing it. O(file). Errors: io, no_space; this file stays unchanged.
  result<void> copy_to(const std::string& path);

  /// True if `path` still refers to this file. False if the file was renamed or deleted, or `path` is another file.
  [[nodiscard]] bool is_at_its_path() const;

  /// Checks what happened to the file from outside. A few system calls.
  [[nodiscard]] file_fate fate() const;

  /// The current path of a file that may have been moved; `path` if unknown.
  [[nodiscard]] std::string place() const;

  /// Adopts the current name of a moved file: `path` becomes `place`.
  void follow();

  /// Continues in another file at `path`, replacing an existing one. Copies the readable chunks and returns the number
  /// of unreadable chunks. O(file). Errors: io, no_space; the writer then stays with this file, unchanged.
  result<std::size_t> move_to(const std::string& path);

  /// Creates an empty recording with this writer's options next to this file. The new file is removed unless it is
  /// passed to `yield_place_to`. Errors: io, no_space.
  [[nodiscard]] result<file_writer> create_beside() const;

  /// Replaces this file by `other`, which was made by `create_beside` and is closed. Opening `path` then finds `other`,
  /// which is synced to disk first; programs with this file open keep its last state. Afterwards nothing can be written
  /// to this file. Errors: io, also if not `is_at_its_path`; this file is then unchanged and still open.
  result<void> yield_place_to(file_writer& other);

  /// Number of bytes written to disk.
  [[nodiscard]] std::uint64_t bytes_written() const;
  /// Current path of the file.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const writer_options& options() const;

 private:
  struct state;
  struct waiting_rows;
  /// Makes room for another waiting `Row`: writes a chunk if enough rows wait; drops them if writing has failed.
  template <class Row>
  void make_room();
  static result<std::unique_ptr<state>> begin(const std::string& path, const writer_options& options);
  /// The result of `rewrite`.
  struct rewritten {
    std::unique_ptr<state> file;
    std::uint64_t behind = 0;    ///< Offset of the mark in the new file.
    std::size_t unreadable = 0;  ///< Number of skipped chunks.
    dropped_rows lost;           ///< The rows in these.
  };
  enum class unreadable_chunks : std::uint8_t { fail, pass_over };
  static result<rewritten> rewrite(const state& from, const std::string& path, std::uint64_t mark,
                                   unreadable_chunks broken = unreadable_chunks::fail);
  void take_over(rewritten made);
  explicit file_writer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
  waiting_rows* waiting_;  ///< Points into `state_`.
};

}  // namespace sluice::trace
