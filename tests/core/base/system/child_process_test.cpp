// Real programs are started: their files, how they end, and what they leave behind.
#include "core/base/system/child_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "core/base/files/scratch_file.hpp"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr output_limits patient{.timeout = std::chrono::seconds(60)};
constexpr child_stream to_pipe = child_stream::pipe;

child_options shell(const std::string& script) { return {.words = {"sh", "-c", script}, .output = to_pipe}; }

/// The output of a program; an error's text if it cannot be started or read.
std::string get_output(const child_options& options, const output_limits& limits = patient) {
  auto child = child_process::start(options);
  if (!child) return child.error().to_string();
  const auto output = child->read_output(limits);
  return output ? *output : output.error().to_string();
}

exit_status get_status(const child_options& options) {
  auto child = child_process::start(options);
  const bool ended = child && child->wait(std::chrono::seconds(60));
  EXPECT_TRUE(ended);
  return ended ? child->status() : exit_status{-1, -1};
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t count_descriptors() {
  const std::filesystem::directory_iterator begin("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

/// True if this process has neither children nor zombies.
bool has_no_children() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

milliseconds since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

/// Each test must leave neither descriptors nor zombies.
class child_test : public testing::Test {
 protected:
  ~child_test() override {
    EXPECT_EQ(count_descriptors(), descriptors_before_);
    EXPECT_TRUE(has_no_children());
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path() + "/" + name; }

 private:
  scratch_folder folder_ = *scratch_folder::make();
  std::size_t descriptors_before_ = count_descriptors();
};

using child_end = child_test;

TEST_F(child_end, is_reported_as_a_status_or_a_signal) {
  EXPECT_TRUE(get_status({.words = {"true"}}).success());
  EXPECT_EQ(get_status({.words = {"false"}}).of_shell(), 1);
  EXPECT_EQ(get_status(shell("exit 77")).code, 77);
  const exit_status killed = get_status(shell("kill -USR1 $$"));
  EXPECT_EQ(killed.signal, SIGUSR1);
  EXPECT_EQ(killed.of_shell(), 128 + SIGUSR1);
  EXPECT_FALSE(killed.success());
}

TEST_F(child_end, is_awaited_no_longer_than_asked) {
  auto child = child_process::start({.words = {"sleep", "60"}});
  ASSERT_TRUE(child);
  EXPECT_FALSE(child->poll());
  const auto begin = steady_clock::now();
  EXPECT_FALSE(child->wait(milliseconds(50)));
  EXPECT_GE(since(begin), milliseconds(50));
  EXPECT_LT(since(begin), std::chrono::seconds(30));
  EXPECT_TRUE(child->running());
}

TEST_F(child_end, follows_sigterm) {
  auto child = child_process::start({.words = {"sleep", "60"}});
  ASSERT_TRUE(child);
  child->end({}, std::chrono::seconds(60));
  EXPECT_EQ(child->status().signal, SIGTERM);
}

TEST_F(child_end, comes_also_if_sigterm_is_ignored) {
  auto child = child_process::start(shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"));
  ASSERT_TRUE(child);
  char byte = 0;
  ASSERT_EQ(::read(child->output().get(), &byte, 1), 1);
  child->end({}, milliseconds(200));
  EXPECT_EQ(child->status().signal, SIGKILL);
}

TEST_F(child_end, comes_by_itself_when_the_input_ends) {
  auto child = child_process::start({.words = {"cat"}, .input = to_pipe});
  ASSERT_TRUE(child);
  child->end(std::chrono::seconds(60), {});
  EXPECT_TRUE(child->status().success());
}

TEST_F(child_end, is_noticed_although_the_object_was_moved) {
  child_process child;
  EXPECT_FALSE(child.running());
  EXPECT_TRUE(child.poll());
  child = *child_process::start(shell("exit 3"));
  child_process moved = std::move(child);
  EXPECT_TRUE(moved.wait(std::chrono::seconds(60)));
  EXPECT_EQ(moved.status().code, 3);
}

TEST_F(child_end, is_not_reported_for_a_stop) {
  auto child = child_process::start({.words = {"sleep", "60"}});
  ASSERT_TRUE(child);
  const auto becomes_stopped = [&](bool stopped) {
    for (int i = 0; i < 6000 && !child->poll() && child->stopped() != stopped; ++i) usleep(10'000);
    return child->running() && child->stopped() == stopped;
  };
  child->send_signal(SIGSTOP);
  EXPECT_TRUE(becomes_stopped(true));
  child->send_signal(SIGCONT);
  EXPECT_TRUE(becomes_stopped(false));
}

TEST_F(child_end, is_noticed_although_the_system_forgets_the_status) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(get_status({.words = {"true"}}).code, 255);
  ::signal(SIGCHLD, before);
}

using child_start = child_test;

TEST_F(child_start, names_a_missing_program_or_folder) {
  for (const char* name : {"no-such-program-anywhere", "/no/such/program"}) {
    const auto child = child_process::start({.words = {name}});
    ASSERT_FALSE(child);
    EXPECT_EQ(child.error().code, error_code::not_found);
    EXPECT_EQ(child.error().file, name);
  }
  const auto child = child_process::start({.words = {"true"}, .folder = "/no/such"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, error_code::not_found);
  EXPECT_EQ(child.error().file, "/no/such");
}

TEST_F(child_start, says_why_a_program_cannot_be_executed) {
  const auto child = child_process::start({.words = {"/dev/null"}});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, error_code::invalid_argument);
  EXPECT_EQ(child.error().to_string(), "/dev/null: cannot be executed: Permission denied");
  const auto long_word = child_process::start({.words = {"true", std::string(std::size_t{8} << 20, 'x')}});
  ASSERT_FALSE(long_word);
  EXPECT_THAT(long_word.error().message, HasSubstr("Argument list too long"));
}

TEST_F(child_start, names_a_file_that_cannot_be_opened) {
  const auto child = child_process::start({.words = {"cat"}, .input = "/no/such/file"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().code, error_code::io);
  EXPECT_EQ(child.error().file, "/no/such/file");
  EXPECT_FALSE(child_process::start({.words = {"cat"}, .input = 12345}));
}

TEST_F(child_start, sets_the_arguments_the_environment_and_the_folder) {
  EXPECT_EQ(get_output({.words = {"printf", "%s|", "a b", "", "$HOME"}, .output = to_pipe}), "a b||$HOME|");
  ::setenv("SLUICE_TEST_KEPT", "kept", 1);
  ::setenv("SLUICE_TEST_REPLACED", "before", 1);
  child_options options = shell("echo $SLUICE_TEST_KEPT $SLUICE_TEST_REPLACED $SLUICE_TEST_NEW; pwd");
  options.environment = {{"SLUICE_TEST_REPLACED", "after"}, {"SLUICE_TEST_NEW", "new"}};
  options.folder = "/usr";
  EXPECT_EQ(get_output(options), "kept after new\n/usr\n");
  EXPECT_STREQ(std::getenv("SLUICE_TEST_REPLACED"), "before");
  const std::string all = get_output({.words = {"env"}, .environment = {{"PATH", "/replaced"}}, .output = to_pipe});
  EXPECT_THAT(all, HasSubstr("PATH=/replaced\n"));
  EXPECT_THAT(all, Not(HasSubstr("\nPATH=/usr"))) << "a variable is replaced, not added again";
}

void ignore_signal(int) {}

TEST_F(child_start, gives_the_child_signals_as_a_shell_would) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto hangup = ::signal(SIGHUP, SIG_IGN), user = ::signal(SIGUSR1, ignore_signal);
  const std::string status = get_output({.words = {"cat", "/proc/self/status"}, .output = to_pipe});
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(::signal(SIGUSR1, user), ignore_signal) << "this process keeps its handlers";
  ::signal(SIGHUP, hangup);
  EXPECT_TRUE(sigismember(&after, SIGTERM)) << "and its mask";
  EXPECT_FALSE(sigismember(&after, SIGINT));
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  EXPECT_THAT(status, HasSubstr("SigCgt:\t0000000000000000"));
  const auto ignored = std::stoull(status.substr(status.find("SigIgn:") + 8, 16), nullptr, 16);
  EXPECT_EQ(ignored & (1U << (SIGHUP - 1)), 1U << (SIGHUP - 1)) << "as nohup wants it";
}

TEST_F(child_start, runs_a_last_step_in_the_child) {
  child_options options = shell("ulimit -n");
  options.before_program = [] {
    const rlimit few{50, 50};
    ::setrlimit(RLIMIT_NOFILE, &few);
  };
  EXPECT_EQ(get_output(options), "50\n");
  rlimit here{};
  ::getrlimit(RLIMIT_NOFILE, &here);
  EXPECT_NE(here.rlim_cur, 50U);
}

TEST_F(child_start, works_on_many_threads_at_once) {
  std::vector<std::thread> threads;
  std::array<std::string, 8> found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    threads.emplace_back([&found, i] {
      for (int turn = 0; turn < 20; ++turn) {
        const std::string word = std::to_string(i * 100 + static_cast<std::size_t>(turn)) + "\n";
        auto child = child_process::start({.words = {"cat"}, .input = to_pipe, .output = to_pipe});
        if (!child || ::write(child->input().get(), word.data(), word.size()) < 0) continue;
        child->input() = {};  // No other child holds this end, so `cat` gets the end of its input.
        found[i] += child->read_output(patient).value_or("none\n") == word ? "." : "x";
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const std::string& each : found) EXPECT_EQ(each, std::string(20, '.'));
}

using child_files = child_test;

TEST_F(child_files, are_null_unless_others_are_named) {
  EXPECT_EQ(get_output({.words = {"cat"}, .output = to_pipe}), "");
  EXPECT_EQ(get_output(shell("readlink /proc/self/fd/0 /proc/self/fd/2")), "/dev/null\n/dev/null\n");
}

TEST_F(child_files, can_be_three_pipes) {
  auto child = child_process::start(
      {.words = {"sh", "-c", "cat; echo bad >&2"}, .input = to_pipe, .output = to_pipe, .errors = to_pipe});
  ASSERT_TRUE(child);
  ASSERT_EQ(::write(child->input().get(), "two\nlines", 9), 9);
  child->input() = {};
  EXPECT_EQ(child->read_output(patient).value_or(""), "two\nlines");
  std::array<char, 16> text{};
  EXPECT_EQ(::read(child->errors().get(), text.data(), text.size()), 4);
  EXPECT_STREQ(text.data(), "bad\n");
}

TEST_F(child_files, can_be_files_which_are_appended_to) {
  std::ofstream(file("in")) << "input\n";
  const child_options options{
      .words = {"sh", "-c", "cat; echo bad >&2"}, .input = file("in"), .output = file("out"), .errors = file("out")};
  EXPECT_TRUE(get_status(options).success());
  EXPECT_TRUE(get_status(options).success());
  EXPECT_EQ(read_text(file("out")), "input\nbad\ninput\nbad\n");
  struct stat status {};
  ASSERT_EQ(::stat(file("out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(child_files, can_be_descriptors_of_this_process) {
  const unique_descriptor out(::open(file("out").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_TRUE(
      get_status({.words = {"sh", "-c", "echo a; echo b >&2"}, .output = out.get(), .errors = out.get()}).success());
  EXPECT_EQ(read_text(file("out")), "a\nb\n");
  EXPECT_EQ(::fcntl(out.get(), F_GETFD), FD_CLOEXEC) << "stays open here";
}

// If this process's standard input is closed, the next file gets its number.
TEST_F(child_files, may_have_the_numbers_of_standard_files) {
  const unique_descriptor input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
  ::close(STDIN_FILENO);
  auto child = child_process::start(
      {.words = {"sh", "-c", "cat; cat <&2"}, .input = to_pipe, .output = to_pipe, .errors = file("err")});
  EXPECT_TRUE(child);
  if (child) {
    EXPECT_EQ(::write(child->input().get(), "x", 1), 1);
    child->input() = {};
    EXPECT_EQ(child->read_output(patient).value_or(""), "x");
  }
  ::dup2(input.get(), STDIN_FILENO);
}

TEST_F(child_files, are_all_that_a_child_gets) {
  const unique_descriptor leaked(::open("/dev/null", O_RDONLY));  // Not close-on-exec.
  const std::string path = "/proc/$$/fd/" + std::to_string(leaked.get());
  child_options options = shell("test -e " + path + " && echo there");
  EXPECT_EQ(get_output(options), "");
  options.keeps_descriptors = true;
  EXPECT_EQ(get_output(options), "there\n");
}

using child_output = child_test;

TEST_F(child_output, may_be_long) {
  constexpr std::size_t bytes = 10'000'000;
  const child_options options{.words = {"head", "-c", std::to_string(bytes), "/dev/zero"}, .output = to_pipe};
  EXPECT_EQ(get_output(options, {.timeout = patient.timeout, .bytes = bytes}), std::string(bytes, '\0'));
  EXPECT_EQ(get_output(options, {.timeout = patient.timeout, .bytes = bytes - 1}),
            "the result is longer than 9.54 MiB");
}

TEST_F(child_output, without_an_end_is_cut_off) {
  auto child = child_process::start({.words = {"yes"}, .output = to_pipe});
  ASSERT_TRUE(child);
  EXPECT_THAT(child->read_output(patient).error().to_string(), HasSubstr("longer than 64"));
  EXPECT_FALSE(child->running());
}

TEST_F(child_output, that_does_not_come_is_not_awaited) {
  EXPECT_EQ(get_output(shell("echo part; sleep 60"), {.timeout = milliseconds(100)}), "no result within 1 s");
}

TEST_F(child_output, may_end_before_the_program) {
  auto child = child_process::start(shell("echo all; exec >&-; sleep 0.1; exit 5"));
  ASSERT_TRUE(child);
  EXPECT_EQ(child->read_output(patient).value_or(""), "all\n");
  EXPECT_EQ(child->status().code, 5);
  EXPECT_EQ(get_output(shell("exec >&-; sleep 60"), {.timeout = milliseconds(100)}), "no result within 1 s");
}

TEST_F(child_output, is_read_although_signals_arrive) {
  struct sigaction interrupting {};
  interrupting.sa_handler = ignore_signal;
  struct sigaction before {};
  ::sigaction(SIGUSR1, &interrupting, &before);
  std::atomic<bool> over{false};
  const pthread_t reader = ::pthread_self();
  std::thread disturber([&] {
    while (!over) {
      ::pthread_kill(reader, SIGUSR1);
      usleep(100);
    }
  });
  for (int turn = 0; turn < 20; ++turn) EXPECT_EQ(get_output(shell("echo a; sleep 0.01; echo b")), "a\nb\n");
  over = true;
  disturber.join();
  ::sigaction(SIGUSR1, &before, nullptr);
}

using detached_program = child_test;

TEST_F(detached_program, is_no_child_and_has_its_own_session) {
  ASSERT_TRUE(child_process::start_detached({.words = {"sh", "-c",
                                                       "ps -o ppid=,sid= -p $$ >'" + file("part") + "'; mv '" +
                                                           file("part") + "' '" + file("ids") + "'; sleep 0.2"}}));
  EXPECT_TRUE(has_no_children());
  for (int i = 0; i < 3000 && !std::filesystem::exists(file("ids")); ++i) usleep(10'000);
  int parent = 0, session = 0;
  ASSERT_EQ(std::sscanf(read_text(file("ids")).c_str(), "%d %d", &parent, &session), 2);
  EXPECT_NE(parent, ::getpid());
  EXPECT_NE(session, ::getsid(0));
}

TEST_F(detached_program, is_reported_if_it_cannot_be_started) {
  const auto started = child_process::start_detached({.words = {"no-such-program-anywhere"}});
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().to_string(), StartsWith("no-such-program-anywhere: no such program"));
}

}  // namespace
}  // namespace sluice
