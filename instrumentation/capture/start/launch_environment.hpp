#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

/// What `sluice record` must put into the environment of the command it starts, so that each of its processes loads the
/// capture library. Part of the program, not of the capture library.
namespace sluice::capture {

/// Asks the capture library to hash what host-to-device copies move: the percentage of each thread's time that it may take, a whole
/// number from 1 to 100; 0: not at all.
inline constexpr const char* duplicates_variable = "SLUICE_FIND_DUPLICATES";

/// Looks an environment variable up, as getenv does.
using variable_lookup = std::function<std::optional<std::string>(const std::string&)>;

/// The variables of this process.
[[nodiscard]] variable_lookup own_environment();

/// Files that may be the libcupti for `command`, best first: what SLUICE_CUPTI_PATH names; for a Python command the one that its
/// PyTorch brings along, which its process will load anyway; the toolkit's; for a program that is not Python, those of the python3 on
/// PATH. May be empty: then the capture library tries the loader's own search. Reads names and small files; runs nothing.
[[nodiscard]] std::vector<std::string> find_cupti(std::span<const std::string> command,
                                                  const variable_lookup& variables);

/// `files` as SLUICE_CUPTI_PATH names them: with ':' between.
[[nodiscard]] std::string joined_files(std::span<const std::string> files);

/// libsluice_capture.so beside `program` (the running executable). Error: unavailable, if it is not there.
[[nodiscard]] result<std::string> capture_library_of(const std::string& program);

/// Variables to set, by name and value: CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and LD_PRELOAD load the library, SLUICE_SOCKET and
/// SLUICE_CUPTI_PATH are for it, PYTHONPATH lets `import sluice` succeed. Lists that `inherited` has keep their entries. A path that
/// LD_PRELOAD cannot name (with a space or a colon in it) is left out of it: see `can_be_preloaded`.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> launch_environment(const std::string& capture_library,
                                                                                  const std::string& socket_name,
                                                                                  std::span<const std::string> cupti,
                                                                                  const variable_lookup& inherited);

/// The dynamic loader can read this path in LD_PRELOAD.
/// What is interposed (PyTorch's allocator) and what programs say by themselves (sluice.h, sluice.py) needs LD_PRELOAD.
[[nodiscard]] bool can_be_preloaded(const std::string& capture_library);

}  // namespace sluice::capture
