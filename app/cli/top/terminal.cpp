#include "app/cli/top/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sluice::cli::top {
namespace {

// Escape sequences that all current terminals support (ECMA-48, and xterm's private modes).
constexpr std::string_view begin_screen = "\033[?1049h\033[?25l\033[?7l";  // Alternate screen; no cursor; no wrapping.
constexpr std::string_view end_screen = "\033[?7h\033[?25h\033[?1049l";
constexpr std::string_view begin_heading = "\033[7m";
constexpr std::string_view end_heading = "\033[0m";
constexpr std::string_view clear_to_end_of_line = "\033[K";
constexpr std::string_view clear_below = "\033[J";

bool put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

bool screen::possible() {
  const char* const kind = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         (kind == nullptr || std::string_view(kind) != "dumb");
}

screen::screen() {
  sigset_t handled;
  sigemptyset(&handled);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) sigaddset(&handled, number);
  ::pthread_sigmask(SIG_BLOCK, &handled, &mask_before_);
  signals_ = ::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  ::tcgetattr(STDIN_FILENO, &before_);
  enter();
}

screen::~screen() {
  leave();
  if (signals_ >= 0) ::close(signals_);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void screen::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
  put(begin_screen);
  measure();
}

void screen::leave() const {
  put(end_screen);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

void screen::measure() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return;
  columns_ = size.ws_col;
  rows_ = size.ws_row;
}

bool screen::show(const std::vector<view_line>& lines) const {
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    if (lines[i].heading) {
      text.append(begin_heading).append(lines[i].text).append(clear_to_end_of_line).append(end_heading);
    } else {
      text.append(lines[i].text).append(clear_to_end_of_line);
    }
  }
  text.append(clear_below);
  return put(text);
}

input screen::wait(int milliseconds) {
  std::array<pollfd, 2> ready{{{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  if (::poll(ready.data(), ready.size(), milliseconds) <= 0) return input::none;
  signalfd_siginfo arrived{};
  if ((ready[0].revents & POLLIN) != 0 && ::read(signals_, &arrived, sizeof arrived) == sizeof arrived) {
    switch (arrived.ssi_signo) {
      case SIGTSTP:
        leave();
        ::raise(SIGSTOP);
        enter();
        return input::resized;
      case SIGCONT:
        return input::resized;
      case SIGWINCH:
        measure();
        return input::resized;
      default:
        signal_ = static_cast<int>(arrived.ssi_signo);
        return input::signalled;
    }
  }
  if (ready[1].revents == 0) return input::none;
  char key = 0;
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  // The terminal is gone.
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
    signal_ = SIGHUP;
    return input::signalled;
  }
  if (got < 0) return input::none;
  if (key == 'q' || key == 'Q') return input::quit;
  if (key == '\t' || key == 'n') return input::next;
  return input::none;
}

}  // namespace sluice::cli::top
