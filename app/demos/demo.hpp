#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/device.hpp"
#include "instrumentation/runtime/range.hpp"

// The demos: small programs that use the runtime. Each is written to show something in its recording. Demos run on any
// device, check their own results, and can be stopped between two steps.

namespace sluice::demos {

/// Thrown if a demo computed a wrong result because of a fault of the device or of Sluice.
class wrong_result : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The environment of a running demo.
class context {
 public:
  /// `say`: receives one line per finding, such as a measured rate.
  context(const runtime::device_ref& device, std::stop_token stop, std::function<void(const std::string&)> say)
      : device_(device), stop_(std::move(stop)), say_(std::move(say)) {}

  [[nodiscard]] const runtime::device_ref& device() const noexcept { return device_; }
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  [[nodiscard]] bool stopped() const noexcept { return stop_.stop_requested(); }
  void say(const std::string& line) const {
    if (say_) say_(line);
  }
  /// The current time in ns, for measuring durations; on a simulated device, the time of the device's clock.
  [[nodiscard]] std::int64_t now_ns() const;
  /// Sets the completed share, 0..1, which the recording stores as the counter "progress".
  void progress(double share) const noexcept { progress_.set(share); }
  /// Throws wrong_result with the text `subject` unless `holds`.
  static void check(bool holds, std::string_view subject) {
    if (!holds) throw wrong_result("wrong result: " + std::string(subject));
  }
  /// Leaks `memory` on purpose: it is freed only after the recording has ended.
  void leave_behind(runtime::buffer memory) { left_behind_.push_back(std::move(memory)); }
  /// Returns the leaked memory, so that the caller can free it after the recording has ended.
  [[nodiscard]] std::vector<runtime::buffer> take_left_behind() { return std::move(left_behind_); }

 private:
  runtime::device_ref device_;
  std::stop_token stop_;
  std::function<void(const std::string&)> say_;
  runtime::counter progress_{"progress", trace::counter_unit::fraction};
  std::vector<runtime::buffer> left_behind_;
};

struct demo {
  std::string_view name;
  std::string_view shows;     ///< what the demo shows, in one line
  std::string_view look_for;  ///< what to look for in the window, in one or two lines
  double simulated_seconds;   ///< duration on the simulated device's clock, for pacing
  void (*run)(context&);
};

/// All demos, in menu order.
[[nodiscard]] std::span<const demo> all() noexcept;
/// The demo with this name; null if there is none.
[[nodiscard]] const demo* find(std::string_view name) noexcept;

/// Marks a function of a demo: recordings on the simulated device name the lines in it that allocate, copy and launch
/// (instrumentation/backend/own_stacks.hpp).
#define SLUICE_DEMO_CODE [[gnu::section("sluice_demo")]]

SLUICE_DEMO_CODE void chunked_file(context& c);
SLUICE_DEMO_CODE void pool_churn(context& c);
SLUICE_DEMO_CODE void overlap(context& c);
SLUICE_DEMO_CODE void pinned_vs_pageable(context& c);
SLUICE_DEMO_CODE void managed_migration(context& c);
SLUICE_DEMO_CODE void leak(context& c);
SLUICE_DEMO_CODE void graph_replay(context& c);
SLUICE_DEMO_CODE void priority_streams(context& c);
SLUICE_DEMO_CODE void mapped_memory(context& c);
SLUICE_DEMO_CODE void stencil(context& c);

}  // namespace sluice::demos
