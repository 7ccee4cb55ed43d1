#pragma once

#include <signal.h>
#include <termios.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "app/cli/top/view.hpp"

namespace sluice::cli::top {

/// What a user does while a frame is shown.
enum class input : unsigned char {
  none,      ///< The time has passed.
  quit,      ///< q
  next,      ///< Tab or n: the next recording.
  resized,   ///< The terminal has another size, or shows something else: draw again.
  signalled  ///< A signal asks to end: `screen::signal`.
};

/// The whole terminal, for frames: on its alternate screen, without a cursor, without echo. The destructor leaves it as
/// it was. While it lives, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH are blocked in this thread and
/// those that it starts, and `wait` handles them. One at a time, made before other threads.
class screen {
 public:
  screen();
  ~screen();
  screen(const screen&) = delete;
  screen& operator=(const screen&) = delete;

  /// True if standard input and output are a terminal that can show frames.
  [[nodiscard]] static bool possible();
  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }

  /// Shows the lines instead of what was there. False if the terminal is gone.
  bool show(const std::vector<view_line>& lines) const;
  /// Waits for at most so long.
  input wait(int milliseconds);
  [[nodiscard]] int signal() const { return signal_; }

 private:
  void enter();
  void leave() const;
  void measure();

  termios before_{};
  sigset_t mask_before_{};
  int signals_ = -1;  ///< A descriptor.
  std::size_t columns_ = 80, rows_ = 24;
  int signal_ = 0;
};

}  // namespace sluice::cli::top
