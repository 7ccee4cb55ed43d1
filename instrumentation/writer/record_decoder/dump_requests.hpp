#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "instrumentation/writer/record_decoder/recorded_process.hpp"

namespace sluice::writer {

/// Notices during a recording what should cause a dump (a copy of the recording so far). Not thread-safe.
class dump_requests {
 public:
  /// `on_failure`: request a dump when an allocation fails. `max_device_bytes`: request a dump if `processes` together
  /// use more device memory; 0: never.
  dump_requests(const process_list& processes, bool on_failure, std::uint64_t max_device_bytes)
      : processes_(processes), on_failure_(on_failure), max_device_bytes_(max_device_bytes) {}

  /// Call when an allocation of `process` failed.
  void notice_failure(const recorded_process& process) {
    if (on_failure_) request("an allocation failed", process);
  }
  /// Call after the device memory in use has changed, by an event of `process`. O(processes) if there is a limit.
  void notice_use(const recorded_process& process) {
    if (max_device_bytes_ != 0) compare_use(process);
  }

  /// Why a dump was requested since the last call; empty if no dump was requested.
  [[nodiscard]] std::string take() { return std::exchange(reason_, {}); }

 private:
  void request(const char* reason, const recorded_process& process) {
    reason_ = std::string(reason) + " in process " + std::to_string(process.names.row.pid);
  }
  void compare_use(const recorded_process& process) {
    std::uint64_t bytes = 0;
    for (const auto& each : processes_) bytes += each->blocks.device_bytes();
    const bool above = bytes > max_device_bytes_;
    if (above && !above_) request("device memory in use exceeded the limit", process);
    above_ = above;
  }

  const process_list& processes_;
  bool on_failure_;
  std::uint64_t max_device_bytes_;
  bool above_ = false;  ///< True while the device memory in use is above the limit.
  std::string reason_;
};

}  // namespace sluice::writer
