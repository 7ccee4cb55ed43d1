#pragma once

#include <set>
#include <sstream>
#include <string>

#include "tests/programs.hpp"

namespace sluice::test {

/// The standard output of the shell command `command`; empty if the command cannot run.
inline std::string capture_output(const std::string& command) { return run_shell(command).out; }

/// The shared libraries that the loader must find for `file` (its NEEDED entries).
inline std::set<std::string> needed_libraries(const std::string& file) {
  std::set<std::string> names;
  std::istringstream lines(capture_output("objdump -p '" + file + "'"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::string name;
    if (words >> key >> name && key == "NEEDED") names.insert(name);
  }
  return names;
}

}  // namespace sluice::test
