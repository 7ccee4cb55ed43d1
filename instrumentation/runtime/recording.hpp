#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "instrumentation/runtime/device.hpp"

namespace sluice::runtime {

/// What a finished recording came to.
struct recording_summary {
  std::string path;
  std::uint64_t bytes = 0;   ///< size of the file
  std::uint64_t events = 0;  ///< written
  std::uint64_t lost = 0;    ///< dropped because a ring was full
  std::vector<std::string> warnings;
};

/// Records this process into a file for as long as the object lives, without `sluice record`. One at a time in a
/// process.
///
/// On the simulated device every clock of the file is the device's; the caller's own device must be the one given. On
/// a CUDA device the capture library (libsluice_capture.so: beside the program, or named by SLUICE_CAPTURE_LIBRARY) is loaded,
/// and device times and whatever else the process does with CUDA come from CUPTI; where that cannot be, times come from events
/// around the runtime's own copies and kernels and are marked estimated. While recording, the file can be read.
class recording {
 public:
  /// Begins. Throws error: the file cannot be made, or something records already.
  explicit recording(const std::string& path, const device_ref& device = current_device());
  /// Finishes; what goes wrong then is lost with it.
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// Waits for the device, writes what is left and closes the file. Throws error, such as for a full disk: the file
  /// then holds what came before. Later calls do nothing.
  recording_summary finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Connects this process to the `sluice record` that started it, if one did, and says which devices there are; real
/// ones, for that recording's clock is real. The runtime calls it when it first looks for devices. True if somebody
/// records.
bool join_recording(std::span<const device_ref> devices);

}  // namespace sluice::runtime
