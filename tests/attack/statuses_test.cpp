// If the environment refuses something, a verb prints a one-line error and exits with the right status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using writer::recorded;

const std::string sluice = SLUICE_BINARY_DIR "/sluice ";

class statuses : public sluice_program {
 protected:
  /// Runs a shell command in the folder.
  program_result shell(const std::string& line) const { return run_shell(line, file(".")); }

  static void expect_one_line(const program_result& subject) {
    EXPECT_EQ(std::count(subject.err.begin(), subject.err.end(), '\n'), 1) << subject.err;
  }

  /// Waits until `process` handles `signal` and has used 0.1 s of CPU time, or has ended.
  static void wait_until_at_work(pid_t process, int signal) {
    const std::string text = "/proc/" + std::to_string(process);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    const long wanted = sysconf(_SC_CLK_TCK);  // The start takes longer, too.
#else
    const long wanted = sysconf(_SC_CLK_TCK) / 10;
#endif
    for (int tries = 0; tries < 60'000; ++tries, usleep(1000)) {
      const std::string status = make_content(text + "/status");
      const std::size_t caught = status.find("SigCgt:");
      if (status.find("State:\tZ") != std::string::npos || caught == std::string::npos) return;
      if ((std::stoull(status.substr(caught + 7), nullptr, 16) >> (signal - 1) & 1) == 0) continue;
      std::string stat = make_content(text + "/stat");
      std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
      std::string skipped;
      for (int i = 0; i < 11; ++i) fields >> skipped;  // Fields 3 (state) to 13.
      long user = 0;
      long kernel = 0;
      fields >> user >> kernel;
      if (user + kernel >= wanted) return;
    }
  }

  void make_recording() const {
    const program_result made = shell(sluice + "generate --events 20000 -o t.sluice");
    ASSERT_EQ(made.status, 0) << made.err;
  }
};

const char* const printing[] = {"--version",
                                "--help",
                                "record --help",
                                "report --help",
                                "demo --list",
                                "query --schema",
                                "report t.sluice",
                                "report t.sluice --format json",
                                "diff t.sluice t.sluice",
                                "trim t.sluice --force -o cut.sluice",
                                "query t.sluice 'SELECT count(*) FROM allocations'"};

// Tried: standard output on a full disk.
TEST_F(statuses, what_could_not_be_printed_is_a_failure) {
  make_recording();
  for (const std::string subject : printing) {
    const program_result full = shell(sluice + subject + " >/dev/full");
    EXPECT_EQ(full.status, 1) << subject;
    expect_one_line(full);
  }
}

// Tried: a closed standard output. The first file that is opened must not take its descriptor.
TEST_F(statuses, a_closed_output_is_a_failure_too) {
  make_recording();
  for (const std::string subject : printing) EXPECT_EQ(shell(sluice + subject + " >&-").status, 1) << subject;
}

// Tried: head, which closes the pipe early. A program in a pipeline then ends silently.
TEST_F(statuses, a_closed_pipe_ends_it_quietly) {
  make_recording();
  const program_result ended =
      shell("{ " + sluice + "query t.sluice 'SELECT * FROM allocations'; echo $? >status; } | head -1 >first");
  EXPECT_EQ(make_content(file("status")), "141\n");
  EXPECT_EQ(ended.err, "");
}

// Tried: closed standard descriptors. Output must not end up in the recording.
TEST_F(statuses, missing_standard_files_do_not_spoil_a_recording) {
  EXPECT_EQ(shell(sluice + "record -o t.sluice -- " + guest + " succeed <&- >&- 2>&-").status, 0);
  const recorded found(file("t.sluice"));
  EXPECT_TRUE(found.snapshot().complete());
  EXPECT_EQ(found.all<trace::alloc_event>().size(), 1U);
  EXPECT_EQ(shell(sluice + "record -o t.sluice -- no-such-command <&- >&- 2>&-").status, 127);
}

/// Fixture that runs verbs as another user, with a limit that does not apply to root.
class limited_statuses : public statuses {
 protected:
  void SetUp() override {
    std::filesystem::permissions(file("."), std::filesystem::perms::all);
    if (geteuid() == 0) prefix_ = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
    if (limited("exec /bin/true").status != 0) GTEST_SKIP() << "skipped: cannot run as another user";
    if (limited("/bin/true; exit 0").status == 0) GTEST_SKIP() << "skipped: RLIMIT_NPROC is not enforced here";
  }

  [[nodiscard]] program_result limited(const std::string& line, const std::string& limit = "-p 1") const {
    // In dash, -p is the number of processes.
    write("limited.sh", "ulimit " + limit + " || exit 99\n" + line + "\n");
    return shell(prefix_ + "sh ./limited.sh >out");
  }

 private:
  std::string prefix_;
};

// Tried: no process or thread can be created.
TEST_F(limited_statuses, without_a_thread_nothing_is_recorded_and_the_command_does_not_run) {
  const program_result refused = limited("exec " + sluice + "record -o r.sluice -- touch ran");
  EXPECT_EQ(refused.status, 125) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("ulimit -u"));
  expect_one_line(refused);
  EXPECT_FALSE(exists("ran"));
  EXPECT_FALSE(exists("r.sluice"));
}

// Tried: no thread can be created, for verbs that use threads only for speed.
TEST_F(limited_statuses, verbs_do_without_threads_or_say_why_not) {
  const program_result output = limited("exec " + sluice + "generate --events 300000 -o big.sluice");
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_EQ(limited("exec " + sluice + "report big.sluice").status, 0);
  EXPECT_EQ(limited("exec " + sluice + "query big.sluice 'SELECT count(*) FROM allocations'").status, 0);
  EXPECT_EQ(limited("exec " + sluice + "export big.sluice -o big.json").status, 0);
  const program_result imported = limited("exec " + sluice + "import big.json -o again.sluice");
  EXPECT_EQ(imported.status, 1) << imported.err;
  EXPECT_THAT(imported.err, HasSubstr("cannot start a thread"));
  expect_one_line(imported);
  const program_result demo = limited("exec " + sluice + "demo leak --device sim -o demo.sluice");
  EXPECT_EQ(demo.status, 1) << demo.err;
  EXPECT_THAT(demo.err, HasSubstr("cannot start the thread"));
}

// Tried: only a few descriptors besides the standard ones.
TEST_F(limited_statuses, without_descriptors_nothing_is_recorded) {
  for (const std::string limit : {"-n 3", "-n 4", "-n 5"}) {
    const program_result refused = limited("exec " + sluice + "record -o r.sluice -- touch ran", limit);
    EXPECT_TRUE(refused.status == 125 || refused.status == 127) << limit << ": " << refused.status << refused.err;
    EXPECT_FALSE(exists("ran")) << limit;
  }
}

// Tried: each termination signal while a verb works.
TEST_F(statuses, a_verb_that_is_cancelled_says_by_which_signal) {
  make_recording();
  ASSERT_EQ(shell(sluice + "generate --events 1000000 -o big.sluice >made").status, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = begin_sluice({"export", "big.sluice", "--force", "-o", "big.json"});
    wait_until_at_work(child, number);
    kill(child, number);
    EXPECT_EQ(end_sluice(child).status, 128 + number);
  }
}

// Tried: each termination signal while a verb writes a recording or runs a query. The verb must report that it was
// cancelled.
TEST_F(statuses, every_long_verb_is_cancelled_the_same_way) {
  ASSERT_EQ(shell(sluice + "generate --events 3000000 -o big.sluice >made").status, 0);
  const std::string endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
  for (const std::vector<std::string>& verb : std::vector<std::vector<std::string>>{
           {"generate", "--events", "900000000", "-o", "new.sluice"},
           {"generate", "--tile", "big.sluice", "--events", "900000000", "-o", "new.sluice"},
           {"trim", "big.sluice", "-o", "new.sluice"},
           {"merge", "big.sluice", "big.sluice", "-o", "new.sluice"},
           {"export", "big.sluice", "-o", "new.json"},
           {"query", "big.sluice", endless}}) {
    for (const int number : {SIGINT, SIGTERM}) {
      const pid_t child = begin_sluice(verb);
      wait_until_at_work(child, number);
      kill(child, number);
      const program_result ended = end_sluice(child);
      EXPECT_EQ(ended.status, 128 + number) << verb[0];
      EXPECT_THAT(ended.err, ::testing::ContainsRegex("cancelled|interrupted")) << verb[0];
      EXPECT_FALSE(exists("new.sluice") || exists("new.json")) << verb[0];
    }
  }
}

}  // namespace
}  // namespace sluice
