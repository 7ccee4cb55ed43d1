#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "instrumentation/writer/sampling/raw_sample.hpp"

namespace sluice::writer {

struct sampler_options {
  unsigned hz = 500;     ///< Samples per second of CPU time of each thread; 1 to 10,000.
  bool use_perf = true;  ///< False: as if the kernel refused perf_event_open.
  std::size_t max_threads = 1024;
  std::size_t ring_bytes = std::size_t{1} << 17;  ///< Of each thread; a power of two.
  /// Of these descriptors, each thread takes one or two. 0: a quarter of those that this process may open.
  std::size_t max_descriptors = 0;
};

/// What the sampler could not do, since the start.
struct sampler_losses {
  int perf_error = 0;                ///< errno if the kernel refuses perf_event_open to this process; otherwise 0.
  std::uint64_t records = 0;         ///< Records that the kernel dropped because a ring was full.
  std::uint64_t samples = 0;         ///< Samples that were dropped because nobody took them.
  std::size_t threads_polled = 0;    ///< Threads that had no ring, but `perf_error` is 0.
  std::size_t threads_left_out = 0;  ///< Threads beyond `max_threads` or `max_descriptors`.
  unsigned lowest_hz = 0;            ///< The rate to which sampling was slowed down; 0: it never was.
};

/// Samples what the threads of other processes do: by perf_event_open where the kernel allows it, otherwise by polling
/// /proc. Runs in a thread of its own (`sluice-sampler`), because walking stacks may read large files. That thread
/// never stops or writes to a sampled process. Thread-safe.
class host_sampler {
 public:
  /// Null if no thread can be started.
  [[nodiscard]] static std::unique_ptr<host_sampler> start(const sampler_options& options);
  host_sampler(const host_sampler&) = delete;
  host_sampler& operator=(const host_sampler&) = delete;
  ~host_sampler();  ///< Stops.

  /// Samples a process, all threads that it has or will have, and its descendants. Ignores a process that it samples
  /// already, so this may be called often.
  void watch(pid_t pid);
  /// Never samples these threads of the process (as it numbers them itself), such as those of a recorder.
  void leave_out(pid_t pid, std::vector<pid_t> tids);

  /// Pauses or resumes the sampling of a process that is watched; nothing changes if it already is so. Within 10 ms,
  /// the events of its threads are closed, so that it runs as if it were not sampled, or opened again. The time in
  /// between has no samples. Its descendants that are watched are still sampled; others are looked for when it resumes.
  void pause(pid_t pid, bool paused);

  struct batch {
    std::vector<raw_thread> threads;  ///< Each before its first sample.
    std::vector<raw_module> modules;  ///< Each before the first sample that has frames in it.
    std::vector<raw_name> names;      ///< Each before the first sample that has the frame.
    std::vector<raw_sample> samples;
  };
  /// What was sampled since the last call. Of each thread, in order of time.
  [[nodiscard]] batch take();

  /// Ends the sampling. What was found until now can still be taken.
  void stop();

  [[nodiscard]] sampler_losses losses() const;

 private:
  struct state;
  explicit host_sampler(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::writer
