// Splitting command lines as people type them.
#include "app/processes/command_line.hpp"

#include <gtest/gtest.h>

namespace sluice::processes {
namespace {

TEST(command_line, is_split_as_a_shell_does) {
  using words = std::vector<std::string>;
  EXPECT_EQ(split_words("python  train.py --lr 1e-3").value(), (words{"python", "train.py", "--lr", "1e-3"}));
  EXPECT_EQ(split_words(R"(a 'b c' "d e" f\ g)").value(), (words{"a", "b c", "d e", "f g"}));
  EXPECT_EQ(split_words(R"('it'"'"'s' '')").value(), (words{"it's", ""}));
  EXPECT_EQ(split_words("$HOME `ls` *").value(), (words{"$HOME", "`ls`", "*"})) << "nothing is expanded";
  EXPECT_EQ(split_words("   ").value(), words{});
  EXPECT_EQ(split_words("a 'b").error().code, error_code::invalid_argument);
}

TEST(command_line, survives_being_joined_and_split) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"python", "train.py"}, {"a b", "c'd", "e\"f", "", "\\", "--x=1", "$y", "\n"}, {"~", "#", "a;b", "&"}})
    EXPECT_EQ(split_words(joined_words(words)).value(), words);
}

}  // namespace
}  // namespace sluice::processes
