#pragma once

#include <signal.h>
#include <termios.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "app/cli/top/view.hpp"

namespace sluice::cli::top {

/// Why `screen::wait` returned.
enum class input : unsigned char {
  none,      ///< The time has elapsed.
  quit,      ///< q
  next,      ///< Tab or n: the next recording.
  resized,   ///< The terminal's size or content has changed: draw again.
  signalled  ///< A signal asks the program to end; see `screen::signal`.
};

/// Uses the whole terminal for frames: the alternate screen, no cursor, no echo. The destructor restores the terminal.
/// While this object exists, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH are blocked in this thread
/// and in the threads that it starts, and `wait` handles them. Create only one at a time, before other threads.
class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  /// True if standard input and output are both a terminal that can show frames.
  [[nodiscard]] static bool possible();
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  /// Replaces the screen's content by the lines. Returns false if the terminal is gone.
  bool show(const std::vector<view_line>& lines) const;
  /// Waits for input for at most `milliseconds`.
  input wait(int milliseconds);
  [[nodiscard]] int signal() const { return signal_; }

 private:
  void enter();
  void leave() const;
  void measure();

  termios before_{};
  sigset_t mask_before_{};
  int signals_ = -1;  ///< A descriptor from which the blocked signals are read.
  std::size_t columns_ = 80, rows_ = 24;
  int signal_ = 0;
};

}  // namespace sluice::cli::top
