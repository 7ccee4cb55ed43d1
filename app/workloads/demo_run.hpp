#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "app/workloads/workload.hpp"
#include "core/base/error.hpp"

namespace sluice::workloads {

enum class device_choice : std::uint8_t { automatic, simulated, cuda };

struct demo_options {
  device_choice device = device_choice::automatic;  ///< automatic: CUDA if there is a device, else simulated
  std::string output;  ///< path of the recording; empty: none, or another recorder is active
  double wall_seconds =
      0;  ///< simulated device: spread the run over about this wall time, for a live view; 0: at full speed
  std::stop_token stop;
  std::function<void(const std::string&)> say;  ///< receives one line per finding
};

/// The result of a demo.
struct demo_outcome {
  bool stopped = false;
  std::string device;            ///< the device's name
  std::uint64_t file_bytes = 0;  ///< size of the recording
  std::uint64_t lost_events = 0;
};

/// The device for a choice. Errors: unavailable, with the reason why there is no CUDA device.
[[nodiscard]] result<runtime::device_ref> choose_device(device_choice choice);

/// Runs a workload on the calling thread and records it to `output`. Errors: unavailable (no such device), corrupt (a
/// wrong result), io (recording, scratch file, or anything else). Even after an error, the recording is closed and has
/// everything up to that point.
[[nodiscard]] result<demo_outcome> run_demo(const workload& what, const demo_options& options);

}  // namespace sluice::workloads
