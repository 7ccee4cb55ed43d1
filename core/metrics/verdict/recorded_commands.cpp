#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "core/metrics/report/report.hpp"
#include "core/metrics/verdict/run_change.hpp"

namespace sluice::metrics {
namespace {

std::string_view take_word(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

std::string_view leave_folders_out(std::string_view path) {
  const std::size_t slash = path.find_last_of("/\\");
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// True if a word starts a program that the next words name.
bool is_interpreter(std::string_view name) {
  constexpr std::array<std::string_view, 10> names = {"bash",  "env", "mpirun", "mpiexec", "nohup",
                                                      "pypy3", "sh",  "srun",   "time",    "torchrun"};
  return name.starts_with("python") || std::find(names.begin(), names.end(), name) != names.end();
}

bool is_number(std::string_view word) {
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.' || c == ','; });
}

}  // namespace

std::string_view get_command(const report& subject) {
  for (const process_metric& each : subject.processes)
    if (!each.command.empty()) return each.command;
  return {};
}

std::string get_program(std::string_view command) {
  std::string program;
  for (std::string_view word = take_word(command); !word.empty(); word = take_word(command)) {
    const std::string_view name = leave_folders_out(word);
    if (program.empty() && is_interpreter(name)) continue;
    if (word.front() == '-') {
      if (program.empty()) continue;  // An option of the interpreter.
      break;
    }
    if (is_number(name) || name.find('=') != std::string_view::npos) continue;
    program += (program.empty() ? "" : " ") + std::string(name);
  }
  return program;
}

}  // namespace sluice::metrics
