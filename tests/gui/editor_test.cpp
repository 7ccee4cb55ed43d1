// The command that shows a source line in the user's editor.
#include "app/gui/shell/programs/editor.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "app/processes/command_line.hpp"

namespace sluice::gui {
namespace {

std::string command(const std::string& editor, std::uint64_t line = 12) {
  return processes::joined_words(editor_command(editor, "/src/train me.py", line));
}

TEST(editor, is_reported_the_line_in_its_own_way) {
  EXPECT_EQ(command("code"), "code --goto '/src/train me.py:12'");
  EXPECT_EQ(command("/usr/bin/code --wait"), "/usr/bin/code --wait --goto '/src/train me.py:12'");
  EXPECT_EQ(command("subl"), "subl '/src/train me.py:12'");
  EXPECT_EQ(command("gvim"), "gvim +12 '/src/train me.py'");
  EXPECT_EQ(command("kate", 0), "kate '/src/train me.py'");
}

TEST(editor, of_a_terminal_gets_one) {
  EXPECT_EQ(command("vim"), "x-terminal-emulator -e vim +12 '/src/train me.py'");
  EXPECT_EQ(command("emacs -nw"), "x-terminal-emulator -e emacs -nw +12 '/src/train me.py'");
  EXPECT_EQ(command("emacsclient -n"), "emacsclient -n +12 '/src/train me.py'");
}

TEST(editor, must_be_named) {
  EXPECT_EQ(command(""), "");
  EXPECT_EQ(command("'not closed"), "");
}

TEST(editor, opens_only_files_of_this_machine) {
  EXPECT_EQ(open_in_editor("train.py", 1).error().code, error_code::invalid_argument);
  EXPECT_EQ(open_in_editor("/no/such/train.py", 1).error().code, error_code::not_found);
  EXPECT_EQ(open_in_editor("/dev/null", 1).error().code, error_code::not_found) << "not a regular file";
}

TEST(editor, is_named_if_it_does_not_exist) {
  const char* const before = std::getenv("VISUAL");
  const std::string was = before == nullptr ? "" : before;
  setenv("VISUAL", "/no/such/editor --wait", 1);
  const auto opened = open_in_editor("/etc/passwd", 1);
  setenv("VISUAL", was.c_str(), 1);  // Empty means the same as unset.
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::not_found);
  EXPECT_EQ(opened.error().file, "/no/such/editor");
}

}  // namespace
}  // namespace sluice::gui
