#include "app/processes/probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string_view>

#include "core/base/format.hpp"

namespace sluice::processes {
namespace {

using std::chrono::steady_clock;

/// Exit statuses of a child that gave no result. The numbers are unusual, because a library may end the child with a
/// status of its own.
enum child_status : int { status_not_taken = 113, status_threw = 114, status_no_memory = 115 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

void bound_memory(std::size_t bytes) {
  if (sanitized) return;
  // Applies to all threads of the child. An exception in another thread would also end the child, but without giving
  // the reason.
  std::set_new_handler([] { _exit(status_no_memory); });
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

bool write_all(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(to, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// Makes the kernel kill this child rather than its parent when the machine or the container runs out of memory.
void be_ended_first() {
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  static_cast<void>(write_all(score, "1000"));
  close(score);
}

[[noreturn]] void run_in_child(const std::function<std::string()>& query, const probe_limits& limits, pid_t parent,
                               int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(status_not_taken);  // The parent ended before the previous line took effect.
  // Do not inherit our signal handlers: a crash must end the child by its signal.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE})
    signal(number, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC); nothing >= 0) {
    for (const int each : {0, 1, 2}) dup2(nothing, each);
  }
  be_ended_first();
  if (limits.memory_bytes) bound_memory(*limits.memory_bytes);
  // No exception may leave this function, because the child would then continue as a second parent.
  try {
    _exit(write_all(to, query()) ? 0 : status_not_taken);
  } catch (...) {
    _exit(status_threw);
  }
}

enum class reading { ended, late, too_long, given_up };

/// Reads into `text` until the end of the file, the deadline or a limit is reached, or `watcher` gives up.
reading read_all(int begin, std::string& text, steady_clock::time_point deadline, std::size_t most,
                 probe_watcher* watcher) {
  for (std::array<char, 65536> part;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    if (left <= 0) return reading::late;
    pollfd ready[2] = {{begin, POLLIN, 0}, {watcher != nullptr ? watcher->descriptor() : -1, POLLIN, 0}};
    const int n = poll(ready, 2, static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
    if (n < 0 && errno != EINTR) return reading::late;
    if (n <= 0) continue;
    if (ready[1].revents != 0 && watcher->gives_up()) return reading::given_up;
    if (ready[0].revents == 0) continue;
    const ssize_t got = read(begin, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return reading::ended;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return reading::too_long;
  }
}

std::string to_seconds(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count()) + " s";
}

/// Why a child that has ended gave no result; empty if the child gave one.
std::string format_trouble(int status, const probe_limits& limits) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return number == SIGKILL ? "was killed, perhaps because memory ran out"
                             : std::string("crashed (") + strsignal(number) + ")";
  }
  switch (WEXITSTATUS(status)) {
    case 0:
      return {};
    case status_threw:
      return "threw an exception";
    case status_no_memory:
      return "needs more than " + format_bytes(limits.memory_bytes.value_or(0)) + " of memory";
    default:
      return "ended the process with status " + std::to_string(WEXITSTATUS(status));
  }
}

}  // namespace

result<std::string> probe(const std::function<std::string()>& query, const probe_limits& limits,
                          probe_watcher* watcher) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(error_code::unavailable, describe_errno(errno), "pipe");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    run_in_child(query, limits, parent, ends[1]);
  }
  const int problem = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return fail(error_code::unavailable, describe_errno(problem), "fork");
  }
  std::string text;
  const reading options = read_all(ends[0], text, steady_clock::now() + limits.timeout, limits.result_bytes, watcher);
  close(ends[0]);
  // If the child has closed the pipe, it is ending anyway.
  if (options != reading::ended) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  switch (options) {
    case reading::late:
      return fail(error_code::unavailable, "no result within " + to_seconds(limits.timeout));
    case reading::too_long:
      return fail(error_code::unavailable, "the result is longer than " + format_bytes(limits.result_bytes));
    case reading::given_up:
      return fail(error_code::cancelled, "the result is no longer needed");
    case reading::ended:
      break;
  }
  if (std::string trouble = format_trouble(status, limits); !trouble.empty())
    return fail(error_code::unavailable, std::move(trouble));
  return text;
}

}  // namespace sluice::processes
