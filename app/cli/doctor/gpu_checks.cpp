// Checks of the GPU: the driver, the capture library, CUPTI, permissions, other profilers.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>

#include "app/cli/doctor/checks.hpp"
#include "app/processes/probe.hpp"
#include "instrumentation/capture/process/activity_layout.hpp"
#include "instrumentation/capture/process/cupti_names.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::cli {
namespace {

// These constants are from cuda.h, which is not needed to build Sluice.
constexpr int cuda_success = 0;
constexpr int cuda_no_device = 100;
constexpr int cuda_driver_mismatch = 803;  // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The version of the loaded kernel module, such as "580.95.05"; empty if none is loaded.
std::string module_version(const machine& where) {
  static const std::regex number(R"(\b(\d+\.\d+(\.\d+)?)\b)");
  const std::string text = text_of_file(where.driver_state + "/version");
  std::smatch found;
  return std::regex_search(text, found, number) ? found[1].str() : std::string();
}

/// Formats the number by which the driver identifies a CUDA version: 13000 is 13.0.
std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

/// Queries the driver, and returns lines: the number of the first error (0: none) and its name; CUDA's version; then
/// one line per GPU. Runs in a child process.
std::string ask_driver(const std::string& name) {
  for (const char* variable : capture::injection_variables) unsetenv(variable);  // No profiler may start here.
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fmt::format("-1 {}\n0\n", dlerror());
  auto* const init = symbol<int(unsigned)>(library, "cuInit");
  auto* const get_version = symbol<int(int*)>(library, "cuDriverGetVersion");
  auto* const get_count = symbol<int(int*)>(library, "cuDeviceGetCount");
  auto* const get_name = symbol<int(char*, int, int)>(library, "cuDeviceGetName");
  auto* const error_name = symbol<int(int, const char**)>(library, "cuGetErrorName");
  if (init == nullptr || get_version == nullptr || get_count == nullptr || get_name == nullptr)
    return fmt::format("-1 {} is not a CUDA driver\n0\n", name);
  int version = 0, count = 0;
  get_version(&version);
  int status = init(0);
  if (status == cuda_success) status = get_count(&count);
  const char* said = nullptr;
  if (status != cuda_success && error_name != nullptr) error_name(status, &said);
  std::string text = fmt::format("{} {}\n{}\n", status, said == nullptr ? "" : said, version);
  for (int each = 0; each < count; ++each) {
    char gpu[256] = {};
    if (get_name(gpu, sizeof gpu, each) == cuda_success) text += std::string(gpu) + "\n";
  }
  return text;
}

struct driver_result {
  int status = 0;
  std::string error;
  int version = 0;
  std::vector<std::string> gpus;
};

result<driver_result> get_driver(const machine& where) {
  const auto text = processes::probe([&] { return ask_driver(where.driver_library); }, {.timeout = where.timeout});
  if (!text) return tl::unexpected(text.error());
  std::istringstream lines(*text);
  driver_result output;
  lines >> output.status;
  lines.ignore(1);
  std::getline(lines, output.error);
  lines >> output.version;
  lines.ignore(1);
  for (std::string gpu; std::getline(lines, gpu);) output.gpus.push_back(gpu);
  return output;
}

std::string named_gpus(const std::vector<std::string>& gpus) {
  std::string text = fmt::format("{} GPU{}: ", gpus.size(), gpus.size() == 1 ? "" : "s");
  for (std::size_t first = 0; first < gpus.size();) {
    std::size_t end = first;
    while (end < gpus.size() && gpus[end] == gpus[first]) ++end;
    text += fmt::format("{}{}{}", first == 0 ? "" : ", ", end - first > 1 ? fmt::format("{} x ", end - first) : "",
                        gpus[first]);
    first = end;
  }
  return text;
}

/// The version of a libcupti as "FILE\nVERSION CUDA", where CUDA is the driver's version or 0. Opens the driver first,
/// as programs do. Runs in a child process.
std::string ask_cupti(const std::string& file, const std::string& driver) {
  void* const opened = dlopen(driver.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* const get_cuda_version = opened == nullptr ? nullptr : symbol<int(int*)>(opened, "cuDriverGetVersion");
  int cuda = 0;
  if (get_cuda_version != nullptr) get_cuda_version(&cuda);
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "";
  auto* const get_version = symbol<int(std::uint32_t*)>(library, "cuptiGetVersion");
  std::uint32_t version = 0;
  if (get_version == nullptr || get_version(&version) != 0) return "";
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(get_version), &info) != 0 && info.dli_fname != nullptr;
  return fmt::format("{}\n{} {}", known ? info.dli_fname : file.c_str(), version, cuda);
}

/// The CUDA version that belongs to a version of CUPTI. CUPTI's version is 130001 for CUDA 13.0 update 1; older
/// versions are consecutive numbers that start with 18 for CUDA 12.0.
unsigned cuda_of_cupti(std::uint32_t version) {
  constexpr std::uint32_t first_by_cuda = 130000;
  return version >= first_by_cuda ? version / 10000 : 12;
}

}  // namespace

check_result check_driver(const machine& where) {
  check_result output{.name = "driver", .needed = true};
  const std::string module = module_version(where);
  const auto result = get_driver(where);
  output.state = health::missing;
  if (!result) {
    output.found = fmt::format("{}: {}", where.driver_library, result.error().to_string());
    output.advice = "reinstall the NVIDIA driver; dmesg may have details";
    return output;
  }
  if (result->status < 0) {
    output.found = "no CUDA driver: " + result->error;
    output.advice =
        module.empty()
            ? "install the NVIDIA driver (nvidia-smi must work); on a machine without a GPU, demos run on "
              "the simulated device"
            : "the kernel module is loaded; if this is a container, start it with access to the GPUs (docker "
              "run --gpus all)";
    return output;
  }
  const std::string version =
      fmt::format("{}CUDA {}", module.empty() ? "" : "NVIDIA driver " + module + ", ", cuda_version(result->version));
  if (result->status != cuda_success || result->gpus.empty()) {
    const bool no_device = result->status == cuda_no_device || result->status == cuda_success;
    output.found = no_device ? version + ", but no GPU"
                             : fmt::format("{}: cuInit failed with {} ({})", version, result->status, result->error);
    output.advice = result->status == cuda_driver_mismatch ? "the kernel module and libcuda differ in version: reboot"
                    : where.variables("CUDA_VISIBLE_DEVICES")
                        ? "CUDA_VISIBLE_DEVICES is set: unset it, or name a GPU of this machine"
                        : "nvidia-smi must list the GPU; in a container, start it with GPUs (docker run --gpus all)";
    return output;
  }
  output.state = health::ok;
  output.found = version + ", " + named_gpus(result->gpus);
  return output;
}

check_result check_capture_library(const machine& where) {
  check_result result{.name = "capture", .needed = true};
  const auto library = capture::find_capture_library(where.program);
  if (!library) {
    result.state = health::missing;
    result.found = library.error().file + ": " + library.error().message;
    result.advice = library.error().hint;
    return result;
  }
  result.found = *library;
  const auto problem = processes::probe(
      [&]() -> std::string {
        unsetenv(ring::socket_variable);  // The probe itself must not be recorded.
        return dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr ? dlerror() : "";
      },
      {.timeout = where.timeout});
  if (!problem || !problem->empty()) {
    result.state = health::missing;
    result.found = "cannot be loaded: " + (problem ? *problem : result.found + " " + problem.error().to_string());
    result.advice = "use the library that came with this program; it needs glibc 2.34 or later";
  } else if (!capture::can_be_preloaded(*library)) {
    result.state = health::warning;
    result.found += " cannot be preloaded: its path has a space or a colon";
    result.advice = "move Sluice elsewhere; until then PyTorch's blocks and sluice.py are not recorded";
  }
  return result;
}

check_result check_cupti(const machine& where) {
  check_result result{.name = "cupti"};
  const std::vector<std::string> command{where.command};
  auto files = capture::find_cupti(command, where.variables);
  // As the capture library does: let the loader search by name only if no file is known.
  if (files.empty()) files.assign(std::begin(capture::cupti_names), std::end(capture::cupti_names));
  std::string trouble;
  for (const std::string& file : files) {
    const auto text =
        processes::probe([&] { return ask_cupti(file, where.driver_library); }, {.timeout = where.timeout});
    if (!text) trouble = file + " " + text.error().to_string();
    if (!text || text->empty()) continue;
    std::istringstream lines(*text);
    std::string path;
    std::uint32_t version = 0;
    int cuda = 0;
    std::getline(lines, path);
    lines >> version >> cuda;
    result.found = fmt::format("{}, version {} (CUDA {})", path, version, cuda_of_cupti(version));
    if (version < capture::layout::oldest_version) {
      result.state = health::warning;
      result.found = fmt::format("{} is version {}, older than CUDA 12.0", path, version);
      result.advice = "install CUPTI 12.4 or later; until then only --mode memory works";
    } else if (cuda > 0 && static_cast<int>(cuda_of_cupti(version)) > cuda / 1000) {
      result.state = health::warning;
      result.found += fmt::format(", but the driver is for CUDA {}", cuda_version(cuda));
      result.advice = fmt::format("install CUPTI for CUDA {} (pip install nvidia-cuda-cupti-cu{}) or a newer driver",
                                  cuda / 1000, cuda / 1000);
    }
    return result;
  }
  result.state = health::warning;
  result.found = trouble.empty()
                     ? "libcupti not found: --mode timeline lacks device times; --mode memory is not affected"
                     : trouble;
  result.advice =
      "install the CUDA toolkit's CUPTI (pip install nvidia-cuda-cupti), or name the file in SLUICE_CUPTI_PATH";
  return result;
}

check_result check_permissions(const machine& where) {
  check_result result{.name = "permissions"};
  const std::string parameters = text_of_file(where.driver_state + "/params");
  if (parameters.empty()) {
    result.found = "the parameters of the NVIDIA kernel module are not available";
    return result;
  }
  const bool restricted = parameters.find("RmProfilingAdminOnly: 1") != std::string::npos;
  if (!restricted || where.is_root) {
    result.found =
        restricted ? "profiling is limited to administrators; you are one" : "profiling is open to all users";
    return result;
  }
  result.state = health::warning;
  result.found = "the driver restricts performance counters to administrators (RmProfilingAdminOnly: 1)";
  result.advice =
      "Sluice reads no counters; if --mode timeline reports insufficient privileges, load the kernel module nvidia "
      "with NVreg_RestrictProfilingToAdminUsers=0";
  return result;
}

check_result check_other_profilers(const machine& where) {
  check_result result{.name = "profilers"};
  const auto library = capture::find_capture_library(where.program);
  std::string others;
  for (const auto& [name, other] : capture::other_injections(library.value_or(""), where.variables))
    others += fmt::format("{}{}={}", others.empty() ? "" : ", ", name, other);
  if (where.variables("NSYS_PROFILING_SESSION_ID"))
    others += fmt::format("{}this shell runs under Nsight Systems", others.empty() ? "" : ", ");
  if (others.empty()) {
    result.found = "no other profiler is configured in the environment";
    return result;
  }
  result.state = health::warning;
  result.found = others;
  result.advice = "sluice record replaces it for the recorded command, because CUPTI supports one profiler at a time";
  return result;
}

}  // namespace sluice::cli
