#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "instrumentation/writer/session/listener.hpp"

namespace sluice::writer {

/// A request of another thread to the writer thread.
struct session_request {
  enum class action : std::uint8_t { add_process, process_exited, warn, begin_now, dump, publish };
  action wanted{};
  std::uint64_t pid = 0;
  int status = 0;
  std::string text;
};

/// What other threads ask of the writer thread of a session, and what they learn about it. Thread-safe.
class session_requests {
 public:
  session_requests();

  /// The descriptor that becomes readable when there is a request; -1 if no descriptor was left.
  [[nodiscard]] int descriptor() const { return wake_.get(); }

  // For other threads.
  /// Adds a request and wakes the writer thread.
  void add(session_request request);
  /// Waits until everything so far is in the file. Returns the first error of the file.
  result<void> sync();
  /// Asks the recording to end, and wakes the writer thread.
  void stop();
  /// Like `stop`, but then waits up to `time`. Returns true if the writer thread has finished.
  [[nodiscard]] bool stops_within(std::chrono::milliseconds time);
  /// Asks the writer thread to skip slow steps at the end.
  void cut_short() { hurried_.store(true, std::memory_order_release); }
  /// Asks for the final name of the file. `publish_asked` then returns true, even if the writer thread ends before it
  /// takes the request.
  void ask_to_publish();
  [[nodiscard]] std::size_t live_processes() const { return live_processes_.load(std::memory_order_relaxed); }

  // For both sides.
  [[nodiscard]] bool publish_asked() const { return publish_asked_; }
  /// The file's error. While the recording runs, a later flush that succeeds removes the error.
  [[nodiscard]] std::optional<error> failure() const;

  // For the writer thread.
  /// The requests since the last call of `take`.
  struct asked {
    std::vector<session_request> requests;
    std::uint64_t sync = 0;  ///< Number of the newest waiting `sync`, for `finish_sync`; 0: nobody waits.
  };
  /// Takes the requests. Does not wait.
  [[nodiscard]] asked take();
  void finish_sync(std::uint64_t number);
  [[nodiscard]] bool is_stopping() const { return stopping_.load(std::memory_order_acquire); }
  /// True after `cut_short`.
  [[nodiscard]] const std::atomic<bool>& hurried() const { return hurried_; }
  void set_live_processes(std::size_t count) { live_processes_.store(count, std::memory_order_relaxed); }
  void set_failure(std::optional<error> failure);
  /// Call as the last step of the writer thread: ends all waits.
  void end();

 private:
  void wake() const;

  unique_descriptor wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> hurried_{false};
  std::atomic<bool> publish_asked_{false};
  std::atomic<std::size_t> live_processes_{0};
  mutable std::mutex mutex_;  ///< Guards all members below.
  std::condition_variable synced_;
  std::condition_variable over_;
  bool ended_ = false;  ///< True after `end`.
  std::vector<session_request> requests_;
  std::uint64_t sync_asked_ = 0;  ///< Number of the newest `sync`.
  std::uint64_t sync_done_ = 0;   ///< Number of the newest `sync` that no longer waits.
  std::optional<error> failure_;
};

}  // namespace sluice::writer
