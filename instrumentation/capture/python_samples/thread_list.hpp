#pragma once

#include <cstddef>
#include <cstdint>

#include "instrumentation/capture/python_samples/memory_batch.hpp"
#include "instrumentation/capture/stacks/python_stack.hpp"

namespace sluice::capture {

/// The threads that have a state in Python, in all interpreters of the process. Read from outside, while they come and
/// go. Not thread-safe. All bytes zero is a valid empty list.
class thread_list {
 public:
  static constexpr std::size_t max_threads = 256;

  struct entry {
    std::uint64_t state;  ///< Address of Python's state of the thread.
    std::uint64_t tid;    ///< The system's id; 0: unknown.
    std::uint64_t frame;  ///< `python_layout::thread.frame` in the state.
  };

  /// Call on the thread that will read the list. Returns false if this version's list cannot be read.
  [[nodiscard]] bool prepare(const python_symbols& python) noexcept;

  /// Reads the list again. One system call if it has not changed, else at most one more for each thread and interpreter.
  /// A list that changes meanwhile may come out short; it is whole at a later call.
  void refresh(memory_batch& memory) noexcept;

  [[nodiscard]] std::size_t count() const noexcept { return lists_[present_].count; }
  [[nodiscard]] const entry& operator[](std::size_t i) const noexcept { return lists_[present_].threads[i].about; }
  /// True if there were more than `max_threads` threads.
  [[nodiscard]] bool is_cut() const noexcept { return cut_; }

 private:
  static constexpr std::size_t max_interpreters = 16, state_bytes = 192;

  struct thread {
    entry about;
    std::uint64_t ident;  ///< pthread_t
    char bytes[state_bytes];
  };
  struct interpreter {
    std::uint64_t at, next, first;
  };
  struct list {
    std::size_t count, interpreter_count;
    thread threads[max_threads];
    interpreter interpreters[max_interpreters];
  };

  /// The progress of a walk along the old list, of which the first parts were read again.
  struct progress {
    const list& old;
    std::size_t fresh_interpreters, fresh_threads;  ///< So many of the old list were read.
    std::size_t next_interpreter, next_thread;      ///< The next old entries to compare.
  };

  void walk(memory_batch& memory, std::uint64_t head, progress& old, list& to) noexcept;
  [[nodiscard]] bool read_interpreter(memory_batch& memory, progress& old, interpreter& to) noexcept;
  [[nodiscard]] bool read_thread(memory_batch& memory, progress& old, thread& to) noexcept;
  [[nodiscard]] std::uint64_t find_tid(memory_batch& memory, const thread& one, const list& old) const noexcept;

  python_thread_list at_;
  std::uint64_t runtime_;
  std::size_t ident_at_, frame_at_, bytes_;
  std::size_t tid_in_pthread_;  ///< Offset of the system's id in what a pthread_t points to; 0: not found.
  list lists_[2];
  std::size_t present_;
  bool cut_;
};

}  // namespace sluice::capture
