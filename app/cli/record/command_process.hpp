#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/system/child_process.hpp"

namespace sluice::cli {

/// Searches for the program `name` as execvp does, and returns its path. Errors: not_found; invalid_argument if the
/// program exists but cannot be executed.
[[nodiscard]] result<std::string> find_program(const std::string& name);

/// A signal that this process received.
struct arrived_signal {
  int number = 0;
  bool from_kernel = false;  ///< Sent by a timer or the terminal (which also signals the command, in the same process
                             ///< group).
  pid_t sender = 0;          ///< Process that sent the signal; 0: the kernel.
  bool queued = false;       ///< Sent by sigqueue, with `value`.
  sigval value{};

  /// True for signals that ask a program to end: INT, TERM, HUP, QUIT.
  [[nodiscard]] bool asks_to_end() const;
};

/// Blocks all signals to this process, so that no signal is lost before the command runs and none ends Sluice before
/// the recording is complete. `next` delivers the blocked signals. Faults of this process (SEGV, BUS, FPE, ILL, TRAP,
/// SYS) keep their effect. Writing past the file size limit or to a closed pipe returns an error instead of raising a
/// signal. Create only one per process, before any other thread starts.
class signal_desk {
 public:
  signal_desk();
  signal_desk(const signal_desk&) = delete;
  signal_desk& operator=(const signal_desk&) = delete;

  /// Waits for the next signal and returns it; null after `timeout`. Skips signals that this process sent to itself.
  [[nodiscard]] std::optional<arrived_signal> next(std::chrono::milliseconds timeout) const;

  /// Restores the original signal mask and actions. For a child process before exec; async-signal-safe.
  void restore() const;

 private:
  sigset_t waited_;
  sigset_t mask_before_;
  std::vector<std::pair<int, struct sigaction>> actions_before_;
};

/// Raises this process's limit on open descriptors to the maximum, because each recorded process needs a descriptor.
/// Commands that are started later get the original limit.
void raise_descriptor_limit();

/// A child process that runs a command, with additional environment variables.
class command_process {
 public:
  using variables = std::vector<std::pair<std::string, std::string>>;

  /// Errors: not_found; invalid_argument if the command cannot be executed; unavailable if the system cannot create a
  /// process.
  [[nodiscard]] static result<command_process> start(const std::vector<std::string>& command, const variables& set,
                                                     const signal_desk& signals);

  [[nodiscard]] pid_t pid() const { return child_.pid(); }

  /// Called with each signal that arrives while waiting, and with nullopt after each `period`. If it returns true, the
  /// signal is not forwarded.
  using listener = std::function<bool(const std::optional<arrived_signal>& signal)>;

  /// Waits until the command ends; meanwhile forwards received signals to the command, except terminal signals, which
  /// the command also receives, and signals sent by the command or its descendants. If a shell's job control stops the
  /// command together with this process, this process stops too. Returns the exit status 0..255, or 128 + n for signal
  /// n.
  [[nodiscard]] int wait(const signal_desk& signals, std::chrono::milliseconds period, const listener& heard);

 private:
  explicit command_process(child_process child) : child_(std::move(child)) {}
  void pass_on(const arrived_signal& signal) const;
  child_process child_;
};

/// True if another running process was started with `name`=`value` in its environment. Finds all descendants of a
/// command that was started with that variable, even if their group, session or parent has changed. O(processes).
[[nodiscard]] bool any_process_with(const std::string& name, const std::string& value);

}  // namespace sluice::cli
