// A program such as ssh on the other end of pipes: its error output is reported, and its length is limited.
#include "core/remote/connection.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <regex>

namespace sluice::remote {
namespace {

/// The error for a program that never sends its greeting.
error get_failure(const std::string& script, std::chrono::milliseconds most = std::chrono::seconds(20)) {
  const auto reached = connection::to_program({"/bin/sh", "-c", script}, "ssh://host/a", most, {});
  EXPECT_FALSE(reached);
  return reached ? error{} : reached.error();
}

TEST(connection, says_the_last_line_that_its_program_complained_of) {
  const error failed = get_failure("echo one >&2; echo two >&2; exit 1");
  EXPECT_EQ(failed.code, error_code::io);
  EXPECT_EQ(failed.message, "the connection has ended (two)");
}

TEST(connection, cuts_a_line_without_an_end_and_shows_no_control_characters) {
  const error failed = get_failure("printf '\\033[2J' >&2; head -c 10000000 /dev/zero | tr '\\0' '\\007' >&2; exit 1");
  EXPECT_LT(failed.message.size(), 600U);
  EXPECT_EQ(failed.message.find('\x07'), std::string::npos);
  EXPECT_NE(failed.message.find("\\x07\\x07"), std::string::npos) << failed.message;
  EXPECT_NE(failed.message.find("...)"), std::string::npos) << failed.message;
}

TEST(connection, bears_complaints_without_an_end) {
  const error failed = get_failure("yes 'warning: and so on' >&2", std::chrono::seconds(1));
  EXPECT_EQ(failed.code, error_code::io);
  // Where the last line was cut depends on how far the pipe was read when time was up.
  EXPECT_TRUE(std::regex_match(failed.message, std::regex("no reply \\([a-z :]+\\)"))) << failed.message;
}

TEST(connection, does_without_a_standard_error_that_its_program_closes) {
  EXPECT_EQ(get_failure("exec 2>&-; exit 1").message, "the connection has ended");
}

}  // namespace
}  // namespace sluice::remote
