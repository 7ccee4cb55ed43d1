#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace sluice::test {

/// The standard output of the shell command `command`; empty if the command cannot run.
inline std::string capture_output(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (pipe != nullptr && fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

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
