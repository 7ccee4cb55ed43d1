#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

// What becomes of a pool when a signal handler that interrupted a thread inside it ends the program. Internal.
//
// `exit` runs the thread's destructors in the handler, and those of objects in static storage after them. What the thread holds it
// would wait for itself, for ever, and what the locks guard is between two states. The process's memory goes with the process: from
// then on the thread leaves all pools as they are. It shows where the thread's fronts go; what the thread made after them goes
// before, and there it shows when the thread comes to wait for itself.

namespace sluice::runtime {
class look_limit;
}

namespace sluice::runtime::pooling {

/// What a mutex guards. Who holds a device's list of pools may take a pool; who holds a pool takes nothing more, and others who have
/// the list may wait for it.
enum class guards : std::uint8_t { pool, list_of_pools };

/// What the calling thread does in a pool, or with a device's list of pools, for as long as this lives. A hit is told by its front
/// instead.
class inside {
 public:
  /// With the thread's own fronts, which nothing else of its may touch meanwhile.
  inside() noexcept;
  inside(const std::mutex& mutex, guards what) noexcept;
  ~inside();
  inside(const inside&) = delete;
  inside& operator=(const inside&) = delete;

  void set_holds(bool it) noexcept { holds_.store(it, std::memory_order_relaxed); }
  /// It has let go of the mutex, and what is called meanwhile may come back and take it.
  void set_out(bool out) noexcept { out_.store(out, std::memory_order_relaxed); }

  /// The calling thread's last one with that mutex.
  [[nodiscard]] static inside& of(const std::mutex& mutex) noexcept;

  [[nodiscard]] bool excludes(const std::mutex& mutex) const noexcept {
    if (mutex_ == nullptr) return true;
    return (what_ == guards::pool || mutex_ == &mutex) && !out_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool holds(const std::mutex& mutex) const noexcept {
    return mutex_ == &mutex && holds_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] const inside* outer() const noexcept { return outer_; }

 private:
  const std::mutex* mutex_ = nullptr;
  guards what_ = guards::pool;
  inside* outer_;
  std::atomic<bool> holds_{false}, out_{false};  ///< A handler in the same thread reads them.
};

/// Holds the mutex of a pool, or of a device's list of them.
class pool_lock {
 public:
  explicit pool_lock(std::mutex& mutex, guards what = guards::pool) : here_(mutex, what), lock_(mutex) {
    here_.set_holds(true);
  }
  /// As long as the limit allows to wait for it.
  pool_lock(std::mutex& mutex, const look_limit& limit, guards what = guards::pool);
  ~pool_lock() { here_.set_holds(false); }
  pool_lock(const pool_lock&) = delete;
  pool_lock& operator=(const pool_lock&) = delete;

  [[nodiscard]] explicit operator bool() const noexcept { return lock_.owns_lock(); }

 private:
  inside here_;  ///< Before the mutex is taken until after it is let go: a handler finds no moment in between.
  std::unique_lock<std::mutex> lock_;
};

/// The calling thread ends the program from inside a pool, and touches none any more: what it frees stays where it is. That holds for
/// call-backs that end the program, too, though the pool waits for them without its mutex: others may be held.
[[nodiscard]] bool is_cut_off() noexcept;

/// The same, or it shows by this: the calling thread needs a mutex where it waits for itself, by that one or by what it holds, or is
/// in a hit. Call-backs never come there, since pools let go for them: it is a signal handler, which ends the program.
[[nodiscard]] bool is_cut_off(const std::mutex& needed) noexcept;

/// True: the calling thread holds it, and whoever waits for it does so in vain where the thread is cut off. False also while the thread
/// takes it or lets go.
[[nodiscard]] bool holds(const std::mutex& mutex) noexcept;

}  // namespace sluice::runtime::pooling
