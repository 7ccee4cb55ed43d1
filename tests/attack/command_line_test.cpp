// Command lines that verbs must refuse, and the errors that they print.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

class command_line_test : public sluice_program {};

// Tried: a verb that does not exist.
TEST_F(command_line_test, an_unknown_verb_is_a_usage_error) {
  const program_result tried = run_sluice({"exfiltrate", "t.sluice"});
  EXPECT_EQ(tried.status, 2);
  EXPECT_THAT(tried.err, HasSubstr("exfiltrate"));
}

// Tried: an empty output name, as from a script with an unset variable, for every verb that has an output.
TEST_F(command_line_test, an_output_without_a_name_is_a_usage_error) {
  ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", "a.sluice"}).status, 0);
  const std::vector<std::vector<std::string>> lists = {{"record", "-o", "", "--", "touch", "ran"},
                                                       {"record", "--output=", "--", "touch", "ran"},
                                                       {"trim", "a.sluice", "-o", ""},
                                                       {"merge", "a.sluice", "-o", ""},
                                                       {"import", "a.sluice", "-o", ""},
                                                       {"generate", "-o", ""},
                                                       {"demo", "leak", "--device", "sim", "-o", ""},
#ifdef SLUICE_HAVE_GUI
                                                       {"screenshot", "a.sluice", "-o", ""},
#endif
                                                       {"export", "a.sluice", "--format", "chrome", "-o", ""}};
  const auto there = std::distance(std::filesystem::directory_iterator(file(".")), {});
  for (const auto& words : lists) {
    const program_result tried = run_sluice(words);
    EXPECT_EQ(tried.status, words[0] == "record" ? 125 : 2) << words[0] << tried.err;
    EXPECT_EQ(std::count(tried.err.begin(), tried.err.end(), '\n'), 1) << tried.err;
    EXPECT_THAT(tried.err, HasSubstr("-o")) << words[0];
    EXPECT_EQ(tried.out, "") << words[0];
  }
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file(".")), {}), there);
}

// Tried: a table that does not exist.
TEST_F(command_line_test, an_unknown_table_is_a_usage_error) {
  ASSERT_EQ(run_sluice({"generate", "--events", "2000", "-o", "a.sluice"}).status, 0);
  for (const char* format : {"csv", "sqlite"}) {
    const program_result tried =
        run_sluice({"export", "a.sluice", "--format", format, "--table", "alloc", "--table", "secrets", "-o", "made"});
    EXPECT_EQ(tried.status, 2) << tried.err;
    EXPECT_THAT(tried.err, HasSubstr("unknown table 'secrets'"));
    EXPECT_THAT(tried.err, HasSubstr("alloc, ")) << "lists the existing tables";
    EXPECT_FALSE(exists("made"));
  }
}

}  // namespace
}  // namespace sluice
