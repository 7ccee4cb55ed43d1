#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

/// Functions that compute the environment which makes each process of a recorded command load the capture library.
/// `sluice record` sets this environment. The functions are part of `sluice`, not of the capture library.
namespace sluice::capture {

/// Environment variable that makes the capture library hash the data of copies to and from the host. The value is the
/// maximum percentage of each thread's time to spend on hashing, a whole number from 1 to 100; 0 turns hashing off.
inline constexpr const char* duplicates_variable = "SLUICE_FIND_DUPLICATES";

/// Environment variable that sets how often the Python frames of all threads are read in `timeline` mode and above, per
/// second: a whole number up to 10000; 0 turns it off. Without the variable: 500.
inline constexpr const char* sampling_variable = "SLUICE_SAMPLING";

/// Looks up an environment variable, like getenv.
using variable_lookup = std::function<std::optional<std::string>(const std::string&)>;

/// Looks up the variables of this process.
[[nodiscard]] variable_lookup own_environment();

/// Possible libcupti files for `command`, best first: the files in SLUICE_CUPTI_PATH, for a Python command the file of
/// its PyTorch (which the process will load anyway), the CUDA toolkit's file, and for other programs the files of the
/// python3 on PATH. The result may be empty; the capture library then uses the loader's search. Reads directories and
/// small files, and runs no program.
[[nodiscard]] std::vector<std::string> find_cupti(std::span<const std::string> command,
                                                  const variable_lookup& variables);

/// Joins `files` with ':', the format of SLUICE_CUPTI_PATH.
[[nodiscard]] std::string joined_files(std::span<const std::string> files);

/// Path of the running executable, with links resolved; empty if the system does not provide it.
[[nodiscard]] std::string own_program();

/// Path of the libsluice_capture.so that belongs to `program` (the running executable): in the same folder in a build
/// tree, in ../lib/sluice in an installation. Error `unavailable` if the library is in neither place.
[[nodiscard]] result<std::string> find_capture_library(const std::string& program);

/// The environment variables that make the driver and NVTX load a profiler's library.
inline constexpr const char* injection_variables[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};

/// Names and values of the injection variables that name a library other than `capture_library`. Such a library is
/// another profiler's, which `sluice record` replaces.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> other_injections(const std::string& capture_library,
                                                                                const variable_lookup& variables);

/// Names and values of the variables to set: CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and LD_PRELOAD load the
/// library. SLUICE_SOCKET and SLUICE_CUPTI_PATH configure the library. PYTHONPATH makes `import sluice` work. Variables
/// that are lists keep their entries from `inherited`. LD_PRELOAD omits a path with a space or a colon: see
/// `can_be_preloaded`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> launch_environment(const std::string& capture_library,
                                                                                  const std::string& socket_name,
                                                                                  std::span<const std::string> cupti,
                                                                                  const variable_lookup& inherited);

/// True if LD_PRELOAD can contain this path. If the library is not preloaded, PyTorch's allocator is not interposed,
/// and the program's own annotations (sluice.h, sluice.py) are not recorded.
[[nodiscard]] bool can_be_preloaded(const std::string& capture_library);

}  // namespace sluice::capture
