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

/// Puts a recording in order and sums it up while it is written, so that little is left to do when it ends.
namespace sluice::analysis {

struct reorder_thread_options {
  std::uint64_t least_events = 1'000'000;  ///< Of fewer events the end is short anyway.
  /// How many events come between two looks at the file: at least this, of a long recording a part, but at most `most`.
  std::uint64_t events_a_round = 250'000;
  std::uint64_t most_events_a_round = 1'000'000;
  /// With less room on the disk, in bytes, it is left to the recording.
  std::uint64_t least_room = std::uint64_t{1} << 30;
  /// A section is over once the recording has events that are so many ns later. What comes later still, such as a range
  /// that took longer, lies in a chunk of a later section, which queries about the range read too.
  trace::time_ns waits_for_late_rows = 1'000'000'000;
  double section_events = 50'000;  ///< See `finalize_options`.
};

/// A thread of low priority that reads the file of a `file_writer` as any reader does, and never holds that up. It takes
/// two thirds of a core at most; what it does not manage is left to the end. Its copy has no name, so nothing is left if the
/// program is killed; where the file system does not support that, it does nothing. It gives up on any error, when there
/// is little room on the disk, and with more than a million names and stacks; the end does all the work then. Use from
/// the thread that owns the writer.
class reorder_thread {
 public:
  using options = reorder_thread_options;
  explicit reorder_thread(options how = {}) : options_(how) {}
  ~reorder_thread() { static_cast<void>(take()); }
  reorder_thread(const reorder_thread&) = delete;
  reorder_thread& operator=(const reorder_thread&) = delete;

  /// Call it after each flush of `file`, which must have its final name. Begins once it has `least_events`. O(1).
  void look(const trace::file_writer& file);
  /// Leaves all to the end, and the room that the copy takes to the disk. Does not wait for the thread.
  void give_up();
  /// Ends the thread, and returns what was made; null if nothing. Waits for the thread, which reads at most one more chunk.
  [[nodiscard]] std::unique_ptr<reordered_copy> take();

 private:
  void begin(const trace::file_writer& file);
  void work();
  bool is_due();
  /// Returns false if the thread is to end.
  bool go_on_with(trace::file& growing);
  [[nodiscard]] trace::time_ns newest_time(const trace::snapshot& now);

  const options options_;
  std::string path_;
  std::unique_ptr<reordered_copy> copy_;  ///< The thread's, while it runs.
  worker_thread thread_;
  bool begun_ = false;
  std::uint64_t looked_at_ = 0;  ///< Events at the last look.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool due_ = false;
  std::size_t chunks_ = 0;  ///< That `newest_` is of. The thread's.
  trace::time_ns newest_ = -latest_time;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> given_up_{false};
};

}  // namespace sluice::analysis
