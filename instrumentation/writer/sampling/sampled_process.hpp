#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instrumentation/unwind/process_code.hpp"
#include "instrumentation/writer/sampling/host_sampler.hpp"
#include "instrumentation/writer/sampling/perf_ring.hpp"
#include "instrumentation/writer/sampling/proc_files.hpp"
#include "instrumentation/writer/sampling/thread_activity.hpp"

/// The processes and threads that a sampler watches. Used by its thread only.
namespace sluice::writer {

/// The most frames of a sample; further ones are left out.
inline constexpr std::size_t max_sampled_frames = 128;

/// Memory that walks use again and again.
struct sampling_room {
  std::vector<std::byte> record, stack;
  std::vector<activity_piece> pieces;
};

/// What all threads have in common.
struct sampling_settings {
  std::int64_t period = 0;  ///< ns
  bool use_perf = true;
  std::size_t ring_bytes = 0;
  std::size_t free_descriptors = 0;
  std::size_t free_threads = 0;
};

/// A sampled thread. `Own` below: as its process numbers it.
class sampled_thread {
 public:
  /// Begins sampling at `now`.
  sampled_thread(pid_t pid, pid_t tid, pid_t own_tid, std::int64_t now, sampling_settings& settings,
                 sampler_losses& losses);
  ~sampled_thread();
  sampled_thread(const sampled_thread&) = delete;
  sampled_thread& operator=(const sampled_thread&) = delete;

  [[nodiscard]] pid_t own_tid() const { return own_tid_; }
  /// The descriptor that becomes readable when the ring is half full; -1 if there is none.
  [[nodiscard]] int descriptor() const { return ring_ ? ring_->descriptor() : -1; }

  /// Reads what happened until `now`. Without a ring, polls if that is due. `started`: processes and threads that the
  /// thread has started are noted there.
  void look(std::int64_t now, unwind::process_code& code, sampling_room& room, sampler_losses& losses,
            bool& started_others);
  /// If the thread waits and it is not known for what, finds that out and returns true.
  bool look_at_wait(std::int64_t now, unwind::process_code& code, sampling_room& room);
  /// Ends the sampling of this thread. A thread that ended earlier, as its ring says, is not sampled further either.
  void finish(std::int64_t now);
  [[nodiscard]] bool finished() const { return activity_.finished(); }
  void take(std::vector<activity_piece>& to) { activity_.take(to); }
  void set_period(std::int64_t period);

 private:
  bool open_ring(sampler_losses& losses);
  void open_files();
  void poll(std::int64_t now, unwind::process_code& code, sampling_room& room);
  [[nodiscard]] thread_wait read_state() const;
  [[nodiscard]] bool was_runnable(std::int64_t now);
  [[nodiscard]] std::vector<std::uint64_t> walk_wait(const thread_wait& wait, unwind::process_code& code,
                                                     sampling_room& room) const;

  pid_t pid_, tid_, own_tid_;
  sampling_settings& settings_;
  std::size_t descriptors_ = 0;  ///< Taken from `settings_`.
  std::optional<perf_ring> ring_;
  std::optional<proc_file> syscall_, stat_, schedstat_;  ///< Of a polled thread.
  thread_activity activity_;
  thread_wait last_wait_{.running = true};  ///< Of a polled thread.
  std::vector<std::uint64_t> wait_frames_;
  std::int64_t last_poll_ = 0;
  std::uint64_t last_delay_ = 0;  ///< Time for which the thread has waited for a CPU, in ns.
  unsigned same_polls_ = 0;       ///< Number of polls that found the same wait.
};

/// A process whose threads are sampled.
class sampled_process {
 public:
  sampled_process(pid_t pid, unwind::image_cache& images) : code(pid, images), pid_(pid) {}

  /// Begins with new threads and ends with ended ones, or with all while `paused`. Returns false if the process has
  /// ended. `begun` gets the new threads.
  bool update_threads(std::int64_t now, sampling_settings& settings, sampler_losses& losses, std::vector<int>& begun,
                      host_sampler::batch& to, sampling_room& room);
  /// Moves finished pieces of all threads to `to`.
  void hand_over(host_sampler::batch& to, sampling_room& room);
  /// Ends the sampling of all threads.
  void finish(std::int64_t now);

  unwind::process_code code;
  std::map<pid_t, std::unique_ptr<sampled_thread>> threads;
  std::set<pid_t> left_out;  ///< Own tids.
  bool paused = false;       ///< No thread is to be sampled.

 private:
  void hand_over(sampled_thread& thread, host_sampler::batch& to, sampling_room& room);
  void introduce(const std::vector<std::uint64_t>& frames, raw_sample& sample, host_sampler::batch& to);

  pid_t pid_;
  std::map<pid_t, pid_t> own_ids_;                              ///< Of threads that are not sampled: left out.
  std::set<std::pair<std::string, std::uint64_t>> introduced_;  ///< Paths and bases of files.
  std::unordered_map<std::uint64_t, bool> known_frames_;        ///< True for frames in Python's evaluation function.
  std::uint64_t introduced_at_ = 0;                             ///< Value of `code.changes()`.
};

}  // namespace sluice::writer
