#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/system/child_process.hpp"

/// Starts programs for tests. tests/architecture checks that tests start programs in no other way.
namespace sluice {

/// The bytes of a file; empty if there is no such file.
inline std::string make_content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// How a program ended and what it printed.
struct program_result {
  int status = -1;  ///< As in a shell: 128 + n for signal n.
  std::string out, err;
};

/// Runs a program to its end. Its output and errors become the result. Fails the test if the program cannot be started
/// or runs for more than ten minutes.
inline program_result run_program(child_options options) {
  const unique_descriptor out(::memfd_create("out", MFD_CLOEXEC)), err(::memfd_create("err", MFD_CLOEXEC));
  options.output = out.get();
  options.errors = err.get();
  auto child = child_process::start(options);
  if (!child) {
    ADD_FAILURE() << child.error().to_string();
    return {};
  }
  EXPECT_TRUE(child->wait(std::chrono::minutes(10))) << options.words.front() << " does not end";
  const auto content = [](const unique_descriptor& file) {
    return make_content("/proc/self/fd/" + std::to_string(file.get()));
  };
  return {child->running() ? -1 : child->status().of_shell(), content(out), content(err)};
}

/// Runs a shell command. `folder`: the working directory; empty: that of the test.
inline program_result run_shell(const std::string& line, const std::string& folder = {}) {
  return run_program({.words = {"/bin/sh", "-c", line}, .folder = folder});
}

/// Starts a program that runs beside the test, for tests that need its process id, or that pass it what
/// `child_process` does not. `prepare` runs in the child just before the program. The caller waits for the program.
inline pid_t start_program(
    std::vector<std::string> words, const std::function<void()>& prepare = [] {}) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  prepare();
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers[0], pointers.data());
  ::_exit(97);
}

/// Waits until a child process has ended. Returns its status as in a shell.
inline int wait_for_end(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace sluice
