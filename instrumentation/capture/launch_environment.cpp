#include "instrumentation/capture/launch_environment.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace sluice::capture {
namespace {

namespace fs = std::filesystem;

// A library of ours that was built with a sanitizer would bring its runtime into programs that were built without.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool with_sanitizer = true;
#else
constexpr bool with_sanitizer = false;
#endif

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool executable(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none) && access(path.c_str(), X_OK) == 0;
}

/// As execvp looks for it; empty if there is no such program.
std::string on_path(const std::string& name, const variable_lookup& variables) {
  if (name.find('/') != std::string::npos) return executable(name) ? name : std::string{};
  for (const std::string& folder : split(variables("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    const fs::path candidate = fs::path(folder) / name;
    if (executable(candidate)) return candidate.string();
  }
  return {};
}

bool named_python(const std::string& path) { return fs::path(path).filename().string().starts_with("python"); }

/// The Python that runs `command`: itself, or the one in its first line ("#!"); empty if none does.
std::string interpreter_of(std::span<const std::string> command, const variable_lookup& variables) {
  if (command.empty()) return {};
  std::string program = on_path(command[0], variables);
  if (program.empty() || named_python(program)) return program;
  std::ifstream in(program, std::ios::binary);
  std::string line(256, '\0');
  in.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(in.gcount()));
  if (!line.starts_with("#!")) return {};
  std::istringstream words(line.substr(2, line.find('\n') - 2));
  for (std::string word; words >> word;) {
    if (named_python(word)) return on_path(word, variables);
  }
  return {};
}

/// Prints libcupti files that this Python's packages hold, PyTorch's CUDA version first.
constexpr const char* script = R"(
import glob, importlib.util, os, re, sys
folders = [sys.prefix + '/lib']
spec = importlib.util.find_spec('nvidia')
for place in (spec.submodule_search_locations or []) if spec else []:
    folders = glob.glob(place + '/*/lib') + folders
major = ''
spec = importlib.util.find_spec('torch')
if spec and spec.origin:
    try:
        with open(os.path.join(os.path.dirname(spec.origin), 'version.py')) as text:
            found = re.search(r"^cuda.*'(\d+)\.", text.read(), re.M)
            major = found.group(1) if found else ''
    except OSError:
        pass
files = [f for folder in folders for f in sorted(glob.glob(folder + '/libcupti.so.*'))]
for f in sorted(files, key=lambda f: not (major and f.endswith('.so.' + major))):
    print(f)
)";

/// What `program -c script` prints; empty if it fails or takes longer than 5 s.
std::string output_of_python(const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  std::string program_copy = program;
  std::string option = "-c";
  std::string text = script;
  char* arguments[] = {program_copy.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  std::string output;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (failed == 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{ends[0], POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      kill(child, SIGKILL);
      output.clear();
      break;
    }
    char part[4096];
    const ssize_t n = read(ends[0], part, sizeof part);
    if (n <= 0) break;
    output.append(part, static_cast<std::size_t>(n));
  }
  close(ends[0]);
  if (failed == 0) waitpid(child, nullptr, 0);
  return output;
}

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + ":" + b; }

void add_if_there(std::vector<std::string>& files, const fs::path& file) {
  std::error_code none;
  if (fs::exists(file, none) && std::find(files.begin(), files.end(), file.string()) == files.end()) {
    files.push_back(file.string());
  }
}

}  // namespace

variable_lookup own_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::vector<std::string> find_cupti(std::span<const std::string> command, const variable_lookup& variables) {
  std::vector<std::string> files = split(variables("SLUICE_CUPTI_PATH").value_or(""), ':');
  if (!files.empty()) return files;
  if (const std::string python = interpreter_of(command, variables); !python.empty()) {
    for (const std::string& file : split(output_of_python(python), '\n')) add_if_there(files, file);
  }
  for (const std::string& root : {variables("CUDA_HOME").value_or(""), variables("CUDA_PATH").value_or(""),
                                  std::string("/usr/local/cuda"), std::string("/opt/cuda")}) {
    if (root.empty()) continue;
    for (const char* folder : {"targets/x86_64-linux/lib", "extras/CUPTI/lib64", "lib64"}) {
      add_if_there(files, fs::path(root) / folder / "libcupti.so");
    }
  }
  return files;
}

std::string joined_files(std::span<const std::string> files) {
  std::string all;
  for (const std::string& file : files) all = joined(all, file);
  return all;
}

result<std::string> capture_library_of(const std::string& program) {
  const fs::path library = fs::path(program).parent_path() / "libsluice_capture.so";
  std::error_code none;
  if (fs::exists(library, none)) return library.string();
  return fail(error_code::unavailable, "the capture library is missing: nothing of the GPU can be recorded",
              library.string(), "keep it beside the program, or build with CUDA (./dev setup fetches what that needs)");
}

bool can_be_preloaded(const std::string& capture_library) {
  return capture_library.find_first_of(": ") == std::string::npos;
}

std::vector<std::pair<std::string, std::string>> launch_environment(const std::string& capture_library,
                                                                    const std::string& socket_name,
                                                                    std::span<const std::string> cupti,
                                                                    const variable_lookup& inherited) {
  const std::string files = joined_files(cupti);
  std::vector<std::pair<std::string, std::string>> variables{{"CUDA_INJECTION64_PATH", capture_library},
                                                             {"NVTX_INJECTION64_PATH", capture_library},
                                                             {"SLUICE_SOCKET", socket_name}};
  if (!files.empty()) variables.emplace_back("SLUICE_CUPTI_PATH", files);
  if (can_be_preloaded(capture_library) && !with_sanitizer) {
    variables.emplace_back("LD_PRELOAD", joined(capture_library, inherited("LD_PRELOAD").value_or("")));
    // A program built with AddressSanitizer refuses to start when something is loaded before its runtime. Ours replaces nothing
    // that the sanitizer does.
    variables.emplace_back("ASAN_OPTIONS", joined("verify_asan_link_order=0", inherited("ASAN_OPTIONS").value_or("")));
  }
  // Last, so that it hides no module of the user's.
  const std::string modules = (fs::path(capture_library).parent_path() / "python").string();
  variables.emplace_back("PYTHONPATH", joined(inherited("PYTHONPATH").value_or(""), modules));
  return variables;
}

}  // namespace sluice::capture
