#include "app/cli/record/command_process.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "app/cli/output/standard_files.hpp"

namespace sluice::cli {
namespace {

constexpr std::array own_faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
/// Signals that a terminal sends to the whole foreground process group.
constexpr std::array terminal_signals = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH, SIGCONT};
/// If the command stops within this time after a stop signal from the terminal, this process stops too.
constexpr std::chrono::seconds stops_together{2};
constexpr std::array changed_actions = {SIGCHLD, SIGPIPE, SIGXFSZ};

tl::unexpected<error> not_executable(const std::string& name, int why) {
  return fail(error_code::invalid_argument, "cannot be executed: " + describe_errno(why), name,
              "name a program, or make the file executable with chmod +x");
}

rlimit descriptors_before{};  ///< The previous limits if the limit was raised; otherwise 0.

}  // namespace

result<std::string> find_program(const std::string& name) {
  int why = ENOENT;
  const auto runs = [&](const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) why = errno;
      return false;
    }
    if (S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0) return true;
    why = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
    return false;
  };
  if (name.find('/') != std::string::npos) {
    if (runs(name)) return name;
  } else if (!name.empty()) {
    const char* variable = std::getenv("PATH");
    std::string_view folders = variable != nullptr ? variable : "/bin:/usr/bin";
    for (bool more = true; more;) {
      const std::size_t end = folders.find(':');
      const std::string folder(folders.substr(0, end));
      const std::string path = folder.empty() ? name : (std::filesystem::path(folder) / name).string();
      if (runs(path)) return path;
      more = end != std::string_view::npos;
      folders.remove_prefix(more ? end + 1 : folders.size());
    }
    if (why == EISDIR) why = ENOENT;  // Like a shell, ignore folders with the program's name.
  }
  if (why != ENOENT) return not_executable(name, why);
  return fail(error_code::not_found, "no such command", name, "check its spelling, or give its path");
}

// ------------------------------------------------------------------------------------------------------------ signals

bool arrived_signal::asks_to_end() const {
  return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

signal_desk::signal_desk() {
  sigfillset(&waited_);
  for (const int number : own_faults) sigdelset(&waited_, number);
  sigprocmask(SIG_BLOCK, &waited_, &mask_before_);
  for (const int number : changed_actions) {
    struct sigaction action {};
    action.sa_handler = number == SIGCHLD ? SIG_DFL : SIG_IGN;  // Ignoring SIGCHLD would lose the exit status.
    struct sigaction before {};
    sigaction(number, &action, &before);
    actions_before_.emplace_back(number, before);
  }
}

void signal_desk::restore() const {
  for (const auto& [number, action] : actions_before_) sigaction(number, &action, nullptr);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<arrived_signal> signal_desk::next(std::chrono::milliseconds timeout) const {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), (timeout - seconds).count() * 1'000'000};
  siginfo_t origin{};
  const int number = sigtimedwait(&waited_, &origin, &limit);
  if (number <= 0) return std::nullopt;
  arrived_signal came{.number = number, .from_kernel = origin.si_code == SI_KERNEL};
  came.queued = origin.si_code == SI_QUEUE;
  const bool has_sender = origin.si_code == SI_USER || origin.si_code == SI_TKILL || came.queued;
  if (has_sender) came.sender = origin.si_pid;
  if (came.queued) came.value = origin.si_value;
  // This process caused the signal itself by writing to a closed pipe, or to a file over its size limit.
  if (came.sender == ::getpid()) return std::nullopt;
  return came;
}

// ------------------------------------------------------------------------------------------------------------ process

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &raised) == 0) descriptors_before = limit;
}

result<command_process> command_process::start(const std::vector<std::string>& command, const variables& set,
                                               const signal_desk& signals) {
  constexpr child_stream own = child_stream::inherited;
  auto child = child_process::start({.words = command,
                                     .environment = set,
                                     .input = own,
                                     .output = own,
                                     .errors = own,
                                     .keeps_descriptors = true,
                                     .before_program = [&] {
                                       signals.restore();
                                       close_added_standard_files();
                                       if (descriptors_before.rlim_max != 0)
                                         setrlimit(RLIMIT_NOFILE, &descriptors_before);
                                     }});
  if (!child) return tl::unexpected(child.error());
  return command_process(std::move(*child));
}

namespace {

/// The parent of `pid`; 0 if there is no such process.
pid_t read_parent(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text, '\0');
  const auto name_end = text.rfind(')');  // The name may contain any character.
  char state = 0;
  int parent = 0;
  if (name_end == std::string::npos || std::sscanf(text.c_str() + name_end + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

bool descends_from(pid_t pid, pid_t ancestor) {
  constexpr int deepest = 1000;  // Limits the loop, because processes may change during the search.
  for (int i = 0; i < deepest && pid > 1; ++i, pid = read_parent(pid)) {
    if (pid == ancestor) return true;
  }
  return false;
}

bool is_stop(int number) { return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU; }

}  // namespace

void command_process::pass_on(const arrived_signal& signal) const {
  if (signal.number == SIGCHLD) return;
  const bool has_it =
      std::find(terminal_signals.begin(), terminal_signals.end(), signal.number) != terminal_signals.end();
  if (signal.from_kernel && has_it) return;
  if (signal.from_kernel && signal.number == SIGXCPU) return;  // The time limit is this process's, not the command's.
  if (signal.sender > 0 && descends_from(signal.sender, pid())) return;
  if (signal.queued) {
    ::sigqueue(pid(), signal.number, signal.value);
  } else {
    child_.send_signal(signal.number);
  }
}

int command_process::wait(const signal_desk& signals, std::chrono::milliseconds period, const listener& heard) {
  using clock = std::chrono::steady_clock;
  clock::time_point stop_came{};  // Time of the last stop signal; the epoch if there was none.
  for (;;) {
    if (child_.poll()) return child_.status().of_shell();
    // If something else stopped the command, such as a scheduler, that may later continue the command alone. So this
    // process must not stop.
    if (child_.stopped() && clock::now() < stop_came + stops_together) {
      stop_came = {};
      ::raise(SIGSTOP);  // The command continues together with this process: its group, or forwarding.
    }
    // The timeout ensures that the command is checked even if several signals are merged into one.
    const auto signal = signals.next(period);
    if (heard(signal) || !signal) continue;
    if (is_stop(signal->number)) stop_came = clock::now();
    pass_on(*signal);
  }
}

bool any_process_with(const std::string& name, const std::string& value) {
  const std::string wanted = name + "=" + value;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string number = at->path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos || number == std::to_string(::getpid())) continue;
    // The file is unreadable for a process of another user, and empty for a process that has ended.
    std::ifstream in(at->path() / "environ", std::ios::binary);
    for (std::string variable; std::getline(in, variable, '\0');) {
      if (variable == wanted) return true;
    }
  }
  return false;
}

}  // namespace sluice::cli
