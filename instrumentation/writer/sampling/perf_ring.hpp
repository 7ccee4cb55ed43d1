#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "instrumentation/unwind/copied_stack.hpp"

struct perf_event_mmap_page;

/// The kernel's samples of one thread (perf_event_open), and the ring into which it writes them.
namespace sluice::writer {

/// Bytes of stack that the kernel copies for each sample. The frames that name a library and its caller are within a few
/// KiB of the stack pointer; outside them, the frames of Python follow.
inline constexpr std::size_t perf_stack_bytes = 8192;

/// What a ring says. `time`: ns of CLOCK_MONOTONIC.
class perf_listener {
 public:
  virtual ~perf_listener() = default;
  /// The thread ran code in user space. `stack` is valid during the call. Without registers, all of `registers` is 0.
  virtual void hear_sample(std::int64_t time, const unwind::user_registers& registers,
                           const unwind::copied_stack& stack) = 0;
  /// The thread came onto a CPU.
  virtual void hear_switch_in(std::int64_t time) = 0;
  /// The thread left its CPU. `preempted`: it could have continued, but another thread got the CPU.
  virtual void hear_switch_out(std::int64_t time, bool preempted) = 0;
  /// The ring was full: `count` records before this one are missing.
  virtual void hear_loss(std::uint64_t count) = 0;
  /// The thread started a thread, or a process if `pid` is not its own.
  virtual void hear_start(pid_t pid, pid_t tid) = 0;
  /// The thread `tid` ended.
  virtual void hear_end(std::int64_t time, pid_t tid) = 0;
};

/// Reads records from the memory of a ring (`data`, of a power of two of bytes) between two positions, and hands them
/// on. Returns false if they are not records: then nothing after them can be read. `spare` holds a record that wraps
/// around. O(bytes).
bool read_perf_records(std::span<const std::byte> data, std::uint64_t begin, std::uint64_t end,
                       std::vector<std::byte>& spare, perf_listener& listener);

/// An open event of one thread. Movable. Not thread-safe.
class perf_ring {
 public:
  struct failure {
    int error = 0;           ///< errno.
    bool of_memory = false;  ///< True if the event could be opened, but the ring could not be mapped.
  };

  /// Samples the thread `tid`: each `period` ns of its CPU time, if it is in user space then. The ring has `bytes` (a
  /// power of two, at least a page). None on failure.
  [[nodiscard]] static std::optional<perf_ring> open(pid_t tid, std::int64_t period, std::size_t bytes, failure& why);

  perf_ring(perf_ring&& other) noexcept;
  perf_ring& operator=(perf_ring&& other) noexcept;
  ~perf_ring();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Hands on what is in the ring, and frees its space. O(bytes).
  void drain(std::vector<std::byte>& spare, perf_listener& listener);
  /// Changes the period.
  void set_period(std::int64_t period);

 private:
  perf_ring(int descriptor, perf_event_mmap_page* header, std::size_t bytes)
      : descriptor_(descriptor), header_(header), bytes_(bytes) {}

  int descriptor_ = -1;
  perf_event_mmap_page* header_ = nullptr;  ///< The first page of the mapping; the ring follows.
  std::size_t bytes_ = 0;
};

/// Whether perf_event_open works here: 0, or the errno with which the kernel refuses to sample this very thread. Changes
/// nothing.
[[nodiscard]] int try_perf();

}  // namespace sluice::writer
