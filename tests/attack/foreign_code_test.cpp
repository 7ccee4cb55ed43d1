// Code that must not be run or loaded without the user's request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

class foreign_code : public sluice_program {
 protected:
  void write_program(const std::string& name, const std::string& text) const {
    write(name, text);
    std::filesystem::permissions(file(name), std::filesystem::perms::owner_all);
  }
};

// Tried: a command named like a Python interpreter, with a side effect at each start.
TEST_F(foreign_code, a_command_is_run_once) {
  for (const std::string name : {"python", "python3.12", "python-deploy"}) {
    write_program(name, "#!/bin/sh\necho $0 $* >> runs-of-" + name + "\n");
    EXPECT_EQ(run_sluice({"record", "-o", name + ".sluice", "--", "./" + name, "now"}).status, 0);
    EXPECT_EQ(make_content(file("runs-of-" + name)), "./" + name + " now\n");
  }
}

// Tried: a Python on PATH with a side effect, started because of a script's first line.
TEST_F(foreign_code, an_interpreter_is_run_for_its_script_only) {
  write_program("python3", "#!/bin/sh\necho $1 >> runs\n");
  write_program("train", "#!" + file("python3") + "\n");
  EXPECT_EQ(run_sluice({"record", "-o", "t.sluice", "--", "./train"}).status, 0);
  EXPECT_EQ(make_content(file("runs")), "./train\n");
}

// Tried: files named like modules of the Python standard library in the current folder.
TEST_F(foreign_code, modules_in_the_current_folder_are_not_imported) {
  if (!std::filesystem::exists("/usr/bin/python3")) GTEST_SKIP() << "no /usr/bin/python3 here";
  for (const std::string name : {"glob", "re", "os", "importlib", "sys", "sluice"})
    write(name + ".py", "open('imported', 'w').write('" + name + "')\n");
  EXPECT_EQ(run_sluice({"record", "-o", "t.sluice", "--", "/usr/bin/python3", "-I", "-c", "pass"}).status, 0);
  EXPECT_FALSE(exists("imported")) << make_content(file("imported"));
}

// Tried: a pipe named like a script: reading its first line would block forever.
TEST_F(foreign_code, a_command_that_is_a_pipe_is_not_read) {
  ASSERT_EQ(::mkfifo(file("python3").c_str(), 0700), 0);
  write_program("train", "#!" + file("python3") + "\n");
  EXPECT_NE(run_sluice({"record", "-o", "t.sluice", "--", "./train"}).status, 0);
  EXPECT_EQ(run_sluice({"record", "-o", "u.sluice", "--", "/bin/true", "./python3"}).status, 0);
}

}  // namespace
}  // namespace sluice
