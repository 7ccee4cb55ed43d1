#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/threads/worker_thread.hpp"

namespace sluice::gui {

/// Computes a value on its own thread (where threads are available), so that no frame waits for a file system. Runs one
/// computation at a time; use from one thread. The destructor waits until the computation ends.
template <class Value>
class background {
 public:
  /// Starts `find`. Does nothing if a computation is running or no thread is available; the caller should then try
  /// again later.
  void start(std::function<Value()> find) {
    if (running()) return;
    try {
      found_ = start_async(std::move(find));
    } catch (const std::system_error&) {
      found_ = {};
    }
  }
  [[nodiscard]] bool running() const { return found_.valid(); }
  /// Returns the value when it is ready, once; until then and afterwards, nullopt.
  [[nodiscard]] std::optional<Value> take() {
    if (!running() || found_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    return found_.get();
  }

 private:
  std::future<Value> found_;
};

}  // namespace sluice::gui
