#include "app/processes/probe.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string_view>

#include "core/base/format.hpp"

namespace sluice::processes {
namespace {

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

[[noreturn]] void run_in_child(const std::function<std::string()>& query, std::optional<std::size_t> memory_bytes,
                               pid_t parent, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(status_not_taken);  // The parent ended before the previous line took effect.
  // Do not inherit our signal handlers: a crash must end the child by its signal.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE})
    signal(number, SIG_DFL);
  if (const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC); nothing >= 0) {
    for (const int each : {0, 1, 2}) dup2(nothing, each);
  }
  be_ended_first();
  if (memory_bytes) bound_memory(*memory_bytes);
  // No exception may leave this function, because the child would then continue as a second parent.
  try {
    _exit(write_all(to, query()) ? 0 : status_not_taken);
  } catch (...) {
    _exit(status_threw);
  }
}

/// Why a child that has ended gave no result; empty if the child gave one.
std::string format_trouble(const exit_status& status, std::optional<std::size_t> memory_bytes) {
  if (status.signal != 0) {
    return status.signal == SIGKILL ? "was killed, perhaps because memory ran out"
                                    : std::string("crashed (") + strsignal(status.signal) + ")";
  }
  switch (status.code) {
    case 0:
      return {};
    case status_threw:
      return "threw an exception";
    case status_no_memory:
      return "needs more than " + format_bytes(memory_bytes.value_or(0)) + " of memory";
    default:
      return "ended the process with status " + std::to_string(status.code);
  }
}

}  // namespace

result<std::string> probe(const std::function<std::string()>& query, const output_limits& limits,
                          std::optional<std::size_t> memory_bytes, output_watcher* watcher) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(error_code::unavailable, describe_errno(errno), "pipe");
  unique_descriptor output(ends[0]);
  unique_descriptor input(ends[1]);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    output = {};
    run_in_child(query, memory_bytes, parent, input.get());
  }
  if (pid < 0) return fail(error_code::unavailable, describe_errno(errno), "fork");
  child_process child(pid, std::move(output));
  input = {};
  auto text = child.read_output(limits, watcher);
  if (!text) return text;
  if (std::string trouble = format_trouble(child.status(), memory_bytes); !trouble.empty())
    return fail(error_code::unavailable, std::move(trouble));
  return text;
}

}  // namespace sluice::processes
