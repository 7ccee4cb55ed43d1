#include "app/cli/doctor/probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace sluice::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t longest_answer = 64 << 10;  ///< bytes

[[noreturn]] void answer(const std::function<std::string()>& question, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // No handlers of ours: a crash must look like one.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGHUP}) signal(number, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDWR); nothing >= 0) {
    for (const int each : {0, 1, 2}) dup2(nothing, each);
  }
  const std::string text = question().substr(0, longest_answer);
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = write(to, text.data() + done, text.size() - done);
    if (n <= 0) _exit(2);
    done += static_cast<std::size_t>(n);
  }
  _exit(0);
}

/// Reads until the end or the deadline. False at the deadline.
bool read_all(int from, std::string& text, steady_clock::time_point deadline) {
  for (char part[4096];;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd ready{from, POLLIN, 0};
    const int n = poll(&ready, 1, left > 0 ? static_cast<int>(left) : 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    const ssize_t got = read(from, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > longest_answer) return true;
  }
}

}  // namespace

result<std::string> probe(const std::function<std::string()>& question, std::chrono::milliseconds timeout) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(error_code::unavailable, describe_errno(errno), "pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    answer(question, ends[1]);
  }
  const int problem = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return fail(error_code::unavailable, describe_errno(problem), "fork");
  }
  std::string text;
  const bool in_time = read_all(ends[0], text, steady_clock::now() + timeout);
  close(ends[0]);
  // One that has closed the pipe may still hang at its end.
  if (!in_time) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!in_time) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout).count();
    return fail(error_code::unavailable, "no answer within " + std::to_string(seconds) + " s");
  }
  if (WIFSIGNALED(status))
    return fail(error_code::unavailable, std::string("crashed (") + strsignal(WTERMSIG(status)) + ")");
  if (WEXITSTATUS(status) != 0)
    return fail(error_code::unavailable, "ended the process with status " + std::to_string(WEXITSTATUS(status)));
  return text;
}

}  // namespace sluice::cli
