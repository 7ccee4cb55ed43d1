#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "core/base/threads/worker_thread.hpp"
#include "core/summary/passes/reordered_copy.hpp"
#include "core/trace/file/writer.hpp"

/// Sorts and sums up a recording while it is being written, so that little is left to do when it ends.
namespace sluice::summary {

struct reorder_thread_options {
  /// If the recording has fewer events, the thread does not start, because closing the recording takes little time
  /// anyway.
  std::uint64_t min_events = 1'000'000;
  /// Number of events between two reads of the file. It is a share of the events so far, but at least `events_a_round`
  /// and at most `max_events_a_round`.
  std::uint64_t events_a_round = 250'000;
  std::uint64_t max_events_a_round = 1'000'000;
  /// The thread gives up if the disk has fewer free bytes than this.
  std::uint64_t min_room = std::uint64_t{1} << 30;
  /// A section counts as finished once the recording has events this many ns after its end. Rows that arrive even
  /// later, such as a long range, are stored in a chunk of a later section, which queries about their time also read.
  trace::time_ns waits_for_late_rows = 1'000'000'000;
  double section_events = 50'000;  ///< See `finalize_options`.
};

/// A low-priority thread that reads the file of a `file_writer` as any reader does, and never delays the writer. The
/// thread takes at most two thirds of a core. The work that it does not finish is left to the end. Its copy is a file
/// without a name, so nothing remains if the program is killed. If the file system does not support such files, the
/// thread does nothing. The thread gives up on any error, when disk space is low, and if there are more than a million
/// names and stacks. All work is then done at the end. The object must be used from the thread that owns the writer.
class reorder_thread {
 public:
  using options = reorder_thread_options;
  explicit reorder_thread(options method = {}) : options_(method) {}
  ~reorder_thread() { static_cast<void>(take()); }
  reorder_thread(const reorder_thread&) = delete;
  reorder_thread& operator=(const reorder_thread&) = delete;

  /// Tells the thread about new events. Must be called after each flush of `file`, which must have its final name.
  /// Starts the thread once there are `min_events` events. O(1).
  void poll(const trace::file_writer& file);
  /// Stops sorting, so that all work is done at the end, and frees the disk space of the copy. Does not wait for the
  /// thread.
  void give_up();
  /// Stops the thread and returns its copy; null if there is none. Waits while the thread reads at most one more chunk.
  [[nodiscard]] std::unique_ptr<reordered_copy> take();

 private:
  void begin(const trace::file_writer& file);
  void work();
  bool is_due();
  /// Returns false if the thread must stop.
  bool go_on_with(trace::file& growing);
  [[nodiscard]] trace::time_ns newest_time(const trace::snapshot& now);

  const options options_;
  std::string path_;
  std::unique_ptr<reordered_copy> copy_;  ///< While the thread runs, only the thread uses this.
  worker_thread thread_;
  bool begun_ = false;
  std::uint64_t looked_at_ = 0;  ///< Number of events at the last read.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = false;
  std::size_t chunks_ = 0;  ///< Number of chunks that `newest_` covers. Used by the thread.
  trace::time_ns newest_ = -latest_time;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> given_up_{false};
};

}  // namespace sluice::summary
