#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/threads/worker_thread.hpp"

namespace sluice::gui {

/// A value that is found on a thread of its own (where there are threads), so that no frame waits for a file system. One
/// at a time; use from one thread. The destructor waits for the end.
template <class Value>
class background {
 public:
  /// Starts `find`. Nothing if one is running, or if no thread is available: then try again later.
  void start(std::function<Value()> find) {
    if (running()) return;
    try {
      found_ = start_async(std::move(find));
    } catch (const std::system_error&) {
      found_ = {};
    }
  }
  [[nodiscard]] bool running() const { return found_.valid(); }
  /// The value, once, when it is found.
  [[nodiscard]] std::optional<Value> take() {
    if (!running() || found_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    return found_.get();
  }

 private:
  std::future<Value> found_;
};

}  // namespace sluice::gui
