// sluice record: its exit status is that of the command, and a recording remains whatever the command does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;
using testing::Not;
using writer::recorded;
using namespace trace;

/// `sluice record`.
class record_test : public sluice_program {
 protected:
  pid_t begin(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "record");
    return begin_sluice(arguments);
  }

  program_result end(pid_t child) { return end_sluice(child); }

  program_result run(const std::vector<std::string>& arguments) { return end(begin(arguments)); }

  /// Replaces the recording of an earlier run in the same test.
  program_result run_guest(const std::string& method) {
    return run({"-o", "t.sluice", "--force", "--", guest, method});
  }

  void wait_until_ready() {
    while (make_content(folder_.file("out")).find("ready") == std::string::npos) usleep(2000);
  }

  /// Reads the recording `name`, which must be complete.
  writer::recorded trace(const std::string& name = "t.sluice") {
    writer::recorded found(folder_.file(name));
    EXPECT_TRUE(found.snapshot().complete());
    return found;
  }
};

TEST_F(record_test, status_is_the_commands) {
  const program_result good = run_guest("succeed");
  EXPECT_EQ(good.status, 0) << good.err;
  EXPECT_EQ(good.out, "");
  EXPECT_THAT(good.err, HasSubstr("t.sluice: "));
  EXPECT_THAT(good.err, Not(HasSubstr("no CUDA activity")));
  EXPECT_EQ(trace().all<alloc_event>().size(), 1u);

  EXPECT_EQ(run_guest("fail").status, 7);
  const writer::recorded failed = trace();
  EXPECT_EQ(failed.all<alloc_event>().size(), 1u);
  ASSERT_EQ(failed.tables().processes.rows().size(), 1u);
  EXPECT_EQ(failed.tables().processes.rows()[0].exit_status, 7);
}

TEST_F(record_test, a_command_that_is_killed_leaves_a_recording) {
  EXPECT_EQ(run_guest("die").status, 128 + SIGKILL);
  const writer::recorded killed = trace();
  EXPECT_EQ(killed.all<alloc_event>().size(), 1u);
  EXPECT_EQ(killed.tables().processes.rows()[0].exit_status, 128 + SIGKILL);
}

TEST_F(record_test, each_process_of_a_set_may_have_a_recording_of_its_own) {
  for (const char* rank : {"0", "1"}) {
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    EXPECT_EQ(run({"-o", "t-%r-100%%.sluice", "--", guest, "succeed"}).status, 0);
  }
  unsetenv("OMPI_COMM_WORLD_RANK");
  EXPECT_EQ(trace("t-0-100%.sluice").all<alloc_event>().size(), 1u);
  EXPECT_EQ(trace("t-1-100%.sluice").all<alloc_event>().size(), 1u);

  EXPECT_EQ(run({"-o", "t-%h.sluice", "--", guest, "succeed"}).status, 0);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  EXPECT_TRUE(exists("t-" + std::string(host) + ".sluice"));

  for (const char* name : {"t-%r.sluice", "50%.sluice", "50%"}) {
    const program_result refused = run({"-o", name, "--", guest, "succeed"});
    EXPECT_EQ(refused.status, 125) << name;
    EXPECT_THAT(refused.err, HasSubstr(name));
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    EXPECT_EQ(refused.out, "") << "the command was not started";
  }
}

TEST_F(record_test, a_missing_command_is127_and_makes_no_file) {
  for (const char* command : {"no-such-command-anywhere", "./nothing", "/nothing/at/all"}) {
    const program_result missing = run({"-o", "t.sluice", "--", command});
    EXPECT_EQ(missing.status, 127);
    EXPECT_THAT(missing.err, HasSubstr("no such command"));
    EXPECT_EQ(std::count(missing.err.begin(), missing.err.end(), '\n'), 1);
    EXPECT_FALSE(exists("t.sluice"));
  }
  write("script", "#!/no/such/interpreter\n");
  chmod(folder_.file("script").c_str(), 0755);
  EXPECT_EQ(run({"-o", "t.sluice", "--", "./script"}).status, 127);
  EXPECT_FALSE(exists("t.sluice"));
}

TEST_F(record_test, what_cannot_be_executed_is126) {
  write("data", "no program");
  for (const char* command : {"./data", "/"}) {
    const program_result refused = run({"-o", "t.sluice", "--", command});
    EXPECT_EQ(refused.status, 126) << command;
    EXPECT_THAT(refused.err, HasSubstr("cannot be executed"));
    EXPECT_FALSE(exists("t.sluice"));
  }
}

TEST_F(record_test, a_recording_that_cannot_begin_is125_and_the_command_is_not_started) {
  const program_result nowhere = run({"-o", "/no/such/folder/t.sluice", "--", "touch", "ran"});
  EXPECT_EQ(nowhere.status, 125);
  EXPECT_THAT(nowhere.err, HasSubstr("/no/such/folder/t.sluice"));
  EXPECT_EQ(run({"-o", "/dev/full", "--", "touch", "ran"}).status, 125);
  EXPECT_EQ(run({"-o", ".", "--", "touch", "ran"}).status, 125);
  EXPECT_EQ(run({}).status, 125);
  EXPECT_EQ(run({"--"}).status, 125);
  EXPECT_EQ(run({"-o"}).status, 125);
  EXPECT_EQ(run({"--no-such-option", "touch", "ran"}).status, 125);
  EXPECT_FALSE(exists("ran"));
}

TEST_F(record_test, a_disk_that_fills_up_is125_only_if_the_command_succeeded) {
  write("limited", "#!/bin/sh\nulimit -f 1\nexec \"$@\"\n");
  chmod(folder_.file("limited").c_str(), 0755);
  const auto run_limited = [&](const std::string& command) {
    return run_shell("./limited " SLUICE_BINARY_DIR "/sluice record --force -o t.sluice -- " + command,
                     folder_.file("."));
  };
  const program_result full = run_limited("true");
  EXPECT_EQ(full.status, 125);
  EXPECT_THAT(full.err, HasSubstr("t.sluice: "));
  EXPECT_THAT(full.err, HasSubstr("free some space"));
  EXPECT_EQ(run_limited("false").status, 1);
  EXPECT_FALSE(recorded(folder_.file("t.sluice")).snapshot().complete()) << "an incomplete recording opens";
}

TEST_F(record_test, replaces_a_recording_if_forced_and_nothing_else_ever) {
  write("train.py", "print('hours of work')\n");
  const program_result slip = run({"--force", "-o", "train.py", "--", "touch", "ran"});
  EXPECT_EQ(slip.status, 125);
  EXPECT_THAT(slip.err, HasSubstr("train.py: exists and is not a recording"));
  EXPECT_EQ(make_content(folder_.file("train.py")), "print('hours of work')\n");
  EXPECT_EQ(run_guest("succeed").status, 0);
  const program_result again = run({"-o", "t.sluice", "--", "touch", "ran"});
  EXPECT_EQ(again.status, 125);
  EXPECT_THAT(again.err, HasSubstr("--force"));
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(run({"--force", "-o", "t.sluice", "--", guest, "succeed"}).status, 0);
  EXPECT_EQ(trace("t.sluice").all<alloc_event>().size(), 1u);
}

/// The number of live blocks in the last checkpoint of a recording.
std::size_t live_at_the_end(const writer::recorded& trace) {
  const auto checkpoints = trace.all<checkpoint_event>();
  std::size_t count = 0;
  for (const live_block_event& block : trace.all<live_block_event>())
    count += block.checkpoint == checkpoints.back().id;
  return count;
}

TEST_F(record_test, a_ring_keeps_the_last_part_and_what_lives_in_it) {
  const pid_t child = begin({"-o", "t.sluice", "--ring", "1MiB", "--", guest, "churn"});
  std::uintmax_t largest = 0;
  for (int status = 0; waitpid(child, &status, WNOHANG | WNOWAIT) == 0; usleep(10'000)) {
    std::error_code none;
    std::uintmax_t uintmax = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder_.file("."), none)) {
      const auto size = each.file_size(none);
      if (each.path().filename().string().starts_with("t.sluice") && !none) uintmax += size;
    }
    largest = std::max(largest, uintmax);
  }
  EXPECT_EQ(end(child).status, 0);
  EXPECT_LE(largest, std::uintmax_t{1} << 20) << "the limit includes the copy that is made when the recording is cut";
  const writer::recorded kept = trace();
  const auto allocated = kept.all<alloc_event>();
  EXPECT_LT(allocated.size(), 290'000U) << "nothing was cut";
  EXPECT_GT(allocated.size(), 1000U);
  // Checkpoints at the start and the end of the kept part list the ten blocks from the start of the program.
  EXPECT_EQ(live_at_the_end(kept), 11U);
  const auto checkpoints = kept.all<checkpoint_event>();
  ASSERT_GE(checkpoints.size(), 2U);
  const auto blocks = kept.all<live_block_event>();
  EXPECT_GE(
      std::count_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.checkpoint == checkpoints[0].id; }),
      11);
  for (const alloc_event& a : allocated) EXPECT_GE(a.time, checkpoints[0].time - 1'000'000'000);
}

TEST_F(record_test, a_failed_allocation_dumps_a_ring) {
  const program_result failed = run({"-o", "t.sluice", "--ring", "1MiB", "--", guest, "fail-to-allocate"});
  EXPECT_EQ(failed.status, 0);
  EXPECT_THAT(failed.err, HasSubstr("an allocation failed in process"));
  const writer::recorded dump = trace("t-dump1.sluice");
  EXPECT_EQ(dump.all<alloc_failed_event>().size(), 1U);
  EXPECT_EQ(live_at_the_end(dump), 11U);
}

TEST_F(record_test, on_oom_keeps_what_led_to_a_failure) {
  const program_result failed = run({"-o", "t.sluice", "--on-oom", "--ring", "1MiB", "--", guest, "run-out"});
  EXPECT_EQ(failed.status, 9) << "the status of the command";
  EXPECT_THAT(failed.err, HasSubstr("out of memory: 1.00 GiB requested with cuMemAlloc"));
  EXPECT_THAT(failed.err, HasSubstr("KiB in use; the recording is t.sluice\n"));
  EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1);
  const writer::recorded kept = trace();
  EXPECT_EQ(kept.all<alloc_failed_event>().size(), 1U);
  const auto checkpoints = kept.all<checkpoint_event>();
  ASSERT_FALSE(checkpoints.empty());
  const auto blocks = kept.all<live_block_event>();
  EXPECT_GE(
      std::count_if(blocks.begin(), blocks.end(), [&](const auto& b) { return b.checkpoint == checkpoints[0].id; }), 11)
      << "what was live before the kept part";
  EXPECT_EQ(live_at_the_end(kept), 11U);
}

TEST_F(record_test, on_oom_keeps_nothing_of_a_command_that_got_its_memory) {
  for (const std::string method : {"churn", "retry"}) {
    const program_result all_well = run({"-o", "t.sluice", "--on-oom", "--", guest, method});
    EXPECT_EQ(all_well.status, 0);
    EXPECT_EQ(all_well.err, "sluice: no allocation failed; nothing was kept\n") << method;
    EXPECT_FALSE(exists("t.sluice"));
  }
  // The recording of an earlier failure is kept.
  EXPECT_EQ(run({"-o", "t.sluice", "--on-oom", "--", guest, "run-out"}).status, 9);
  EXPECT_EQ(run({"-o", "t.sluice", "--force", "--on-oom", "--", guest, "succeed"}).status, 0);
  EXPECT_EQ(trace().all<alloc_failed_event>().size(), 1U);
}

TEST_F(record_test, on_oom_saves_a_failure_that_the_command_survives_before_the_ring_loses_it) {
  const program_result survived =
      run({"-o", "t.sluice", "--on-oom", "--ring", "1MiB", "--", guest, "run-out-and-go-on"});
  EXPECT_EQ(survived.status, 0);
  EXPECT_THAT(survived.err, HasSubstr("out of memory: 1.00 GiB requested"));
  EXPECT_THAT(survived.err, HasSubstr("the recording is t-dump1.sluice\n"));
  EXPECT_FALSE(exists("t.sluice")) << "there was no other failure";
  EXPECT_EQ(trace("t-dump1.sluice").all<alloc_failed_event>().size(), 1U);
}

TEST_F(record_test, a_peak_dumps) {
  EXPECT_EQ(run({"-o", "t.sluice", "--trigger-peak", "40KiB", "--", guest, "fail-to-allocate"}).status, 0);
  EXPECT_GE(live_at_the_end(trace("t-dump1.sluice")), 11U);
  EXPECT_EQ(run({"-o", "u.sluice", "--trigger-peak", "1GiB", "--", guest, "fail-to-allocate"}).status, 0);
  EXPECT_FALSE(exists("u-dump1.sluice"));
}

TEST_F(record_test, a_signal_dumps) {
  const pid_t child = begin({"-o", "t.sluice", "--ring", "1MiB", "--", guest, "wait-for-signal"});
  wait_until_ready();
  kill(child, SIGUSR2);
  while (!exists("t-dump1.sluice") || !recorded(folder_.file("t-dump1.sluice")).snapshot().complete()) usleep(10'000);
  kill(child, SIGTERM);
  EXPECT_EQ(end(child).status, 128 + SIGTERM) << "the command got only the second signal";
  EXPECT_EQ(trace("t-dump1.sluice").all<alloc_event>().size(), 1U);
}

TEST_F(record_test, a_delay_leaves_the_beginning_out_but_not_what_lives) {
  EXPECT_EQ(run({"-o", "t.sluice", "--delay", "0.7", "--", guest, "churn"}).status, 0);
  const writer::recorded late = trace();
  EXPECT_EQ(live_at_the_end(late), 11U);
  const auto checkpoints = late.all<checkpoint_event>();
  EXPECT_GT(checkpoints[0].time, 600'000'000);
  for (const alloc_event& a : late.all<alloc_event>()) EXPECT_GT(a.time, 500'000'000);
}

TEST_F(record_test, a_duration_ends_the_recording_and_not_the_command) {
  EXPECT_EQ(run({"-o", "t.sluice", "--duration", "0.3", "--", "sh", "-c", guest + " churn; exit 5"}).status, 5);
  const writer::recorded part = trace();
  EXPECT_GE(live_at_the_end(part), 11U);
  for (const alloc_event& a : part.all<alloc_event>()) EXPECT_LT(a.time, 1'000'000'000);
}

TEST_F(record_test, attaching_is_refused_with_a_reason) {
  const auto [status, out, said] = run_sluice({"attach", "1"});
  EXPECT_EQ(status, 1);
  EXPECT_THAT(said, HasSubstr("cannot be recorded safely"));
  EXPECT_THAT(said, HasSubstr("sluice record"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(record_test, names_the_file_after_the_command) {
  EXPECT_EQ(run({guest, "succeed"}).status, 0);
  EXPECT_TRUE(exists("record_guest.sluice"));
  EXPECT_EQ(run({guest, "succeed"}).status, 0);
  EXPECT_TRUE(exists("record_guest-2.sluice"));
}

TEST_F(record_test, a_commands_own_options_are_its_own) {
  EXPECT_EQ(run({"-o", "t.sluice", "echo", "-o", "--force", "--", "-n"}).out, "-o --force -- -n\n");
  EXPECT_EQ(run({"-o", "u.sluice", "--", "echo", "--", "-o", "x"}).out, "-- -o x\n");
}

TEST_F(record_test, stacks_are_as_asked_for) {
  if (!std::filesystem::exists(SLUICE_BINARY_DIR "/libsluice_capture.so"))
    GTEST_SKIP() << "skipped: built without CUDA";
  EXPECT_EQ(run({"-o", "t.sluice", "--", "sh", "-c", "echo $SLUICE_STACKS"}).out, "python\n");
  EXPECT_EQ(run({"-o", "u.sluice", "--stacks", "all", "--", "sh", "-c", "echo $SLUICE_STACKS"}).out, "all\n");
  const program_result wrong = run({"-o", "t.sluice", "--stacks=ruby", "--", "true"});
  EXPECT_EQ(wrong.status, 125);
  EXPECT_THAT(wrong.err, HasSubstr("--stacks"));
}

TEST_F(record_test, a_command_without_cuda_makes_a_valid_file) {
  const program_result plain = run({"-o", "t.sluice", "--", "sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(plain.status, 3);
  EXPECT_EQ(plain.out, "hello\n");
  EXPECT_THAT(plain.err, HasSubstr("no CUDA activity was seen"));
  const writer::recorded quiet = trace();
  ASSERT_EQ(quiet.tables().processes.rows().size(), 1u);
  EXPECT_EQ(quiet.text(quiet.tables().processes.rows()[0].command), "sh -c echo hello; exit 3");
}

TEST_F(record_test, survives_a_command_that_closes_everything) {
  EXPECT_EQ(run_guest("close-all").status, 0);
  EXPECT_EQ(trace().all<alloc_event>().size(), 2u);
  EXPECT_EQ(run_guest("setsid").status, 0);
  EXPECT_EQ(trace().all<alloc_event>().size(), 2u);
}

TEST_F(record_test, waits_for_children_that_outlive_the_command) {
  EXPECT_EQ(run_guest("child-outlives").status, 0);
  const writer::recorded both = trace();
  EXPECT_EQ(both.all<alloc_event>().size(), 2u);
  EXPECT_EQ(both.tables().processes.rows().size(), 2u);
}

TEST_F(record_test, does_not_wait_for_a_daemon_for_ever) {
  const program_result left = run({"--linger", "0.3", "-o", "t.sluice", "--", guest, "daemon"});
  EXPECT_EQ(left.status, 0);
  EXPECT_EQ(trace().all<alloc_event>().size(), 2u);
}

TEST_F(record_test, an_interrupt_is_the_commands_and_ends_the_wait_for_others) {
  const pid_t child = begin({"-o", "t.sluice", "--", guest, "handle-interrupt"});
  wait_until_ready();
  kill(-child, SIGINT);  // To the whole group, as a terminal does.
  EXPECT_EQ(end(child).status, 9);
  EXPECT_EQ(trace().all<alloc_event>().size(), 2u) << "events during the command's shutdown are recorded";
}

TEST_F(record_test, a_termination_is_passed_on) {
  const pid_t child = begin({"-o", "t.sluice", "--", guest, "wait-for-signal"});
  wait_until_ready();
  kill(child, SIGTERM);  // Only to the recorder.
  EXPECT_EQ(end(child).status, 128 + SIGTERM);
  EXPECT_EQ(trace().all<alloc_event>().size(), 1u);
}

TEST_F(record_test, changes_nothing_that_the_command_can_see) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // Sanitizers handle signals of their own.
  EXPECT_EQ(run_guest("signals").status, 0) << "a signal is blocked or handled that should not be";
#endif
  EXPECT_EQ(run_guest("descriptors").status, 0) << "the command inherited a descriptor of the recorder";
}

TEST_F(record_test, a_killed_recorder_leaves_a_file_that_opens_and_a_command_that_goes_on) {
  const pid_t child = begin({"-o", "t.sluice", "--", guest, "wait-for-signal"});
  wait_until_ready();
  while (recorded(folder_.file("t.sluice")).all<alloc_event>().empty()) usleep(10'000);
  kill(child, SIGKILL);
  EXPECT_EQ(end(child).status, 128 + SIGKILL);
  EXPECT_EQ(kill(-child, 0), 0) << "the command should not have noticed";
  kill(-child, SIGKILL);
  EXPECT_EQ(recorded(folder_.file("t.sluice")).all<alloc_event>().size(), 1u);
}

}  // namespace
}  // namespace sluice
