#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/system/unique_descriptor.hpp"

namespace sluice {

/// null: /dev/null. inherited: this process's own. pipe: a pipe, whose other end the `child_process` has.
enum class child_stream : std::uint8_t { null, inherited, pipe };

/// The standard input, output or error of a child: a `child_stream`; a descriptor of this process, which stays open
/// here; or the path of a file, which is read from its start, or appended to and created, if it does not exist, for
/// this user only.
using child_file = std::variant<child_stream, int, std::string>;

/// The program to start, and what it gets.
struct child_options {
  /// The program and its arguments. Without a slash, the program is looked up in PATH.
  std::vector<std::string> words;
  /// Variables that are added to this process's environment, or replaced in it.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// The working directory; empty: that of this process. A relative path of the program starts there.
  std::string folder = {};
  child_file input = child_stream::null;
  child_file output = child_stream::null;
  child_file errors = child_stream::null;
  /// If true, the child also gets the descriptors above 2 that are not close-on-exec.
  bool keeps_descriptors = false;
  /// Runs in the child just before the program, with no signals blocked. It shares this process's memory: only system
  /// calls are allowed, which must be async-signal-safe.
  std::function<void()> before_program = {};
};

/// How a process ended.
struct exit_status {
  int code = 0;    ///< What it returned, if `signal` is 0; 255 if the system did not keep it (SIGCHLD is ignored).
  int signal = 0;  ///< The signal that ended it; 0: none.

  [[nodiscard]] bool success() const { return code == 0 && signal == 0; }
  /// The status as shells report it: 0..255, or 128 + n for signal n.
  [[nodiscard]] int of_shell() const { return signal != 0 ? 128 + signal : code; }
};

/// The limits of `child_process::read_output`.
struct output_limits {
  std::chrono::milliseconds timeout;
  std::size_t bytes = std::size_t{64} << 10;  ///< Longer output is an error.
};

/// Can end `child_process::read_output` before it is complete.
class output_watcher {
 public:
  virtual ~output_watcher() = default;
  /// The file descriptor to poll meanwhile; -1: none.
  [[nodiscard]] virtual int descriptor() const = 0;
  /// Called whenever `descriptor` is readable. Returns true if the output is no longer wanted.
  [[nodiscard]] virtual bool gives_up() = 0;
};

/// A child process, which the destructor kills unless it has ended. All functions that start a program use this class.
/// It leaves no zombie and no descriptor behind. Any thread may start a process; an object must be used from one thread
/// at a time.
///
/// The child gets its three standard files and no other descriptor. Its signals have their default effects, except
/// those that this process ignores, and none is blocked.
class child_process {
 public:
  /// Starts a program, and waits until it runs. This takes the same time however much memory this process has. Errors:
  /// not_found (no such program or folder), invalid_argument (it cannot be executed), io (one of its files cannot be
  /// opened), unavailable (the system cannot create a process).
  [[nodiscard]] static result<child_process> start(const child_options& options);
  /// Starts a program that is not a child of this process, may outlive it, and has no terminal. Its files must not be
  /// pipes. Errors: those of `start`.
  [[nodiscard]] static result<void> start_detached(const child_options& options);

  child_process() = default;
  /// Takes over a child that `fork` created, and the reading end of a pipe to which it writes.
  explicit child_process(pid_t pid, unique_descriptor output = {})
      : output_(std::move(output)), pid_(pid), running_(true) {}
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;
  ~child_process();

  /// The process id, also after the end of the process; 0 if there was none.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// True until the end of the process has been noticed, by one of the functions below.
  [[nodiscard]] bool running() const { return running_; }
  /// True if a signal has stopped the process (SIGSTOP, SIGTSTP), as of the last `poll`.
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// How the process ended, once it does not run any more.
  [[nodiscard]] const exit_status& status() const { return status_; }

  /// This process's ends of the pipes to the child's standard input, and from its output and error. The caller may take
  /// them. They are close-on-exec.
  [[nodiscard]] unique_descriptor& input() { return input_; }
  [[nodiscard]] unique_descriptor& output() { return output_; }
  [[nodiscard]] unique_descriptor& errors() { return errors_; }

  /// Checks the process, without waiting, and returns true if it does not run.
  bool poll();
  /// Waits until the process has ended, at most `timeout`. Returns true if it has.
  bool wait(std::chrono::milliseconds timeout);
  /// Ends the process: closes the pipes; sends SIGTERM if it does not end by itself within `patience`, and SIGKILL if
  /// it does not end within `grace` after that.
  void end(std::chrono::milliseconds patience, std::chrono::milliseconds grace);
  /// Sends a signal, unless the process has ended.
  void send_signal(int number) const;

  /// Reads the output (a pipe) to its end, waits until the process has ended, and returns the output. `status` says
  /// whether the program succeeded. Errors, after which the process is killed: unavailable if it exceeds `limits`;
  /// cancelled if `watcher` gives up.
  [[nodiscard]] result<std::string> read_output(const output_limits& limits, output_watcher* watcher = nullptr);

 private:
  void take_note(int wait_status);
  bool reap(int flags);
  void kill();

  unique_descriptor input_, output_, errors_;
  pid_t pid_ = 0;
  bool running_ = false;
  bool stopped_ = false;
  exit_status status_;
};

}  // namespace sluice
