#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "instrumentation/capture/start/launch_environment.hpp"

/// What `sluice doctor` looks at. Each check asks the same functions as the verb that it speaks for, and changes nothing.
namespace sluice::cli {

enum class health {
  ok,
  warning,  ///< Something works less well, or a part of Sluice does not work.
  missing,  ///< Something is not there.
};

struct check_result {
  std::string name;  ///< One word, such as "driver": stable, for scripts.
  health state = health::ok;
  std::string found = {};   ///< What is there, or what is wrong. One line.
  std::string advice = {};  ///< What to do; empty if there is nothing to do.
  bool needed = false;      ///< Nothing of a GPU can be recorded unless `state` is not `missing`.
};

/// The machine to look at. Tests describe others.
struct machine {
  capture::variable_lookup variables = capture::own_environment();
  std::string program = capture::own_program();  ///< Path of `sluice`.
  std::string command = "python3";               ///< The program to be recorded.
  std::string folder = ".";                      ///< Where recordings are written.
  std::string driver_library = "libcuda.so.1";
  std::string driver_state = "/proc/driver/nvidia";  ///< Where the kernel module shows its version and parameters.
  bool is_root = false;                              ///< The user may do anything.
  std::chrono::milliseconds timeout{20'000};         ///< For each library or program that is asked.
};

/// The version of the driver, and the GPUs that it offers. Loads the driver in a child process. Needed.
[[nodiscard]] check_result check_driver(const machine& where);

/// The capture library: found, loadable, preloadable. Needed.
[[nodiscard]] check_result check_capture_library(const machine& where);

/// The libcupti that `sluice record` would choose for the command, its version, and whether the driver suits it.
[[nodiscard]] check_result check_cupti(const machine& where);

/// Whether the driver keeps profiling for administrators.
[[nodiscard]] check_result check_permissions(const machine& where);

/// Whether another profiler is set up in the environment.
[[nodiscard]] check_result check_other_profilers(const machine& where);

/// Whether shared memory can be had for the rings of a recorded process.
[[nodiscard]] check_result check_shared_memory();

/// Whether a process may read its own memory by the system call that hashes of copies and Python stacks rest on.
[[nodiscard]] check_result check_memory_reading();

/// Room for recordings in the folder.
[[nodiscard]] check_result check_disk(const machine& where);

/// The Python of the command: whether its stacks can be read, and its PyTorch. Runs that Python, which imports nothing of
/// the current folder.
[[nodiscard]] check_result check_python(const machine& where);

/// Whether pictures can be drawn without a display (`sluice screenshot`). Only in builds with the window.
[[nodiscard]] check_result check_drawing(const machine& where);

/// Whether a window can be opened. Only in builds with the window.
[[nodiscard]] check_result check_window(const machine& where);

/// All of them, in the order in which they are printed.
[[nodiscard]] std::vector<check_result> check_machine(const machine& where);

/// True if nothing that recording needs is missing.
[[nodiscard]] bool can_record(const std::vector<check_result>& results);

/// A line for each, and a last line that says whether programs can be recorded. Ends with a newline.
[[nodiscard]] std::string checks_as_text(const std::vector<check_result>& results);

/// {"can_record": bool, "checks": [{"name", "state": "ok"|"warning"|"missing", "needed", "found", "advice"}]}.
[[nodiscard]] std::string checks_as_json(const std::vector<check_result>& results);

}  // namespace sluice::cli
