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

#include "core/base/error.hpp"

namespace sluice::cli {

/// Where `name` is found, as execvp looks for it. Errors: not_found; invalid_argument if it is there but cannot be run.
[[nodiscard]] result<std::string> find_program(const std::string& name);

/// A signal that came to this process.
struct arrived_signal {
  int number = 0;
  bool from_kernel =
      false;            ///< The terminal sent it to our whole process group, the command included, or a timer ran out.
  pid_t sender = 0;     ///< 0: the kernel.
  bool queued = false;  ///< By sigqueue, with `value`.
  sigval value{};

  /// Asks a program to end: INT, TERM, HUP, QUIT.
  [[nodiscard]] bool asks_to_end() const;
};

/// Holds back every signal to this process from its making on, until the process ends: none is lost before the command runs, and none
/// ends us before the recording is whole. Faults of our own (SEGV, BUS, FPE, ILL, TRAP, SYS) stay what they are. A file that grows past its limit and a closed
/// standard error are errors, not deaths. One object a process, made before any thread.
class signal_desk {
 public:
  signal_desk();
  signal_desk(const signal_desk&) = delete;
  signal_desk& operator=(const signal_desk&) = delete;

  /// The next signal, or nothing after `timeout`. Those that we sent to ourselves are left out.
  [[nodiscard]] std::optional<arrived_signal> next(std::chrono::milliseconds timeout) const;

  /// In a child, before exec: everything as it was. Async-signal-safe.
  void restore() const;

 private:
  sigset_t waited_;
  sigset_t mask_before_;
  std::vector<std::pair<int, struct sigaction>> actions_before_;
};

/// Lets this process open as many descriptors as it ever may: each process that is recorded takes one. Commands that are started
/// later have the limit that was.
void raise_descriptor_limit();

/// A command that runs with some variables of its environment set.
class command_process {
 public:
  using variables = std::vector<std::pair<std::string, std::string>>;

  /// Errors: not_found; invalid_argument if it cannot be executed; unavailable if no process can be made.
  [[nodiscard]] static result<command_process> start(std::span<const std::string> command, const variables& set,
                                                     const signal_desk& signals);

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Sees each signal that comes meanwhile, and nothing every `period`. True: it was for us, and is not passed on.
  using listener = std::function<bool(const std::optional<arrived_signal>& signal)>;

  /// Waits for its end, and passes on what `signals` gets meanwhile. Left out are the signals that the command got as well, from the
  /// terminal, and those that it or a descendant sent: they would come back to it. Stops with the command where a shell's
  /// job control stops both. Returns 0..255, or 128 + n for signal n.
  [[nodiscard]] int wait(const signal_desk& signals, std::chrono::milliseconds period, const listener& heard) const;

 private:
  explicit command_process(pid_t pid) : pid_(pid) {}
  void pass_on(const arrived_signal& signal) const;
  pid_t pid_;
};

/// True if a process other than this one runs whose environment, as it was when its program began, has `name`=`value`:
/// whoever descends from a command that was started so, whatever group, session or parent it has by now. O(processes).
[[nodiscard]] bool any_process_with(const std::string& name, const std::string& value);

}  // namespace sluice::cli
