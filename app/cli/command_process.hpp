#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace sluice::cli {

/// Where `name` is found, as execvp looks for it. Errors: not_found; invalid_argument if it is there but cannot be run.
[[nodiscard]] result<std::string> find_program(const std::string& name);

/// Signals while a command runs: the terminal's go to the command, which is in our process group; what is sent to end us is
/// passed on; SIGUSR2 is for us; a file that grows past its limit and a closed standard error are errors, not deaths. One object at a time,
/// made before any thread.
class signal_desk {
 public:
  signal_desk();
  ~signal_desk();
  signal_desk(const signal_desk&) = delete;
  signal_desk& operator=(const signal_desk&) = delete;

  /// The next signal of those that are waited for, or nothing after `timeout`.
  [[nodiscard]] std::optional<int> next(std::chrono::milliseconds timeout) const;

  /// In a child, before exec: everything as it was. Async-signal-safe.
  void restore() const;

 private:
  sigset_t waited_;
  sigset_t mask_before_;
  std::vector<std::pair<int, struct sigaction>> actions_before_;
};

/// A command that runs with some variables of its environment set.
class command_process {
 public:
  using variables = std::vector<std::pair<std::string, std::string>>;

  /// Errors: not_found; invalid_argument if it cannot be executed; unavailable if no process can be made.
  [[nodiscard]] static result<command_process> start(std::span<const std::string> command, const variables& set,
                                                     const signal_desk& signals);

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Told of each signal meanwhile, and every `period` of none.
  using listener = std::function<void(std::optional<int> signal)>;

  /// Waits for its end and passes on what `signals` gets meanwhile. 0..255, or 128 + n for signal n.
  [[nodiscard]] int wait(const signal_desk& signals, std::chrono::milliseconds period, const listener& heard) const;

 private:
  explicit command_process(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

/// True if a process other than this one runs whose environment, as it was when its program began, has `name`=`value`:
/// whoever descends from a command that was started so, whatever group, session or parent it has by now. O(processes).
[[nodiscard]] bool any_process_with(const std::string& name, const std::string& value);

}  // namespace sluice::cli
