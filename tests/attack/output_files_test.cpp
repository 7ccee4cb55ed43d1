// Outputs that would destroy a file, and runs that end early: the old file stays, and no other files are left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <set>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class output_files : public sluice_program {
 protected:
  /// Makes the small recordings "a.sluice" and "b.sluice", and "a.json", which can be imported.
  void SetUp() override {
    for (const char* name : {"a.sluice", "b.sluice"})
      ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", name}).status, 0);
    ASSERT_EQ(run_sluice({"export", "a.sluice", "-o", "a.json"}).status, 0);
  }

  /// Command lines of the verbs that write a recording, without -o and its value.
  const std::vector<std::vector<std::string>> writers_ = {{"trim", "a.sluice"},
                                                          {"merge", "a.sluice", "b.sluice"},
                                                          {"generate", "--events", "2000"},
                                                          {"generate", "--tile", "a.sluice", "--events", "4000"},
                                                          {"import", "a.json"},
                                                          {"record", "--", guest, "succeed"}};

  /// `words` with `-o out` and `more`, inserted before the command of `record`.
  static std::vector<std::string> with_output(std::vector<std::string> words, const std::string& out,
                                              const std::vector<std::string>& more = {}) {
    std::vector<std::string> options = {"-o", out};
    options.insert(options.end(), more.begin(), more.end());
    words.insert(words.begin() + 1, options.begin(), options.end());
    return words;
  }

  /// Names of the files in the folder, except those that the fixture writes.
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> strings;
    for (const auto& each : fs::directory_iterator(file("."))) strings.insert(each.path().filename().string());
    strings.erase("out");
    strings.erase("err");
    return strings;
  }

  [[nodiscard]] std::string content(const std::string& name) const { return make_content(file(name)); }

  /// Runs a shell command in the folder. {SLUICE} stands for the path of `sluice`.
  [[nodiscard]] int shell(std::string line) const {
    const std::string program = SLUICE_BINARY_DIR "/sluice";
    for (std::size_t at = 0; (at = line.find("{SLUICE}", at)) != std::string::npos;) line.replace(at, 8, program);
    return run_program({.words = {"bash", "-c", line}, .folder = file(".")}).status;
  }
};

// Tried: each verb with an output that is a file of another kind, with and without --force.
TEST_F(output_files, a_file_of_another_kind_is_never_replaced) {
  write("train.py", "import os, sys\n");
  auto writers = writers_;
  writers.push_back({"export", "a.sluice", "--format", "csv", "--table", "transfer"});
  for (const char* format : {"sqlite", "folded", "torch-snapshot", "perfetto", "chrome", "chrome-gz"})
    writers.push_back({"export", "a.sluice", "--format", format});
  writers.push_back({"screenshot", "a.sluice"});
  for (const auto& words : writers) {
    for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--force"}}) {
      const program_result tried = run_sluice(with_output(words, "train.py", more));
      EXPECT_NE(tried.status, 0) << words[0];
      EXPECT_THAT(tried.err, HasSubstr("train.py: exists and is not a")) << words[0];
      EXPECT_EQ(content("train.py"), "import os, sys\n") << words[0];
    }
  }
}

// Tried: each verb with an output that is an existing recording.
TEST_F(output_files, an_earlier_recording_is_replaced_only_by_force) {
  ASSERT_EQ(run_sluice({"generate", "--events", "3000", "-o", "old.sluice"}).status, 0);
  for (const auto& words : writers_) {
    const std::string before = content("old.sluice");
    const program_result refused = run_sluice(with_output(words, "old.sluice"));
    EXPECT_NE(refused.status, 0) << words[0];
    EXPECT_THAT(refused.err, HasSubstr("overwrite it with --force, or choose another name")) << words[0];
    EXPECT_EQ(content("old.sluice"), before) << words[0];
    EXPECT_EQ(run_sluice(with_output(words, "old.sluice", {"--force"})).status, 0) << words[0];
    EXPECT_NE(content("old.sluice"), before) << words[0];
  }
}

// Tried: an export that replaces an earlier export, in each format.
TEST_F(output_files, an_earlier_export_is_replaced_only_by_force) {
  for (const char* name : {"x.sqlite", "x.folded", "x.pickle", "x.pftrace", "x.json", "x.json.gz"}) {
    ASSERT_EQ(run_sluice({"export", "a.sluice", "-o", name}).status, 0) << name;
    EXPECT_EQ(run_sluice({"export", "a.sluice", "-o", name}).status, 2) << name;
    const program_result again = run_sluice({"export", "b.sluice", "-o", name, "--force"});
    EXPECT_EQ(again.status, 0) << again.err;
  }
  ASSERT_EQ(run_sluice({"export", "a.sluice", "-o", "x.csv", "--table", "alloc"}).status, 0);
  EXPECT_EQ(run_sluice({"export", "a.sluice", "-o", "x.csv", "--table", "alloc"}).status, 2);
  EXPECT_EQ(run_sluice({"export", "a.sluice", "-o", "x.csv", "--table", "alloc", "--force"}).status, 0);
}

// Tried: --force with the input as the output, by its name, a hard link and a symbolic link.
TEST_F(output_files, no_verb_replaces_its_input) {
  fs::create_hard_link(file("a.sluice"), file("hard.sluice"));
  fs::create_symlink("a.sluice", file("soft.sluice"));
  fs::create_symlink("a.json", file("soft.json"));
  const std::string before = content("a.sluice"), source = content("a.json");
  for (const char* out : {"a.sluice", "./a.sluice", "hard.sluice", "soft.sluice"}) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"trim", "a.sluice"},
                                                  {"merge", "b.sluice", "a.sluice"},
                                                  {"generate", "--tile", "a.sluice", "--events", "4000"},
                                                  {"screenshot", "a.sluice"},
                                                  {"export", "a.sluice", "--format", "chrome"}}) {
      const program_result tried = run_sluice(with_output(words, out, {"--force"}));
      EXPECT_NE(tried.status, 0) << words[0] << " " << out;
      EXPECT_THAT(tried.err, HasSubstr("is also the input")) << words[0] << " " << out;
      EXPECT_EQ(content("a.sluice"), before) << words[0] << " " << out;
    }
  }
  for (const char* out : {"a.json", "soft.json"}) {
    EXPECT_NE(run_sluice({"import", "a.json", "--force", "-o", out}).status, 0);
    EXPECT_NE(run_sluice({"export", "a.json", "--force", "-o", out}).status, 0);
    EXPECT_EQ(content("a.json"), source);
  }
}

// Tried: sluice record -o OLD --force, with a command that cannot be executed.
TEST_F(output_files, an_old_recording_survives_a_command_that_cannot_start) {
  const std::string before = content("a.sluice");
  write("script", "#!/no/such/interpreter\n");
  chmod(file("script").c_str(), 0755);
  write("data", "not a program");
  const auto there = names();
  for (const char* command : {"./script", "./data", "./nothing"}) {
    EXPECT_NE(run_sluice({"record", "--force", "-o", "a.sluice", "--", command}).status, 0);
    EXPECT_EQ(content("a.sluice"), before) << command;
    EXPECT_NE(run_sluice({"record", "-o", "new.sluice", "--", command}).status, 0);
  }
  EXPECT_EQ(names(), there);
}

// Tried: opening a recording by its final name while the command runs, and killing the recorder.
TEST_F(output_files, a_recording_has_its_name_while_it_is_made) {
  const pid_t child = begin_sluice({"record", "-o", "t.sluice", "--", "sleep", "600"});
  for (int i = 0; i < 6000 && !exists("t.sluice"); ++i) usleep(10'000);
  EXPECT_TRUE(exists("t.sluice"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  kill(-child, SIGKILL);  // The recorded command.
  EXPECT_EQ(run_sluice({"report", "t.sluice"}).status, 0);
}

// Tried: a link planted at "NAME.part", which earlier versions wrote to.
TEST_F(output_files, a_planted_link_next_to_the_output_is_not_followed) {
  write("precious", "hours of work\n");
  for (const char* name : {"new.sluice", "picture.png", "new.json"})
    fs::create_symlink("precious", file(std::string(name) + ".part"));
  for (const auto& words : writers_) {
    EXPECT_EQ(run_sluice(with_output(words, "new.sluice", {"--force"})).status, 0) << words[0];
    EXPECT_EQ(content("precious"), "hours of work\n") << words[0];
  }
  EXPECT_EQ(run_sluice({"export", "a.sluice", "-o", "new.json"}).status, 0);
  run_sluice({"screenshot", "a.sluice", "-o", "picture.png"});
  EXPECT_EQ(content("precious"), "hours of work\n");
  EXPECT_TRUE(fs::is_symlink(file("new.sluice.part")));
}

// Tried: a dangling link as the output, to create a file at a place of the attacker's choice.
TEST_F(output_files, a_link_that_leads_nowhere_makes_no_file) {
  fs::create_symlink("elsewhere", file("link"));
  for (const auto& words : writers_) {
    EXPECT_NE(run_sluice(with_output(words, "link", {"--force"})).status, 0) << words[0];
    EXPECT_FALSE(exists("elsewhere")) << words[0];
  }
  EXPECT_NE(run_sluice({"export", "a.sluice", "--format", "chrome", "-o", "link", "--force"}).status, 0);
  EXPECT_FALSE(exists("elsewhere"));
}

// Tried: a pipe without a reader, a device and a folder as the output.
TEST_F(output_files, nothing_but_a_regular_file_becomes_a_recording) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  fs::create_directory(file("folder"));
  for (const auto& words : writers_) {
    for (const char* out : {"pipe", "folder", "/dev/null"})
      EXPECT_NE(run_sluice(with_output(words, out, {"--force"})).status, 0) << words[0] << " " << out;
  }
  const program_result waits = run_sluice({"export", "a.sluice", "--format", "chrome", "-o", "pipe"});
  EXPECT_EQ(waits.status, 1);
  EXPECT_THAT(waits.err, HasSubstr("start its reader first"));
  EXPECT_TRUE(fs::is_fifo(file("pipe")));
}

// Tried: export to >(...), /dev/stdout and a pipe with a reader. These destinations must work.
TEST_F(output_files, a_stream_may_go_to_a_pipe_that_is_read) {
  const std::string expected = content("a.json");
  EXPECT_EQ(shell("{SLUICE} export a.sluice --format chrome -o >(cat >1.json; touch 1.done) 2>/dev/null; "
                  "while [ ! -e 1.done ]; do sleep 0.01; done"),
            0);
  EXPECT_EQ(content("1.json"), expected);
  EXPECT_EQ(shell("{SLUICE} export a.sluice --format chrome -o /dev/stdout 2>/dev/null | cat >2.json"), 0);
  EXPECT_EQ(content("2.json"), expected);
  EXPECT_EQ(shell("echo before >3.json; {SLUICE} export a.sluice --format chrome -o /dev/stdout >>3.json 2>/dev/null"),
            0);
  EXPECT_EQ(content("3.json"), "before\n" + expected);
  EXPECT_EQ(shell("{SLUICE} export a.sluice --format sqlite -o - 2>/dev/null >4.sqlite"), 0);
  EXPECT_THAT(content("4.sqlite"), testing::StartsWith("SQLite format 3"));
}

/// Fixture that ends a program with each signal as soon as the program has started to write `out`.
class interrupted : public output_files {
 protected:
  void try_all(const std::vector<std::string>& words) {
    const auto there = names();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      const std::string before = content("old.sluice");
      const pid_t child = begin_sluice(words);
      int status = 0;
      while (names() == there && waitpid(child, &status, WNOHANG) == 0) usleep(500);
      kill(child, signal);
      waitpid(child, &status, 0);
      EXPECT_EQ(content("old.sluice"), before) << words[0] << ", signal " << signal;
      EXPECT_EQ(names(), there) << words[0] << ", signal " << signal;
    }
  }
};

// Tried: SIGINT, SIGTERM, SIGHUP and SIGPIPE in the middle of each verb.
TEST_F(interrupted, the_old_file_stays_and_nothing_else) {
  write("old.sluice", content("b.sluice"));
  ASSERT_EQ(run_sluice({"generate", "--events", "3000000", "-o", "large.sluice"}).status, 0);
  std::string log = "Thread,Time,Action,Pointer,Size,Stream\n";
  for (int i = 0; i < 400'000; ++i) log += "1,00:00:00:000000,allocate,0x" + std::to_string(i * 512) + ",512,0\n";
  write("log.csv", log);
  try_all({"trim", "large.sluice", "-o", "old.sluice", "--force"});
  try_all({"merge", "large.sluice", "a.sluice", "-o", "old.sluice", "--force"});
  try_all({"generate", "--events", "900000000", "-o", "old.sluice", "--force"});
  try_all({"generate", "--tile", "large.sluice", "--events", "900000000", "-o", "old.sluice", "--force"});
  try_all({"import", "log.csv", "-o", "old.sluice", "--force"});
  try_all({"export", "large.sluice", "-o", "new.json"});
  try_all({"export", "large.sluice", "-o", "new.sqlite"});
  try_all({"export", "large.sluice", "--format", "csv", "-o", "folder"});
}

// Tried: a disk without space for the output (simulated by a file size limit, which fails in the same place).
TEST_F(output_files, a_full_disk_leaves_the_old_file_and_nothing_else) {
  ASSERT_EQ(run_sluice({"generate", "--events", "200000", "-o", "large.sluice"}).status, 0);
  ASSERT_EQ(run_sluice({"export", "large.sluice", "-o", "large.json"}).status, 0);
  write("old.sluice", content("b.sluice"));
  for (const char* name : {"old.json", "old.sqlite", "old.pftrace"})
    ASSERT_EQ(run_sluice({"export", "a.sluice", "-o", name}).status, 0);
  const auto there = names();
  for (const std::string line :
       {"trim large.sluice -o old.sluice", "merge large.sluice a.sluice -o old.sluice",
        "generate --events 200000 -o old.sluice", "generate --tile large.sluice --events 200000 -o old.sluice",
        "import large.json -o old.sluice", "export large.sluice -o old.json", "export large.sluice -o old.sqlite",
        "export large.sluice -o old.pftrace"}) {
    const std::string out = line.substr(line.rfind(' ') + 1);
    const std::string before = content(out);
    EXPECT_EQ(shell("trap '' XFSZ; ulimit -f 64; {SLUICE} " + line + " --force 2>&1 | cat >err; exit ${PIPESTATUS[0]}"),
              1)
        << line << content("err");
    EXPECT_EQ(content(out), before) << line;
    EXPECT_EQ(names(), there) << line;
  }
}

// Tried: a disk without space for the output, with and without the signal that a file size limit sends. The error names
// the output and the space it needs, and no file that the user did not name.
TEST_F(output_files, a_full_disk_is_said_of_the_output) {
  ASSERT_EQ(run_sluice({"generate", "--events", "200000", "-o", "large.sluice"}).status, 0);
  const auto there = names();
  for (const char* signal : {"", "trap '' XFSZ; "}) {
    for (const std::string line : {"trim large.sluice -o out.sluice", "merge large.sluice a.sluice -o out.sluice",
                                   "generate --events 200000 -o out.sluice", "export large.sluice -o out.json",
                                   "export large.sluice -o out.sqlite", "export large.sluice --format csv -o folder"}) {
      const std::string out = line.substr(line.rfind(' ') + 1);
      EXPECT_EQ(
          shell(signal + std::string("ulimit -f 64; {SLUICE} ") + line + " 2>&1 | cat >err; exit ${PIPESTATUS[0]}"), 1)
          << line;
      const std::string said = content("err");
      EXPECT_THAT(said, testing::StartsWith("sluice: " + out)) << line;
      EXPECT_THAT(said, HasSubstr("File too large")) << line;
      EXPECT_THAT(said, testing::AnyOf(HasSubstr("place with more room"), HasSubstr("folder with more space"))) << line;
      if (out == "out.sluice") {
        EXPECT_THAT(said, HasSubstr("the recording needs more than ")) << line;
      }
      for (const char* internal : {".part-", "/proc", "recorded before", "large.sluice"})
        EXPECT_THAT(said, testing::Not(HasSubstr(internal))) << line;
      EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
      EXPECT_EQ(names(), there) << line;
    }
  }
}

// Tried: no disk space for the scratch file of an import.
TEST_F(output_files, a_full_disk_is_said_of_the_file_that_must_be_imported) {
  fs::create_directory(file("scratch"));
  EXPECT_EQ(
      shell(
          "ulimit -f 1; TMPDIR=$PWD/scratch {SLUICE} trim a.json -o out.sluice 2>&1 | cat >err; exit ${PIPESTATUS[0]}"),
      1);
  const std::string said = content("err");
  EXPECT_THAT(said, testing::StartsWith("sluice: a.json: must be imported"));
  EXPECT_THAT(said, HasSubstr("/scratch: "));
  EXPECT_THAT(said, HasSubstr("TMPDIR"));
  EXPECT_THAT(said, testing::Not(HasSubstr("imported.sluice")));
}

// Tried: scratch files of runs that end with a signal, a closed pipe or a full disk.
TEST_F(output_files, scratch_files_are_removed_however_the_run_ends) {
  fs::create_directory(file("scratch"));
  const auto left = [&] { return std::distance(fs::directory_iterator(file("scratch")), fs::directory_iterator()); };
  const std::string with = "TMPDIR=$PWD/scratch {SLUICE} ";
  EXPECT_EQ(shell(with + "export a.sluice --format sqlite -o - 2>/dev/null | head -c 1 >/dev/null"), 0);
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(shell(with + "report a.json >/dev/null"), 0);
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(shell("trap '' XFSZ; ulimit -f 1; " + with + "report a.json >/dev/null 2>&1"), 1);
  EXPECT_EQ(left(), 0);
  EXPECT_EQ(shell("TMPDIR=/no/such/folder {SLUICE} report a.json >/dev/null"), 0);
  std::string log = "Thread,Time,Action,Pointer,Size,Stream\n";
  for (int i = 0; i < 400'000; ++i) log += "1,00:00:00:000000,allocate,0x" + std::to_string(i * 512) + ",512,0\n";
  write("log.csv", log);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const pid_t child = begin_sluice({"report", "log.csv"}, {{"TMPDIR", file("scratch")}});
    int status = 0;
    while (left() == 0 && waitpid(child, &status, WNOHANG) == 0) usleep(500);
    kill(child, signal);
    waitpid(child, &status, 0);
    EXPECT_EQ(left(), 0) << signal;
  }
}

}  // namespace
}  // namespace sluice
