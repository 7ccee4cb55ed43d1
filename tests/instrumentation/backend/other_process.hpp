#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/instrumentation/backend/roles/role.hpp"

// For tests with two processes: the other process runs a small program in one of its roles.

namespace sluice::backend {

/// Another process, which plays one role of a program, and a pipe in each direction. The process executes a program
/// instead of only forking, because an open driver does not survive a fork.
class other_process {
 public:
  other_process(const char* program, const char* role, backend_kind kind) {
    std::array<int, 2> there{}, back{};
    if (pipe(there.data()) != 0 || pipe(back.data()) != 0) return;
    const std::string method = std::to_string(static_cast<int>(kind));
    const std::string its_in = std::to_string(there[0]), its_out = std::to_string(back[1]);
    pid_ = fork();
    if (pid_ == 0) {
      close(there[1]);
      close(back[0]);
      execl(program, program, role, method.c_str(), its_in.c_str(), its_out.c_str(), nullptr);
      _exit(72);
    }
    close(there[0]);
    close(back[1]);
    out = there[1];
    in = back[0];
  }
  ~other_process() { (void)status(); }
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  /// Waits until the process ends. Returns its exit status.
  int status() {
    if (pid_ <= 0) return -1;
    int result = 0;
    close(out);
    waitpid(pid_, &result, 0);
    close(in);
    pid_ = -1;
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  }
  int in = -1, out = -1;

 private:
  pid_t pid_ = -1;
};

}  // namespace sluice::backend
