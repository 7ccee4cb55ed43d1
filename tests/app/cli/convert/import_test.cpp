// sluice import, and other verbs with files that another tool recorded.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "tests/core/import/files.hpp"
#include "tests/programs.hpp"

extern char** environ;

namespace sluice::cli {
namespace {

using ::testing::HasSubstr;
using testing::own_folder;

constexpr const char* program = SLUICE_BINARY_DIR "/sluice";

program_result run(const std::string& arguments) { return run_shell(std::string(program) + " " + arguments + " 2>&1"); }

std::string read_log(int allocations) {
  std::string log = "Thread,Time,Action,Pointer,Size,Stream\n";
  for (int i = 1; i <= allocations; ++i)
    log += "1,10:00:00.000000,allocate,0x" + std::to_string(i) + "00,1048576,0x0\n";
  return log;
}

TEST(import_verb, says_what_it_read_and_what_it_did_not) {
  const own_folder folder;
  const std::string log = folder.write("rmm.csv", read_log(3) + "nonsense\n"), out = folder.file("out.sluice");
  const program_result done = run("import '" + log + "' -o '" + out + "'");
  EXPECT_EQ(done.status, 0) << done.out;
  EXPECT_THAT(done.out, HasSubstr("(RMM log)"));
  EXPECT_THAT(done.out, HasSubstr("3  allocations"));
  EXPECT_THAT(done.out, HasSubstr("skipped or changed:"));
  EXPECT_THAT(done.out, HasSubstr("1  lines, the first at byte"));
  EXPECT_TRUE(trace::file::open(out));
}

TEST(import_verb, names_the_output_after_its_input) {
  const own_folder folder;
  const std::string log = folder.write_gzip("run.csv.gz", read_log(1));
  EXPECT_EQ(run("import '" + log + "' -o '" + folder.file("run.sluice") + "'").status, 0);
  const std::string here = std::filesystem::path(log).parent_path().string();
  ASSERT_EQ(run_program({.words = {program, "import", "run.csv.gz"}, .folder = here}).status, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.file("run-2.sluice")));
}

TEST(import_verb, refuses_what_it_cannot_mean) {
  const own_folder folder;
  const std::string log = folder.write("rmm.csv", read_log(1)), words = folder.write("words.txt", "words");
  EXPECT_EQ(run("import '" + words + "' -o '" + folder.file("out.sluice") + "'").status, 1);
  EXPECT_EQ(run("import '" + folder.file("none") + "' -o '" + folder.file("out.sluice") + "'").status, 1);
  const program_result taken = run("import '" + log + "' -o '" + words + "'");
  EXPECT_EQ(taken.status, 2);
  EXPECT_THAT(taken.out, HasSubstr("remove it, or choose another name"));
  EXPECT_EQ(run("import '" + log + "' --force -o '" + words + "'").status, 2);
  EXPECT_EQ(testing::read_file(words), "words");
}

TEST(import_verb, leaves_nothing_behind_when_it_is_interrupted) {
  const own_folder folder;
  const std::string log = folder.write("rmm.csv", read_log(1'500'000)), out = folder.file("out.sluice");
  const pid_t child = start_program({program, "import", log, "-o", out});
  for (int i = 0; i < 20'000 && folder.files() < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGINT);
  EXPECT_EQ(wait_for_end(child), 128 + SIGINT) << "as for every verb";
  EXPECT_EQ(folder.files(), 1U);
}

TEST(other_verbs, take_what_another_tool_recorded) {
  const own_folder folder;
  const std::string log = folder.write("rmm.csv", read_log(3) + "nonsense\n");
  const program_result report = run("report '" + log + "'");
  EXPECT_EQ(report.status, 0) << report.out;
  EXPECT_THAT(report.out, HasSubstr("3.00 MiB"));
  EXPECT_THAT(report.out, HasSubstr("not understood in the imported file: 1 lines"));
  EXPECT_EQ(run("report --format json '" + log + "'").status, 0);
  EXPECT_EQ(folder.files(), 1U);
}

}  // namespace
}  // namespace sluice::cli
