#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/instrumentation/writer/recording.hpp"
#include "tests/programs.hpp"

/// Runs the built `sluice` as users do: as a separate process, in a temporary folder.
namespace sluice {

/// The program that tests record: tests/app/cli/record/record_guest.cpp.
inline const std::string guest = SLUICE_BINARY_DIR "/tests/app/cli/record_guest";

/// Fixture that runs `sluice` in its own process group and in a temporary folder, which is deleted after the test.
class sluice_program : public testing::Test {
 protected:
  /// Environment variables; an empty value unsets the variable.
  using variables = std::vector<std::pair<std::string, std::string>>;

  /// Starts `sluice ARGUMENTS` in the folder. Its output goes to the files "out" and "err" there.
  pid_t begin_sluice(const std::vector<std::string>& arguments, const variables& environment = {}) {
    std::vector<std::string> words{program_};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const pid_t child = start_program(words, [&] {
      setpgid(0, 0);
      const auto send_to = [&](const char* name, int number) {
        const int file = open(folder_.file(name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
        dup2(file, number);
        close(file);
      };
      send_to("out", 1);
      send_to("err", 2);
      close_range(3, ~0U, 0);  // Close the descriptors that the test inherited.
      if (chdir(folder_.file(".").c_str()) != 0) _exit(98);
      for (const auto& [name, value] : environment) {
        if (value.empty()) {
          unsetenv(name.c_str());
        } else {
          setenv(name.c_str(), value.c_str(), 1);
        }
      }
    });
    setpgid(child, child);
    return child;
  }

  /// Waits until the process that `begin_sluice` started ends.
  program_result end_sluice(pid_t child) {
    const int status = wait_for_end(child);
    return {status, make_content(folder_.file("out")), make_content(folder_.file("err"))};
  }

  program_result run_sluice(const std::vector<std::string>& arguments, const variables& environment = {}) {
    return end_sluice(begin_sluice(arguments, environment));
  }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(file(name)); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(file(name)) << text; }

  writer::temporary_folder folder_;
  std::string program_ = SLUICE_BINARY_DIR "/sluice";
};

}  // namespace sluice
