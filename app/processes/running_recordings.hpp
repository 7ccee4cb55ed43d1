#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::processes {

/// A recording that a `sluice record` of this user writes.
struct running_recording {
  std::uint64_t pid = 0;
  std::string command;  ///< What is recorded.
  std::string file;     ///< Absolute path of the recording; empty if it is not known.
};

/// The recordings that run now, newest first. Reads /proc: O(processes).
[[nodiscard]] std::vector<running_recording> running_recordings();

}  // namespace sluice::processes
