#pragma once

#include <mutex>

// What becomes of a pool when a signal handler that interrupted a thread inside it ends the program. Internal.
//
// `exit` runs the thread's destructors in the handler, and those of objects in static storage after them. What the thread holds it
// would wait for itself, for ever, and what the locks guard is between two states. The process's memory goes with the process: from
// then on the thread leaves all pools as they are.

namespace sluice::runtime::pooling {

/// The calling thread is inside a pool for as long as this lives. A hit is told by its front instead.
class inside {
 public:
  inside() noexcept;
  ~inside();
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;
};

/// Holds a pool's mutex.
class pool_lock {
 public:
  explicit pool_lock(std::mutex& mutex) : lock_(mutex) {}

 private:
  inside here_;  ///< Before the mutex is taken until after it is let go: a handler finds no moment in between.
  std::lock_guard<std::mutex> lock_;
};

/// The calling thread ends the program from inside a pool, and touches none any more: what it frees stays where it is. That holds for
/// call-backs that end the program, too, though the pool waits for them without its mutex: others may be held.
[[nodiscard]] bool is_cut_off() noexcept;

}  // namespace sluice::runtime::pooling
