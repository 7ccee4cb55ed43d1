// Command lines that must be refused, and how a verb says that it failed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::HasSubstr;

class command_line_test : public sluice_program {};

// Tried: a verb that does not exist.
TEST_F(command_line_test, an_unknown_verb_is_a_usage_error) {
  const outcome tried = run_sluice({"exfiltrate", "t.sluice"});
  EXPECT_EQ(tried.status, 2);
  EXPECT_THAT(tried.err, HasSubstr("exfiltrate"));
}

}  // namespace
}  // namespace sluice
