#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::processes {

/// A recording that a `sluice record` process of this user is writing.
struct running_recording {
  std::uint64_t pid = 0;
  std::string command;  ///< Command line of the recorded program.
  std::string file;     ///< Absolute path of the recording; empty if unknown.
};

/// The recordings that are being written now, newest first. Reads /proc: O(processes).
[[nodiscard]] std::vector<running_recording> running_recordings();

}  // namespace sluice::processes
