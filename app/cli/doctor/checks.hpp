#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "instrumentation/capture/start/launch_environment.hpp"
#include "instrumentation/writer/sampling/perf_ring.hpp"

/// The checks of `sluice doctor`. Each check calls the functions that the checked verb itself uses, and changes
/// nothing.
namespace sluice::cli {

enum class health {
  ok,
  warning,  ///< The checked feature works less well, or does not work.
  missing,  ///< The checked component does not exist.
};

struct check_result {
  std::string name;  ///< One word, such as "driver"; stable, so that scripts can rely on it.
  health state = health::ok;
  std::string found = {};   ///< One line: what was found, or what is wrong.
  std::string advice = {};  ///< How to fix it; empty if there is nothing to do.
  bool needed = false;      ///< Without this component (`state` is `missing`), no GPU activity can be recorded.
};

/// The machine to check. Tests describe machines other than this one.
struct machine {
  capture::variable_lookup variables = capture::own_environment();
  std::string program = capture::own_program();  ///< Path of `sluice`.
  std::string command = "python3";               ///< The program to be recorded.
  std::string folder = ".";                      ///< The folder for recordings.
  std::string driver_library = "libcuda.so.1";
  std::string driver_state = "/proc/driver/nvidia";  ///< Where the kernel module shows its version and parameters.
  int (*try_perf)() = writer::try_perf;              ///< The errno of perf_event_open; 0 if it works.
  std::string perf_limit = "/proc/sys/kernel/perf_event_paranoid";
  std::string process_status = "/proc/self/status";  ///< Shows whether a filter of system calls (seccomp) is active.
  bool is_root = false;                              ///< The user has all permissions.
  std::chrono::milliseconds timeout{20'000};         ///< Time limit for probing each library or program.
};

/// Checks the driver's version and its GPUs. Loads the driver in a child process. The result is `needed`.
[[nodiscard]] check_result check_driver(const machine& where);

/// Checks whether the capture library exists, can be loaded, and can be preloaded. The result is `needed`.
[[nodiscard]] check_result check_capture_library(const machine& where);

/// Checks the libcupti that `sluice record` would choose for the command: its version, and whether the driver supports
/// it.
[[nodiscard]] check_result check_cupti(const machine& where);

/// Checks whether the driver restricts profiling to administrators.
[[nodiscard]] check_result check_permissions(const machine& where);

/// Checks whether the environment activates another profiler.
[[nodiscard]] check_result check_other_profilers(const machine& where);

/// Checks whether shared memory is available for the ring buffers of a recorded process.
[[nodiscard]] check_result check_shared_memory();

/// Checks whether a process may read its own memory through a system call, which hashes of copies and Python stacks
/// require.
[[nodiscard]] check_result check_memory_reading();

/// Checks whether the kernel samples the threads of other processes (perf_event_open).
[[nodiscard]] check_result check_sampling(const machine& where);

/// Checks the free disk space in the folder for recordings.
[[nodiscard]] check_result check_disk(const machine& where);

/// Checks the command's Python: whether its stacks can be read, and which PyTorch it has. Runs that Python in a way
/// that imports nothing from the current folder.
[[nodiscard]] check_result check_python(const machine& where);

/// Checks whether screenshots can be drawn without a display (`sluice screenshot`). Only in builds with the window.
[[nodiscard]] check_result check_drawing(const machine& where);

/// Checks whether a window can be opened. Only in builds with the window.
[[nodiscard]] check_result check_window(const machine& where);

/// Runs all checks, in the order in which they are printed.
[[nodiscard]] std::vector<check_result> check_machine(const machine& where);

/// True if no `needed` component is missing.
[[nodiscard]] bool can_record(const std::vector<check_result>& results);

/// One line per check, and a last line that states whether programs can be recorded. Ends with a newline.
[[nodiscard]] std::string checks_as_text(const std::vector<check_result>& results);

/// {"can_record": bool, "checks": [{"name", "state": "ok"|"warning"|"missing", "needed", "found", "advice"}]}.
[[nodiscard]] std::string checks_as_json(const std::vector<check_result>& results);

}  // namespace sluice::cli
