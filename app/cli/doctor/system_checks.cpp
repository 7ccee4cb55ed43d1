// Checks memory, disk and Python, and formats the results of all checks.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "app/cli/doctor/checks.hpp"
#include "app/cli/output/json_output.hpp"
#include "core/base/format.hpp"
#include "core/base/json/json_text.hpp"
#include "core/base/outputs/text_table.hpp"
#include "core/base/system/child_process.hpp"
#include "instrumentation/capture/own_memory.hpp"
#include "instrumentation/capture/stacks/python_layout.hpp"
#include "instrumentation/capture/start/python_places.hpp"
#include "instrumentation/ring/memory_file.hpp"
#include "instrumentation/ring/producer.hpp"

namespace sluice::cli {
namespace {

using json = nlohmann::ordered_json;

namespace fs = std::filesystem;

/// Less free disk space than this causes a warning: a busy program records this much in a few minutes.
constexpr std::uint64_t little_room = std::uint64_t{1} << 30;

/// Prints the versions of Python and PyTorch. Finds them without importing packages, because importing PyTorch takes
/// seconds.
constexpr const char* python_query = R"(
import sys, sysconfig
print("version=%d.%d" % sys.version_info[:2])
print("implementation=" + sys.implementation.name)
print("without_gil=%d" % bool(sysconfig.get_config_var("Py_GIL_DISABLED")))
try:
    import importlib.metadata
    print("torch=" + importlib.metadata.version("torch"))
except Exception:
    pass
)";

/// The NAME=VALUE lines that `python_query` prints; empty if `python` could not be run.
std::map<std::string, std::string> get_results(const std::string& python, std::chrono::milliseconds timeout) {
  std::map<std::string, std::string> texts;
  // Python must import nothing from the current folder.
  auto started =
      child_process::start({.words = {python, "-c", python_query}, .folder = "/", .output = child_stream::pipe});
  if (!started) return texts;
  const auto output = started->read_output({.timeout = timeout});
  if (!output || !started->status().success()) return texts;
  std::istringstream lines(*output);
  for (std::string line; std::getline(lines, line);) {
    if (const auto equals = line.find('='); equals != std::string::npos)
      texts[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return texts;
}

/// True if the capture library can read the stacks of this Python version.
bool stacks_are_known(unsigned minor, bool without_gil) {
  return std::any_of(std::begin(capture::python_layouts), std::end(capture::python_layouts),
                     [&](const auto& layout) { return layout.minor == minor && layout.without_gil == without_gil; });
}

const char* get_word(health state) {
  switch (state) {
    case health::ok:
      return "ok";
    case health::warning:
      return "warning";
    case health::missing:
      return "missing";
  }
  return "";
}

/// True if the text of /proc/PID/status says that a seccomp filter is active.
bool has_system_call_filter(const std::string& status) {
  std::ifstream in(status);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("Seccomp:")) return line.find('2') != std::string::npos;
  }
  return false;
}

}  // namespace

check_result check_shared_memory() {
  check_result result{.name = "memory"};
  const std::size_t bytes = ring::producer_options{}.ring_bytes;
  const int file = ring::make_memory_file(bytes);
  if (file < 0) {
    result.state = health::warning;
    result.found = "cannot allocate shared memory for rings: " + describe_errno(errno);
    result.advice = errno == EFBIG ? "the file size limit is too small: ulimit -f unlimited"
                                   : "give the machine or the container more memory";
    return result;
  }
  close(file);
  result.found = fmt::format("{} of shared memory per recorded thread is available (/dev/shm is not used)",
                             format_bytes(static_cast<std::uint64_t>(bytes)));
  return result;
}

check_result check_memory_reading() {
  check_result result{.name = "sandbox"};
  if (capture::can_read_own_memory()) {
    result.found = "a process may read its own memory (process_vm_readv); ptrace is not needed";
    return result;
  }
  result.state = health::warning;
  result.found = "process_vm_readv is blocked: --find-duplicates and stacks of free-threaded Python do not work";
  result.advice = "allow it in the sandbox (docker run --cap-add SYS_PTRACE)";
  return result;
}

check_result check_sampling(const machine& where) {
  constexpr int most_that_allows_it = 2;
  check_result result{.name = "sampling"};
  const int refused = where.try_perf();
  int limit = 0;
  const bool limit_known = static_cast<bool>(std::ifstream(where.perf_limit) >> limit);
  const std::string limit_text = limit_known ? fmt::format("; kernel.perf_event_paranoid is {}", limit) : "";
  if (refused == 0) {
    result.found = "host threads can be sampled with native stacks (perf_event_open" + limit_text + ")";
    return result;
  }
  result.state = health::warning;
  result.found = fmt::format(
      "perf_event_open is refused ({}{}): the states of host threads are polled, and of native "
      "stacks there are only those of waiting threads",
      describe_errno(refused), limit_text);
  std::vector<std::string> ways;
  if (refused == ENOSYS) ways.emplace_back("use a kernel with perf events (CONFIG_PERF_EVENTS)");
  if (limit_known && limit > most_that_allows_it) ways.emplace_back("as root: sysctl kernel.perf_event_paranoid=2");
  if (has_system_call_filter(where.process_status)) {
    ways.emplace_back(
        "a filter of system calls is active: docker run --cap-add PERFMON, or a seccomp profile that allows "
        "perf_event_open");
  }
  if (ways.empty()) ways.emplace_back("give sluice the capability: setcap cap_perfmon+ep sluice");
  result.advice = fmt::format("{}", fmt::join(ways, "; "));
  return result;
}

check_result check_disk(const machine& where) {
  check_result result{.name = "disk"};
  std::error_code none;
  const std::string folder = fs::absolute(where.folder, none).lexically_normal().string();
  struct statvfs room {};
  if (statvfs(where.folder.c_str(), &room) != 0 || access(where.folder.c_str(), W_OK | X_OK) != 0) {
    result.state = health::warning;
    result.found = fmt::format("{}: {}", folder, describe_errno(errno));
    result.advice = "record into another folder: sluice record -o FILE";
    return result;
  }
  const std::uint64_t free = std::uint64_t{room.f_bavail} * room.f_frsize;
  result.found = fmt::format("{} free in {}", format_bytes(free), folder);
  if (free < little_room) {
    result.state = health::warning;
    result.advice = "free some space, record elsewhere (-o FILE), or keep only the last part (--ring 64MiB)";
  }
  return result;
}

check_result check_python(const machine& where) {
  check_result result{.name = "python"};
  const std::vector<std::string> command{where.command};
  const std::string program = capture::find_on_path(where.command, where.variables);
  std::string python = capture::find_interpreter(command, where.variables);
  // A script whose name starts with "python", such as pyenv's, starts some Python. Running the script shows which one.
  if (python.empty() && fs::path(program).filename().string().starts_with("python")) python = program;
  if (program.empty()) {
    result.state = health::warning;
    result.found = fmt::format("program {} not found", where.command);
    result.advice = "name the Python that runs your program: sluice doctor venv/bin/python";
    return result;
  }
  if (python.empty()) {
    result.found = fmt::format("{} is not a Python program", where.command);
    return result;
  }
  auto said = get_results(python, where.timeout);
  unsigned minor = 0;
  if (std::sscanf(said["version"].c_str(), "3.%u", &minor) != 1) {
    result.state = health::warning;
    result.found = python + " does not run";
    result.advice = "name the Python that runs your program: sluice doctor venv/bin/python";
    return result;
  }
  const bool without_gil = said["without_gil"] == "1";
  const std::string torch = said.contains("torch") ? "PyTorch " + said["torch"] : "no PyTorch";
  result.found =
      fmt::format("{}, {} {}{}, {}", python, said["implementation"], said["version"], without_gil ? "t" : "", torch);
  if (said["implementation"] != "cpython" || !stacks_are_known(minor, without_gil)) {
    result.state = health::warning;
    std::string versions;
    for (const auto& layout : capture::python_layouts)
      versions += fmt::format("{}3.{}{}", versions.empty() ? "" : ", ", layout.minor, layout.without_gil ? "t" : "");
    result.found += ": its call stacks cannot be recorded";
    result.advice = "use CPython " + versions;
  }
  return result;
}

bool can_record(const std::vector<check_result>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const check_result& each) { return each.needed && each.state == health::missing; });
}

std::string checks_as_text(const std::vector<check_result>& results) {
  text_builder text;
  std::string lacking;
  for (const check_result& each : results) {
    const bool advises = each.state != health::ok && !each.advice.empty();
    text.line("{:<8} {:<12} {}{}{}", get_word(each.state), each.name, each.found, advises ? "; " : "",
              advises ? each.advice : "");
    if (each.needed && each.state == health::missing) lacking += (lacking.empty() ? "" : ", ") + each.name;
  }
  if (lacking.empty()) {
    text.line("Programs can be recorded on this machine.");
  } else {
    text.line("GPU programs cannot be recorded on this machine; missing: {}. Recordings can be read.", lacking);
  }
  return text.take();
}

std::string checks_as_json(const std::vector<check_result>& results) {
  const auto check = [](const check_result& each) -> json {
    return {{"name", each.name},
            {"state", get_word(each.state)},
            {"needed", each.needed},
            {"found", each.found},
            {"advice", each.state == health::ok ? "" : each.advice}};
  };
  return json_document({{"can_record", can_record(results)}, {"checks", list_json(results, check)}});
}

}  // namespace sluice::cli
