#include "tests/gui/display.hpp"
#include "tests/programs.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sluice::test {
namespace {

pid_t server = 0;

void stop_display() {
  if (server <= 0) return;
  kill(server, SIGTERM);
  waitpid(server, nullptr, 0);
  server = 0;
}

}  // namespace

bool start_display() {
  if (server > 0) return true;
  int number[2];
  if (pipe(number) != 0) return false;
  // The server chooses a free display number and writes it to descriptor 3, because two tests may start at once.
  // Without -noreset the server resets when its only client closes, and may refuse the next test's connection in the
  // meantime.
  server =
      start_program({"Xvfb", "-noreset", "-displayfd", "3", "-screen", "0", "1600x1000x24", "-nolisten", "tcp"}, [&] {
        prctl(PR_SET_PDEATHSIG, SIGTERM);  // The server must not outlive a test that is killed.
        dup2(number[1], 3);
        dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      });
  close(number[1]);
  std::string text;
  for (char c = 0; read(number[0], &c, 1) == 1 && c != '\n';) text += c;
  close(number[0]);
  if (text.empty()) {
    stop_display();
    return false;
  }
  std::atexit(stop_display);
  setenv("DISPLAY", (":" + text).c_str(), 1);
  unsetenv("WAYLAND_DISPLAY");
  return true;
}

}  // namespace sluice::test
