#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "instrumentation/runtime/device.hpp"

namespace sluice::runtime {

/// The result of a finished recording.
struct recording_summary {
  std::string path;
  std::uint64_t bytes = 0;   ///< size of the file in bytes
  std::uint64_t events = 0;  ///< number of events written
  std::uint64_t lost = 0;    ///< number of events dropped because a ring was full
  std::vector<std::string> warnings;
};

/// Records this process into a file while the object lives, without
/// `sluice record`. A process can have only one recording at a time.
///
/// On the simulated device, all times are on that device's clock, so pass the device that the program uses. On a CUDA
/// device, the capture library (libsluice_capture.so, beside the program or named by SLUICE_CAPTURE_LIBRARY) is loaded,
/// and CUPTI then supplies device times and the process's other CUDA activity. Without that library, device times come
/// from events around the runtime's own copies and kernels, and are marked as estimated. The file can be read during
/// the recording.
class recording {
 public:
  /// Begins recording. Throws error if the file cannot be created or the process is already being recorded.
  explicit recording(const std::string& path, const device_ref& device = current_device());
  /// Finishes the recording. Errors are ignored; call finish() to see them.
  ~recording();
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;

  /// Waits for the device, writes the remaining data and closes the file. Throws error, for example
  /// if the disk is full; the file then contains what was written before. Later calls do nothing.
  recording_summary finish();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Connects this process to the `sluice record` that started it, if there is one, and
/// announces `devices`. They must be real devices, because that recording uses real time. The
/// runtime calls this when it first enumerates devices. Returns true if it joined a recording.
bool join_recording(std::span<const device_ref> devices);

}  // namespace sluice::runtime
