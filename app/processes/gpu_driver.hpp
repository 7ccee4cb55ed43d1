#pragma once

#include <string>

namespace sluice::processes {

/// True if an NVIDIA driver is loaded on this machine, or reachable from this container: its kernel module is there, or
/// a device file of it (also those of WSL and Jetson). Takes microseconds, and loads nothing; `sluice doctor` checks
/// more. `root`: the folder in which /proc and /dev are, for tests.
[[nodiscard]] bool has_gpu_driver(const std::string& root = "/");

}  // namespace sluice::processes
