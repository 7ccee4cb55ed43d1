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
  std::string output;  ///< the recording to write; empty: none, or somebody records already
  double wall_seconds =
      0;  ///< on the simulated device: spread the run over about this long, for a live view; 0: at full speed
  std::stop_token stop;
  std::function<void(const std::string&)> say;  ///< one line a finding
};

/// What a demo came to.
struct demo_outcome {
  bool stopped = false;
  std::string device;            ///< its name
  std::uint64_t file_bytes = 0;  ///< of the recording
  std::uint64_t lost_events = 0;
};

/// The device that a choice means here. Errors: unavailable, with why there is no CUDA device.
[[nodiscard]] result<runtime::device_ref> choose_device(device_choice choice);

/// Runs a workload, recorded into `output`, on the calling thread. Errors: unavailable (no such device), corrupt (a
/// wrong result), io (the recording, the scratch file). Whatever happens, the recording is closed and holds what came
/// before.
[[nodiscard]] result<demo_outcome> run_demo(const workload& what, const demo_options& options);

}  // namespace sluice::workloads
