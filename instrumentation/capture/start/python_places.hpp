#pragma once

#include <span>
#include <string>
#include <vector>

#include "instrumentation/capture/start/launch_environment.hpp"

/// Finds the package directories of a command's Python by reading directories and small files. These functions load no
/// library and run no program, because the command must run only when the user asks for it. They are part of `sluice`,
/// not of the capture library.
namespace sluice::capture {

/// Splits `text` at `separator`; empty parts are dropped.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

/// The path of program `name`, as execvp finds it; empty if there is none. `variables` supplies PATH, whose empty and
/// relative entries are ignored.
[[nodiscard]] std::string find_on_path(const std::string& name, const variable_lookup& variables);

/// The Python interpreter that runs `command`, looked up in the PATH of `variables`. The first word counts that is a
/// Python interpreter, or a script whose first line ("#!") names one. The words before are wrappers (srun, env, conda
/// run). Empty if there is no such word.
[[nodiscard]] std::string find_interpreter(std::span<const std::string> command, const variable_lookup& variables);

/// Possible libcupti files of the packages that `interpreter` imports, best first: the file for PyTorch's CUDA version,
/// then others. Searches PYTHONPATH, the virtual environment, the interpreter's prefix and the user's packages. Returns
/// absolute paths.
[[nodiscard]] std::vector<std::string> cupti_of_python(const std::string& interpreter,
                                                       const variable_lookup& variables);

}  // namespace sluice::capture
