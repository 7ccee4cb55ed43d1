#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/programs.hpp"

namespace sluice::test {

/// A program that runs beside the test. It ends when this object is destroyed or the test's process ends.
class started_program {
 public:
  started_program() = default;
  /// `environment`: "NAME=value" entries, added to the test's own environment. The program's output is appended to the
  /// file `output`.
  started_program(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                  const std::string& output) {
    pid_ = start_program(words, [&] {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      for (const std::string& each : environment) {
        const std::size_t equals = each.find('=');
        setenv(each.substr(0, equals).c_str(), each.c_str() + equals + 1, 1);
      }
      const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      dup2(to, STDOUT_FILENO);
      dup2(to, STDERR_FILENO);
    });
  }
  started_program(const started_program&) = delete;
  started_program& operator=(started_program&& other) noexcept {
    stop(SIGTERM);
    pid_ = other.pid_;
    status_ = other.status_;
    other.pid_ = 0;
    return *this;
  }
  ~started_program() { stop(SIGTERM); }

  /// Sends a signal that ends the program, and waits until it has ended.
  void stop(int signal) {
    if (ended()) return;
    kill(pid_, signal);
    waitpid(pid_, &status_, 0);
    pid_ = 0;
  }
  [[nodiscard]] bool ended() {
    if (pid_ > 0 && waitpid(pid_, &status_, WNOHANG) == pid_) pid_ = 0;
    return pid_ == 0;
  }
  /// Valid once the program has ended; -1 if a signal ended it.
  [[nodiscard]] int exit_status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
};

/// Waits until `done` returns true; returns false if that takes more than a minute.
inline bool wait_for(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

}  // namespace sluice::test
