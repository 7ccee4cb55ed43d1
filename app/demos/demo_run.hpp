#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "app/demos/demo.hpp"
#include "core/base/error.hpp"

namespace sluice::demos {

enum class device_choice : std::uint8_t { automatic, simulated, cuda };

struct demo_options {
  device_choice device = device_choice::automatic;  ///< automatic: CUDA if there is a CUDA device, otherwise simulated
  std::string output;  ///< path of the recording; empty: do not record, or leave recording to another recorder that is
                       ///< active
  double wall_seconds =
      0;  ///< simulated device: the wall time, in seconds, over which to spread the run, for a live view; 0: run at
          ///< full speed
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

/// Returns a device for `choice`. Error `unavailable`, with the reason, if there is no CUDA device.
[[nodiscard]] result<runtime::device_ref> choose_device(device_choice choice);

/// Runs a demo on the calling thread and records it to `output`. Errors: unavailable (no such device), corrupt (a wrong
/// result), io (any other error, such as in writing the recording or a scratch file). Even after an error, the
/// recording is closed and contains everything up to the error.
[[nodiscard]] result<demo_outcome> run_demo(const demo& subject, const demo_options& options);

}  // namespace sluice::demos
