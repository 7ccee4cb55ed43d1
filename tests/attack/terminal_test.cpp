// Names with terminal control sequences, reversed text or spreadsheet formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/app/cli/sluice_program.hpp"
#include "tests/core/recordings/recording.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using testing::mib;
using testing::ms;
using ::testing::Not;

/// A text that sets the title, beeps, sets colours with C1 codes, reverses and hides text, and contains a newline and
/// invalid UTF-8.
const std::string hostile =
    "\x1b]0;owned\x07 \xc2\x9b"
    "31m \xe2\x80\xae"
    "evil \xe2\x80\x8b \r\n fake line \xff";

class terminal : public sluice_program {
 protected:
  void SetUp() override {
    testing::recording recorded;
    recorded.standard_tables();
    recorded.add_alloc(1 * ms, 1, 64 * mib, trace::memory_kind::device, trace::layer::framework, hostile);
    recorded.add_alloc(2 * ms, 2, 32 * mib, trace::memory_kind::device, trace::layer::driver, "=HYPERLINK(\"x\")");
    recorded.add_kernel(3 * ms, 9 * ms, hostile);
    recorded.add_kernel(9 * ms, 10 * ms, "@SUM(1+1)");
    recorded.add_call(3 * ms, 4 * ms, hostile);
    static_cast<void>(recorded.writer().close());
    std::filesystem::copy_file(recorded.path(), file("t.sluice"));
  }

  /// Expects only printable characters and newlines.
  static void expect_tame(const std::string& text) {
    for (const char* each : {"\x1b", "\x07", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x80\x8b", "\r", "\xff"})
      EXPECT_THAT(text, Not(HasSubstr(each)));
  }
};

// Tried: escape sequences in the names of a kernel, an allocation and a call, in all human-readable output.
TEST_F(terminal, no_name_drives_it) {
  for (const std::vector<std::string>& verb :
       std::vector<std::vector<std::string>>{{"report", "t.sluice"},
                                             {"query", "t.sluice", "SELECT name FROM kernels"},
                                             {"diff", "t.sluice", "t.sluice"},
                                             {"trim", "t.sluice", "-o", "\x1b[2Jcut.sluice"},
                                             {"export", "t.sluice", "-o", "\x1b[2Jout.json"}}) {
    SCOPED_TRACE(verb[0]);
    const program_result done = run_sluice(verb);
    EXPECT_EQ(done.status, 0) << done.err;
    expect_tame(done.out);
    expect_tame(done.err);
  }
}

// Tried: escape sequences in the name of a missing file, in an error.
TEST_F(terminal, no_error_drives_it) {
  const program_result refused = run_sluice({"report",
                                             "\x1b[31m\xc2\x9b"
                                             "evil.sluice"});
  EXPECT_NE(refused.status, 0);
  expect_tame(refused.err);
  EXPECT_THAT(refused.err, HasSubstr("\\x1b[31m\\u{009b}evil.sluice"));
}

// Tried: names that a spreadsheet would run as formulas, in a CSV file.
TEST_F(terminal, no_cell_is_a_formula) {
  const program_result asked =
      run_sluice({"query", "t.sluice", "--format", "csv", "SELECT name, -1 AS below FROM kernels"});
  EXPECT_EQ(asked.status, 0) << asked.err;
  EXPECT_THAT(asked.out, HasSubstr("\"'@SUM(1+1)\",-1\n"));
  const program_result exported = run_sluice({"export", "t.sluice", "--table", "alloc", "-o", "a.csv"});
  EXPECT_EQ(exported.status, 0) << exported.err;
  EXPECT_THAT(make_content(file("a.csv")), HasSubstr("\"'=HYPERLINK(\"\"x\"\")\""));
}

}  // namespace
}  // namespace sluice
