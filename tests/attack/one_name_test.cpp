// Recorders that claim the same name at the same time: one gets it, and the others end before they start their
// programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "core/trace/file/byte_source.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using writer::recorded;

/// Fixture that starts two `sluice record` at the same time in the folder "work".
class one_name : public sluice_program {
 protected:
  struct ended {
    int status = -1;
    std::string said;
  };

  /// `names`: the values of -o; an empty value omits the option. The programs log that they ran, and run until the
  /// first recorder has ended; without names both recorders succeed, so the programs end at once.
  std::array<ended, 2> record_both(const std::array<std::string, 2>& names, bool force = false) {
    fs::remove(file("ended"));
    fs::remove(file("ran"));
    if (names[0].empty()) write("ended", "");
    int start[2];
    EXPECT_EQ(pipe(start), 0);
    std::array<pid_t, 2> children{};
    for (std::size_t i = 0; i < 2; ++i) children[i] = begin_at(start, i, names[i], force);
    close(start[0]);
    close(start[1]);  // Starts both recorders.
    std::array<ended, 2> both;
    for (std::size_t n = 0; n < 2; ++n) {
      int status = 0;
      const pid_t child = waitpid(-1, &status, 0);
      write("ended", "");
      const std::size_t i = child == children[0] ? 0 : 1;
      both[i].status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    for (std::size_t i = 0; i < 2; ++i) both[i].said = make_content(file("err" + std::to_string(i)));
    return both;
  }

  /// Expects that exactly one recorder ran its program. The other reports that `place` is taken.
  void expect_one_winner(const std::array<ended, 2>& both, const std::string& place) {
    const std::size_t winner = both[0].status == 0 ? 0 : 1;
    const ended &won = both[winner], &lost = both[1 - winner];
    ASSERT_EQ(won.status, 0) << won.said << lost.said;
    EXPECT_EQ(lost.status, 125) << lost.said;
    EXPECT_EQ(std::count(lost.said.begin(), lost.said.end(), '\n'), 1) << lost.said;
    EXPECT_EQ(make_content(file("ran")), std::to_string(winner) + "\n") << "the other recorder's program ran";
    const recorded found(file(place));
    EXPECT_TRUE(found.snapshot().complete());
    EXPECT_EQ(found.all<trace::alloc_event>().size(), 1U);
  }

  [[nodiscard]] std::set<std::string> names_in(const std::string& folder) const {
    std::set<std::string> strings;
    for (const auto& each : fs::directory_iterator(file(folder))) strings.insert(each.path().filename().string());
    return strings;
  }

  void SetUp() override { fs::create_directory(file("work")); }

 private:
  pid_t begin_at(const int (&start)[2], std::size_t number, const std::string& name, bool force) {
    const std::string script = "echo " + std::to_string(number) + " >>" + file("ran") + "; " + guest +
                               " succeed; for i in $(seq 3000); do [ -e " + file("ended") +
                               " ] && exit 0; sleep 0.01; done; exit 9";
    std::vector<std::string> words = {program_, "record", "--linger", "0"};
    if (force) words.emplace_back("--force");
    if (!name.empty()) words.insert(words.end(), {"-o", name});
    words.insert(words.end(), {"--", "/bin/sh", "-c", script});
    return start_program(words, [&] {
      const std::string err = file("err" + std::to_string(number));
      dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      if (chdir(file("work").c_str()) != 0) _exit(98);
      close(start[1]);
      char none = 0;
      if (read(start[0], &none, 1) != 0) _exit(96);
    });
  }
};

// Tried: two recorders with the same new name, repeatedly.
TEST_F(one_name, a_new_name_is_taken_once) {
  for (int round = 0; round < 50 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    expect_one_winner(record_both({"t.sluice", "t.sluice"}), "work/t.sluice");
    EXPECT_EQ(names_in("work"), std::set<std::string>{"t.sluice"});
    fs::remove(file("work/t.sluice"));
  }
}

// Tried: two recorders with the name of an existing recording, which both may replace.
TEST_F(one_name, an_earlier_recording_is_replaced_once) {
  ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", "work/t.sluice"}).status, 0);
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const auto both = record_both({"t.sluice", "t.sluice"}, true);
    expect_one_winner(both, "work/t.sluice");
    EXPECT_THAT(both[both[0].status == 0 ? 1 : 0].said, HasSubstr("another recording is being written to it"));
    EXPECT_EQ(names_in("work"), std::set<std::string>{"t.sluice"});
  }
}

// Tried: an empty file, as mktemp makes.
TEST_F(one_name, an_empty_file_is_replaced_once) {
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    write("work/t.sluice", "");
    expect_one_winner(record_both({"t.sluice", "t.sluice"}), "work/t.sluice");
    fs::remove(file("work/t.sluice"));
  }
}

// Tried: one name in two spellings: relative and absolute, through a link to the folder and to the file.
TEST_F(one_name, a_name_has_many_spellings) {
  fs::create_directory_symlink("work", file("link"));
  const std::vector<std::array<std::string, 2>> spellings = {
      {"t.sluice", "./t.sluice"},
      {"t.sluice", file("work/t.sluice")},
      {"t.sluice", "../link/t.sluice"},
      {file("link/t.sluice"), file("work/../link/./t.sluice")},
  };
  for (const auto& both : spellings) {
    for (int round = 0; round < 5 && !HasFailure(); ++round) {
      SCOPED_TRACE(both[1]);
      expect_one_winner(record_both(both), "work/t.sluice");
      fs::remove(file("work/t.sluice"));
    }
  }
  ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", "work/t.sluice"}).status, 0);
  fs::create_symlink("t.sluice", file("work/other.sluice"));
  for (int round = 0; round < 5 && !HasFailure(); ++round)
    expect_one_winner(record_both({"t.sluice", "other.sluice"}, true), "work/t.sluice");
  EXPECT_TRUE(fs::is_symlink(file("work/other.sluice")));
}

// Tried: two recorders without a name. Each chooses a different one.
TEST_F(one_name, without_a_name_each_gets_another) {
  for (int round = 0; round < 10 && !HasFailure(); ++round) {
    const auto both = record_both({"", ""});
    EXPECT_EQ(both[0].status, 0) << both[0].said;
    EXPECT_EQ(both[1].status, 0) << both[1].said;
    EXPECT_EQ(names_in("work"), (std::set<std::string>{"sh.sluice", "sh-2.sluice"}));
    for (const char* name : {"work/sh.sluice", "work/sh-2.sluice"}) {
      EXPECT_EQ(recorded(file(name)).all<trace::alloc_event>().size(), 1U) << name;
      fs::remove(file(name));
    }
  }
}

/// Fixture for recorders that are killed before their programs start.
class killed_before_its_program : public sluice_program {};

// Tried: reusing the name of a recorder that was killed at once. Its file has no events, so it may be replaced; opening
// it reports what is wrong.
TEST_F(killed_before_its_program, its_name_is_free_again) {
  write("empty.sluice", "");
  ASSERT_EQ(run_sluice({"record", "-o", "header.sluice", "--", guest, "succeed"}).status, 0);
  fs::resize_file(file("header.sluice"), 64);
  for (const char* name : {"empty.sluice", "header.sluice"}) {
    const program_result shown = run_sluice({"report", name});
    EXPECT_THAT(shown.out + shown.err,
                testing::AnyOf(HasSubstr("the file is empty"), HasSubstr("its writer ended early")))
        << name;
    const program_result again = run_sluice({"record", "-o", name, "--", guest, "succeed"});
    EXPECT_EQ(again.status, 0) << name << again.err;
    EXPECT_EQ(recorded(file(name)).all<trace::alloc_event>().size(), 1U) << name;
  }
}

// Tried: recorders killed right after their start: their locks are released, and any file they leave is a recording.
TEST_F(killed_before_its_program, its_lock_goes_with_it) {
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    const pid_t child = begin_sluice({"record", "-o", "t.sluice", "--", "sleep", "600"});
    for (int i = 0; i < 6000 && !exists("t.sluice"); ++i) usleep(500);
    usleep(static_cast<useconds_t>(round) * 300);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    kill(-child, SIGKILL);  // The command, which also holds the lock until it is executed.
    const int left = open(file("t.sluice").c_str(), O_RDONLY);
    for (int i = 0; i < 6000 && trace::has_writer(left); ++i) usleep(1000);
    close(left);
    const program_result again = run_sluice({"record", "--force", "-o", "t.sluice", "--", guest, "succeed"});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(recorded(file("t.sluice")).all<trace::alloc_event>().size(), 1U);
    fs::remove(file("t.sluice"));
  }
}

// Tried: a command that cannot be executed, with a new name. The name is free afterwards.
TEST_F(killed_before_its_program, a_command_that_cannot_start_leaves_no_file) {
  write("script", "#!/no/such/interpreter\n");
  fs::permissions(file("script"), fs::perms::owner_all);
  EXPECT_EQ(run_sluice({"record", "-o", "t.sluice", "--", "./script"}).status, 127);
  EXPECT_FALSE(exists("t.sluice"));
}

}  // namespace
}  // namespace sluice
