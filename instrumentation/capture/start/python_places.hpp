#pragma once

#include <span>
#include <string>
#include <vector>

#include "instrumentation/capture/start/launch_environment.hpp"

/// Where the Python of a command keeps its packages. Found by reading names and small files. No program is run (the command must run
/// once, when the user asked for it) and no library is loaded. Part of the program, not of the capture library.
namespace sluice::capture {

/// The parts of `text` between separators, without empty ones.
[[nodiscard]] std::vector<std::string> split(const std::string& text, char separator);

/// The program that `name` stands for, as execvp finds it; empty if there is none. `variables` gives PATH; its empty and relative folders
/// are left out.
[[nodiscard]] std::string find_on_path(const std::string& name, const variable_lookup& variables);

/// The Python that runs `command`: a word of it, or the one that the first line ("#!") of a script among its words names; of wrappers
/// (srun, env, conda run) the first such word. Empty if there is none.
[[nodiscard]] std::string interpreter_of(std::span<const std::string> command, const variable_lookup& variables);

/// Files that may be the libcupti of the packages that `interpreter` imports, best first: the one of PyTorch's CUDA version, then
/// others. Looks into PYTHONPATH, the virtual environment, the prefix of the interpreter and the user's own packages. Absolute paths.
[[nodiscard]] std::vector<std::string> cupti_of_python(const std::string& interpreter,
                                                       const variable_lookup& variables);

}  // namespace sluice::capture
