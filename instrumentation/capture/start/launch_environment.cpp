#include "instrumentation/capture/start/launch_environment.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "instrumentation/capture/start/python_places.hpp"

namespace sluice::capture {
namespace {

namespace fs = std::filesystem;

// A capture library built with a sanitizer would load the sanitizer's runtime into programs built without it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool with_sanitizer = true;
#else
constexpr bool with_sanitizer = false;
#endif

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
  const auto add_those_of = [&](const std::string& python) {
    if (python.empty()) return;
    for (const std::string& file : cupti_of_python(python, variables)) add_if_there(files, file);
  };
  const std::string of_command = find_interpreter(command, variables);
  add_those_of(of_command);
  for (const std::string& root : {variables("CUDA_HOME").value_or(""), variables("CUDA_PATH").value_or(""),
                                  std::string("/usr/local/cuda"), std::string("/opt/cuda")}) {
    if (!root.starts_with('/')) continue;  // Never load code from the current folder.
    for (const char* folder : {"targets/x86_64-linux/lib", "extras/CUPTI/lib64", "lib64"}) {
      add_if_there(files, fs::path(root) / folder / "libcupti.so");
    }
  }
  // Other programs may start Python themselves, for example shell scripts.
  const bool may_start_python = !command.empty() && !find_on_path(command[0], variables).empty();
  if (of_command.empty() && may_start_python) {
    const std::string python = find_on_path("python3", variables);
    add_those_of(python.empty() ? find_on_path("python", variables) : python);
  }
  return files;
}

std::string joined_files(std::span<const std::string> files) {
  std::string text;
  for (const std::string& file : files) text = joined(text, file);
  return text;
}

std::string own_program() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

result<std::string> find_capture_library(const std::string& program) {
  const fs::path folder = fs::path(program).parent_path();
  const fs::path beside = folder / "libsluice_capture.so";
  const fs::path installed = folder.parent_path() / "lib/sluice/libsluice_capture.so";
  std::error_code none;
  for (const fs::path& library : {beside, installed}) {
    if (library.is_absolute() && fs::exists(library, none)) return library.string();
  }
  return fail(error_code::unavailable, "the capture library is missing: no GPU activity can be recorded",
              beside.string(),
              "run `./dev build` in the folder of Sluice's sources, which makes it (it fetches CUDA's headers; no GPU "
              "is needed), "
              "or install a package of Sluice, which has it in ../lib/sluice");
}

std::vector<std::pair<std::string, std::string>> other_injections(const std::string& capture_library,
                                                                  const variable_lookup& variables) {
  std::vector<std::pair<std::string, std::string>> others;
  for (const std::string name : injection_variables) {
    auto other = variables(name);
    if (other && !other->empty() && *other != capture_library) others.emplace_back(name, std::move(*other));
  }
  return others;
}

bool can_be_preloaded(const std::string& capture_library) {
  return capture_library.find_first_of(": ") == std::string::npos;
}

std::vector<std::pair<std::string, std::string>> launch_environment(const std::string& capture_library,
                                                                    const std::string& socket_name,
                                                                    std::span<const std::string> cupti,
                                                                    const variable_lookup& inherited) {
  const std::string files = joined_files(cupti);
  std::vector<std::pair<std::string, std::string>> variables{{"SLUICE_SOCKET", socket_name}};
  for (const std::string name : injection_variables) variables.emplace_back(name, capture_library);
  if (!files.empty()) variables.emplace_back("SLUICE_CUPTI_PATH", files);
  if (can_be_preloaded(capture_library) && !with_sanitizer) {
    variables.emplace_back("LD_PRELOAD", joined(capture_library, inherited("LD_PRELOAD").value_or("")));
    // Programs built with AddressSanitizer refuse to start if a library is loaded before its runtime. Our library
    // replaces no function of the sanitizer.
    variables.emplace_back("ASAN_OPTIONS", joined("verify_asan_link_order=0", inherited("ASAN_OPTIONS").value_or("")));
  }
  // This folder comes last, so that it does not hide the user's modules.
  const std::string modules = (fs::path(capture_library).parent_path() / "python").string();
  variables.emplace_back("PYTHONPATH", joined(inherited("PYTHONPATH").value_or(""), modules));
  return variables;
}

}  // namespace sluice::capture
