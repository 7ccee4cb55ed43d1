// Signals to `sluice record` are forwarded to the command, and the recording survives them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using writer::recorded;

class signals : public sluice_program {
 protected:
  pid_t begin(const std::string& method, std::vector<std::string> options = {}) {
    std::vector<std::string> words{"record", "-o", "t.sluice"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", guest, method});
    return begin_sluice(words);
  }

  /// Waits until a file in the folder contains `text`.
  void wait_for(const std::string& text, const std::string& name = "out") const {
    while (make_content(file(name)).find(text) == std::string::npos) usleep(2000);
  }

  /// Sends signal `number` and waits until the command reports it.
  void send_and_wait(pid_t recorder, int number) const {
    kill(recorder, number);
    wait_for("signal " + std::to_string(number) + "\n");
  }

  /// The process of the command that `recorder` started.
  static pid_t get_command(pid_t recorder) {
    const std::string path = "/proc/" + std::to_string(recorder) + "/task/" + std::to_string(recorder) + "/children";
    return std::atoi(make_content(path).c_str());
  }

  static void wait_until_stopped(pid_t process) {
    while (make_content("/proc/" + std::to_string(process) + "/stat").find(") T ") == std::string::npos) usleep(2000);
  }

  [[nodiscard]] bool is_whole() const { return recorded(file("t.sluice")).snapshot().complete(); }
};

// Tried: every signal that a batch system, service manager or user may send only to the recorder.
TEST_F(signals, all_that_can_be_passed_on_reach_the_command) {
  const pid_t recorder = begin("print-signals");
  wait_for("ready");
  std::vector<int> sent{SIGHUP,  SIGINT, SIGQUIT,  SIGABRT,      SIGUSR1,   SIGUSR2, SIGPIPE,
                        SIGALRM, SIGURG, SIGXCPU,  SIGXFSZ,      SIGVTALRM, SIGPROF, SIGWINCH,
                        SIGIO,   SIGPWR, SIGRTMIN, SIGRTMIN + 7, SIGRTMAX};
  for (const int number : sent) send_and_wait(recorder, number);
  kill(recorder, SIGTERM);
  EXPECT_EQ(end_sluice(recorder).status, 3);
  EXPECT_TRUE(is_whole());
  const std::string heard = make_content(file("out"));
  EXPECT_EQ(std::count(heard.begin(), heard.end(), '\n'), 2 + static_cast<std::ptrdiff_t>(sent.size())) << heard;
}

// Tried: a signal with a value, which forwarding by kill() would lose.
TEST_F(signals, a_queued_value_is_kept) {
  const pid_t recorder = begin("print-signals");
  wait_for("ready");
  sigqueue(recorder, SIGRTMIN + 3, {.sival_int = 4711});
  wait_for("value 4711");
  kill(recorder, SIGTERM);
  EXPECT_EQ(end_sluice(recorder).status, 3);
}

// Tried: a signal that both recorder and command use.
TEST_F(signals, usr2_is_the_recorders_with_a_ring_only) {
  const pid_t recorder = begin("print-signals", {"--ring", "1MiB"});
  wait_for("ready");
  kill(recorder, SIGUSR2);
  while (!exists("t-dump1.sluice")) usleep(2000);
  kill(recorder, SIGTERM);
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 3);
  EXPECT_THAT(ended.out, Not(HasSubstr("signal " + std::to_string(SIGUSR2))));
}

// Tried: a command that signals its process group, which includes the recorder. The command must get the signal only
// once.
TEST_F(signals, what_the_command_sent_does_not_come_back) {
  const pid_t recorder = begin_sluice(
      {"record", "-o", "t.sluice", "--", "sh", "-c", "n=0; trap 'n=$((n+1))' USR1; kill -USR1 0; sleep 0.3; exit $n"});
  EXPECT_EQ(end_sluice(recorder).status, 1);
}

// Tried: a signal in the short time between the recorder's start and the command's first instruction.
TEST_F(signals, one_that_comes_before_the_command_runs_is_not_lost) {
  sigset_t held;
  sigset_t before;
  sigemptyset(&held);
  sigaddset(&held, SIGTERM);
  sigprocmask(SIG_BLOCK, &held, &before);  // The recorder starts with the signal blocked and pending.
  const pid_t recorder = begin("print-signals");
  kill(recorder, SIGTERM);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(end_sluice(recorder).status, 3);
  EXPECT_TRUE(is_whole());
}

// Tried: keys and resizing at a terminal, which signals the whole foreground group.
TEST_F(signals, what_a_terminal_sends_to_both_arrives_once) {
  int terminal = -1;
  const pid_t recorder = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (recorder == 0) {
    const std::string sluice = SLUICE_BINARY_DIR "/sluice";
    execl(sluice.c_str(), "sluice", "record", "-o", file("t.sluice").c_str(), "--", guest.c_str(), "print-signals",
          nullptr);
    _exit(97);
  }
  std::string said;
  const auto read_until = [&](const std::string& text) {
    char bytes[256];
    for (ssize_t got = 0; said.find(text) == std::string::npos; said.append(bytes, static_cast<std::size_t>(got))) {
      got = read(terminal, bytes, sizeof bytes);
      if (got <= 0) return;
    }
  };
  read_until("ready");
  ASSERT_EQ(::write(terminal, "\x03", 1), 1);  // Ctrl-C
  read_until("signal 2\r\n");
  const winsize larger{.ws_row = 50, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ioctl(terminal, TIOCSWINSZ, &larger);
  read_until("signal 28\r\n");
  kill(recorder, SIGUSR1);  // A duplicate would arrive before this signal.
  read_until("signal 10\r\n");
  kill(recorder, SIGTERM);
  read_until("t.sluice: ");
  int status = 0;
  waitpid(recorder, &status, 0);
  close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(said, HasSubstr("signal 2\r\nsignal 28\r\nsignal 10\r\nsignal 15\r\n"));
}

// Tried: Ctrl-Z and fg, simulated by the signals that a shell sends.
TEST_F(signals, a_stop_and_a_continuation_are_shared_with_the_command) {
  const pid_t recorder = begin("wait-for-signal");
  wait_for("ready");
  const pid_t command = get_command(recorder);
  kill(recorder, SIGTSTP);  // Only to the recorder.
  int status = 0;
  ASSERT_EQ(waitpid(recorder, &status, WUNTRACED), recorder);
  EXPECT_TRUE(WIFSTOPPED(status)) << "the shell must see its job stop";
  wait_until_stopped(command);
  kill(recorder, SIGCONT);
  while (make_content("/proc/" + std::to_string(command) + "/stat").find(") T ") != std::string::npos) usleep(2000);
  kill(recorder, SIGTERM);
  EXPECT_EQ(end_sluice(recorder).status, 128 + SIGTERM);
  EXPECT_TRUE(is_whole());
}

// Tried: another process stops and continues only the command. A recorder that stopped with it would never continue.
TEST_F(signals, a_command_that_others_stop_does_not_stop_the_recorder) {
  const pid_t recorder = begin("wait-for-signal");
  wait_for("ready");
  const pid_t command = get_command(recorder);
  kill(command, SIGSTOP);
  wait_until_stopped(command);
  kill(command, SIGCONT);
  kill(command, SIGTERM);
  EXPECT_EQ(end_sluice(recorder).status, 128 + SIGTERM);
}

// Tried: everything that a program inherits, compared with a run without the recorder.
TEST_F(signals, the_command_inherits_what_it_would_without_us) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers handle signals of their own";
#endif
  const std::string odd =
      "trap '' USR1 PIPE; ulimit -n 200; ulimit -c 0; umask 027; exec 7</dev/null; cd " + file(".") + " && ";
  const auto said_by = [&](const std::string& command) {
    const program_result ended = run_shell(odd + command + " print-inheritance >said <&-");
    EXPECT_EQ(ended.status, 0) << ended.err;
    return make_content(file("said"));
  };
  const std::string plain = said_by(guest);
  const std::string under_us = said_by(SLUICE_BINARY_DIR "/sluice record -o t.sluice -- " + guest);
  EXPECT_THAT(plain, HasSubstr("signal 10: blocked 0, ignored 1"));
  EXPECT_THAT(plain, Not(HasSubstr("descriptor 0")));
  EXPECT_EQ(under_us, plain);
}

/// Fixture with a recording that has enough events for summaries, so that closing the file takes a while.
class closing_signals : public signals {
 protected:
  /// Starts a recorder and waits until its command has ended. Returns the recorder's pid.
  pid_t begin_and_wait_for_the_end() {
    const pid_t recorder = begin("churn-much");
    while (get_command(recorder) == 0) usleep(1000);
    const pid_t command = get_command(recorder);
    while (kill(command, 0) == 0 || errno != ESRCH) usleep(1000);
    return recorder;
  }
};

// Tried: a service manager that ends all processes right after the command ends.
TEST_F(closing_signals, the_first_lets_the_file_become_whole) {
  const pid_t recorder = begin_and_wait_for_the_end();
  kill(recorder, SIGTERM);
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 5) << "the status of the command";
  EXPECT_TRUE(is_whole());
  EXPECT_THAT(ended.err, Not(HasSubstr("completion stopped")));
}

// Tried: pressing Ctrl-C repeatedly.
TEST_F(closing_signals, the_second_cuts_it_short_and_says_so) {
  const pid_t recorder = begin_and_wait_for_the_end();
  kill(recorder, SIGINT);
  wait_for("another signal stops this", "err");
  kill(recorder, SIGINT);
  const program_result ended = end_sluice(recorder);
  EXPECT_EQ(ended.status, 5);
  EXPECT_THAT(ended.err, HasSubstr("completion stopped"));
  const recorded left(file("t.sluice"));
  EXPECT_TRUE(left.snapshot().complete()) << "all events and an index are there";
  EXPECT_TRUE(left.snapshot().summaries().empty());
  EXPECT_FALSE(exists("t.sluice.part"));
}

}  // namespace
}  // namespace sluice
