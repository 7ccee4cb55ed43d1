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
  bool simulated = false;             ///< Every clock of the trace is simulated; readers say so.
  std::int64_t realtime_origin = 0;   ///< CLOCK_REALTIME ns at time 0, 0: not known.
  std::size_t rows_per_chunk = 8192;  ///< A chunk is written when a kind has this many rows waiting.
  int compression_level = 1;          ///< zstd's.
  /// This user's recorder makes the file, on this machine: it is marked as such (core/base/origin.hpp).
  bool recorded_here = false;
  /// A full disk is not the end: see `resume`.
  bool outlives_full_disk = false;
};

/// What others did to a file while it was written.
enum class file_fate : std::uint8_t {
  kept,     ///< Nothing.
  moved,    ///< It has another name; `path` may be another file's.
  deleted,  ///< It has no name any more and goes when it is closed; `path` may be another file's.
  damaged,  ///< It was cut off or written over: what was in it before is not all there.
};

/// Writes a trace: rows in, in any order of time; chunks out. Each chunk is whole on disk before the next begins, so a
/// file whose writer died is readable up to its last flush. Not thread-safe: one thread owns a writer.
///
/// After an error (a full disk) the writer keeps the file valid up to the last whole chunk, drops what follows, and
/// reports the error from `flush` and `close`. With `outlives_full_disk` it counts what it drops until `resume` finds room: names wait, up
/// to 64 MiB of each kind, and so do frees of blocks that are in the file. If there is room for nothing else at the end, `close` gives up the last
/// chunks for rows that say what was lost.
class file_writer {
 public:
  /// A new file at `path`, visible at once. An existing file is replaced, not emptied: what has it open keeps it.
  /// Errors: as `create_unpublished`.
  [[nodiscard]] static result<file_writer> create(const std::string& path, const writer_options& options = {});
  /// A new file next to `path`, which takes that place when `publish` is called and is removed if it is not. Until then an existing
  /// file stays as it is. Errors: io, no_space; invalid_argument for what is not a regular file (core/base/replacement.hpp); io also if another
  /// recording is being written into `path`.
  [[nodiscard]] static result<file_writer> create_unpublished(const std::string& path,
                                                              const writer_options& options = {});
  /// Into a scratch file. Errors: io, no_space.
  [[nodiscard]] static result<file_writer> create(const scratch_file& scratch, const writer_options& options = {});

  /// The file takes its place: `path` is what was named from then on. Before or after `close`; does nothing the second time.
  /// Errors: io, no_space: it is where it was, and may be published again or kept by `publish_where_it_is`.
  [[nodiscard]] result<void> publish();
  /// Keeps the file under the name that `path` tells now. For what could not be published and must not be lost.
  void publish_where_it_is();

  file_writer(file_writer&&) noexcept;
  file_writer& operator=(file_writer&&) noexcept;
  ~file_writer();  ///< Closes; an error is lost then.

  /// The id of `text`, O(1) amortised; none for an empty text.
  string_id intern(std::string_view text);

  /// The next event's id. `add` gives one to events that have none.
  event_id next_event();

  /// Events so far: the last id that was given.
  [[nodiscard]] std::uint64_t events() const;

  /// Adds a row to its kind's buffer. Returns the event's id, or 0 for a table row. Amortised O(1); may write a chunk.
  template <class Row>
  std::uint64_t add(const Row& row);

  /// The same of an event that the caller fills in: returns it with the next id, as `like` but for that. It may be changed until
  /// the next event of its kind is added, or the file flushed or marked. Defined in writer_inline.hpp.
  template <class Row>
  Row& start(const Row& like = blank<Row>);

  /// Writes everything that waits: tables first, so that each event's names are there before it.
  result<void> flush();

  /// The disk was full when something was last written, and what is added is counted and dropped.
  [[nodiscard]] bool is_full() const;
  /// Tries again after a full disk. Returns what was lost if there is room now, which the file says as well; nothing if there is none, or if
  /// it was not full.
  std::optional<dropped_rows> resume();
  /// What has been lost since the disk is full.
  [[nodiscard]] const dropped_rows& dropped() const;

  /// Writes what waits, then rows that sum up what there is (summary_rows.hpp), in chunks that say [over.min, over.max] of their
  /// time; without `over`, what the rows say. Only `close` may follow.
  template <class Row>
  void add_summary(std::span<const Row> rows, std::optional<std::pair<time_ns, time_ns>> over = std::nullopt);

  /// Flushes, writes the index, and closes. Later calls do nothing.
  result<void> close();

  /// Writes everything that waits, and returns where it ends in the file: what is added from here on lies behind.
  result<std::uint64_t> mark();

  /// Forgets the events before `mark`; tables stay. The file is written anew beside itself and takes its own place at once, so a
  /// crash leaves the one or the other. Returns where what followed the mark begins now. O(file). Errors: io, also if
  /// another file has its name by now, no_space: the file stays as it was.
  result<std::uint64_t> drop_before(std::uint64_t mark);

  /// A whole trace of what there is now, in another file, which is replaced. O(file). Errors: io, no_space; this file is as it was.
  result<void> copy_to(const std::string& path);

  /// Whether who opens `path` finds this file: it may have been renamed, and another been put there.
  [[nodiscard]] bool is_at_its_path() const;

  /// What others did to the file. A few system calls.
  [[nodiscard]] file_fate fate() const;

  /// Where the file is now, for one that was moved; its `path` if that cannot be told.
  [[nodiscard]] std::string place() const;

  /// Takes the name that a moved file has now: `path` is `place` from here on.
  void follow();

  /// Goes on in another file, `path`, which has what is still whole of this one and is replaced if it is there. Returns how many chunks
  /// could not be read again. O(file). Errors: io, no_space: this file stays as it was.
  result<std::size_t> move_to(const std::string& path);

  /// An empty trace with the same options, in a file next to this one, which is removed unless this one yields its place to it.
  /// Errors: io, no_space.
  [[nodiscard]] result<file_writer> create_beside() const;

  /// Gives its place to `other`, which `create_beside` made and which is closed: who opens `path` from now on finds that, and who has
  /// this one open keeps it as it was last. Nothing can be written after. What takes the place is on disk before. Errors: io, also
  /// unless it `is_at_its_path`: this file is as it was, and open.
  result<void> yield_place_to(file_writer& other);

  /// Bytes on disk so far.
  [[nodiscard]] std::uint64_t bytes_written() const;
  /// Where the file is now.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] const writer_options& options() const;

 private:
  struct state;
  struct waiting_rows;
  /// So that another event of the kind can wait.
  template <class Row>
  void make_room();
  static result<std::unique_ptr<state>> begin(const std::string& path, const writer_options& options);
  /// What a `rewrite` came to.
  struct rewritten {
    std::unique_ptr<state> file;
    std::uint64_t behind = 0;    ///< Where what followed the mark begins.
    std::size_t unreadable = 0;  ///< Chunks that were passed over.
  };
  enum class unreadable_chunks : std::uint8_t { fail, pass_over };
  static result<rewritten> rewrite(const state& from, const std::string& path, std::uint64_t mark,
                                   unreadable_chunks broken = unreadable_chunks::fail);
  void take_over(rewritten made);
  explicit file_writer(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
  waiting_rows* waiting_;  ///< Of the state.
};

}  // namespace sluice::trace
