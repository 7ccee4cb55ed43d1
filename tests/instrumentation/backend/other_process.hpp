#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

#include "instrumentation/backend/device.hpp"

// Tests with two processes: each role is a disabled test of the same program, started anew.

namespace sluice::backend {

/// The status of a role that has no device to play on.
inline constexpr int no_device = 77;

/// Another process, which runs one role of this program from its start, and a line in each direction. A driver that was opened does
/// not survive a fork.
class other_process {
 public:
  other_process(const char* role, backend_kind kind) {
    std::array<int, 2> there{}, back{};
    if (pipe(there.data()) != 0 || pipe(back.data()) != 0) return;
    const std::string filter = std::string("--gtest_filter=sharing_roles.DISABLED_") + role;
    const std::string how =
        std::to_string(static_cast<int>(kind)) + " " + std::to_string(there[0]) + " " + std::to_string(back[1]);
    pid_ = fork();
    if (pid_ == 0) {
      close(there[1]);
      close(back[0]);
      setenv("SLUICE_SHARING_ROLE", how.c_str(), 1);
      execl("/proc/self/exe", "test", filter.c_str(), "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
      _exit(70);
    }
    close(there[0]);
    close(back[1]);
    out = there[1];
    in = back[0];
  }
  ~other_process() { (void)status(); }
  other_process(const other_process&) = delete;
  other_process& operator=(const other_process&) = delete;

  /// Waits for its end.
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

template <class T>
bool tell(int to, const T& what) {
  return write(to, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}
template <class T>
bool hear(int from, T& what) {
  return read(from, &what, sizeof what) == static_cast<ssize_t>(sizeof what);
}

/// What a disabled test does: plays its role if it was started for that. Its status is what the test sees.
inline void play(int (*role)(backend_kind, int in, int out)) {
  const char* how = std::getenv("SLUICE_SHARING_ROLE");
  if (!how) GTEST_SKIP() << "a role of another test";
  int kind = 0, in = -1, out = -1;
  std::istringstream(how) >> kind >> in >> out;
  _exit(role(static_cast<backend_kind>(kind), in, out));
}

}  // namespace sluice::backend
