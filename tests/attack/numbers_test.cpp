// Invalid and nonsensical numbers in every option of every verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class numbers_test : public sluice_program {
 protected:
  /// Expects a one-line error that names the option and the value, and the exit status of a usage error.
  void expect_refused(std::vector<std::string> before, const std::string& option, const std::string& value,
                      std::vector<std::string> after = {}) {
    const int status = before.front() == "record" ? 125 : 2;
    std::vector<std::string> words = std::move(before);
    words.push_back(option + "=" + value);
    words.insert(words.end(), after.begin(), after.end());
    const program_result tried = run_sluice(words);
    EXPECT_EQ(tried.status, status) << option << "=" << value << ": " << tried.err;
    EXPECT_THAT(tried.err, AllOf(HasSubstr(option), HasSubstr("'" + value + "'"), HasSubstr("expected")))
        << option << "=" << value;
    EXPECT_EQ(std::count(tried.err.begin(), tried.err.end(), '\n'), 1) << tried.err;
    EXPECT_EQ(tried.out, "");
  }
};

const std::vector<std::string> no_numbers = {
    "nan",  "NaN",    "inf", "-inf", "-1",  "-0.5", "1e400", "0x",
    "0x10", "1 2",    "1s2", "",     "one", "--",   "1,5",   "99999999999999999999999",
    "+-1",  "1e30GiB"};

// Tried: text where a number of seconds or a factor is expected.
TEST_F(numbers_test, that_are_none_are_refused) {
  struct option {
    std::vector<std::string> verb;
    std::string name;
    std::vector<std::string> after;
  };
  const std::vector<std::string> command{"--", "/bin/true"};
  const std::vector<option> options = {
      {{"record", "-o", "t.sluice"}, "--linger", command},
      {{"record", "-o", "t.sluice"}, "--delay", command},
      {{"record", "-o", "t.sluice"}, "--duration", command},
      {{"record", "-o", "t.sluice"}, "--ring", command},
      {{"record", "-o", "t.sluice"}, "--trigger-peak", command},
      {{"demo", "leak", "-o", "t.sluice"}, "--seconds", {}},
      {{"generate", "-o", "t.sluice"}, "--events", {}},
      {{"generate", "-o", "t.sluice"}, "--seed", {}},
      {{"generate", "-o", "t.sluice"}, "--processes", {}},
      {{"import", "a.json"}, "--memory", {}},
#ifdef SLUICE_HAVE_GUI
      {{"open"}, "--memory", {}},
      {{"screenshot", "-o", "a.png"}, "--scale", {}},
      {{"screenshot", "-o", "a.png"}, "--frames", {}},
      {{"screenshot", "-o", "a.png"}, "--wait", {}},
#endif
  };
  for (const option& each : options)
    for (const std::string& value : no_numbers)
      if (!value.empty()) expect_refused(each.verb, each.name, value, each.after);
  EXPECT_FALSE(exists("t.sluice"));
}

// Tried: numbers outside the allowed range.
TEST_F(numbers_test, out_of_range_are_refused) {
  expect_refused({"record"}, "--ring", "1KiB", {"--", "/bin/true"});
  expect_refused({"record"}, "--ring", "20000PiB", {"--", "/bin/true"});
  expect_refused({"record"}, "--trigger-peak", "0", {"--", "/bin/true"});
  expect_refused({"record"}, "--linger", "1e7", {"--", "/bin/true"});
  expect_refused({"generate", "-o", "t.sluice"}, "--events", "0");
  expect_refused({"generate", "-o", "t.sluice"}, "--processes", "65");
  expect_refused({"import", "a.json"}, "--memory", "0");
}

// Tried: invalid time ranges in every verb that takes one.
TEST_F(numbers_test, ranges_that_are_none_are_refused) {
  ASSERT_EQ(run_sluice({"generate", "--events", "1000", "-o", "t.sluice"}).status, 0);
  const std::vector<std::vector<std::string>> verbs = {{"report", "t.sluice"},
                                                       {"export", "t.sluice", "-o", "a.json"},
                                                       {"trim", "t.sluice", "-o", "b.sluice"},
                                                       {"diff", "t.sluice", "t.sluice"}};
  for (const auto& verb : verbs) {
    for (const std::string range : {"nan:1s", "0s:inf", "1e400s:", ":99999999999999999999999s", "0x:1", "1:2:3",
                                    "1 s:2s", "one:two", "2s:1s", "1"}) {
      std::vector<std::string> words = verb;
      words.push_back("--range=" + range);
      const program_result tried = run_sluice(words);
      EXPECT_EQ(tried.status, 2) << verb[0] << " " << range;
      EXPECT_THAT(tried.err, HasSubstr("--range")) << verb[0] << " " << range;
    }
  }
}

#ifdef SLUICE_HAVE_GUI
// Tried: pictures without a size, and an invalid mouse position.
TEST_F(numbers_test, sizes_of_pictures_that_are_none_are_refused) {
  for (const std::string size :
       {"0x0", "-5x-5", "nanxnan", "99999999999x64", "1600", "1600x", "1600x900x", "1e3x1e3"}) {
    const program_result tried = run_sluice({"screenshot", "-o", "a.png", "--size=" + size});
    EXPECT_EQ(tried.status, 2) << size;
    EXPECT_THAT(tried.err, AllOf(HasSubstr("--size"), HasSubstr(size)));
  }
  for (const std::string place : {"nan,nan", "1", "1,", "-1,-1", "1e300,1"})
    EXPECT_EQ(run_sluice({"screenshot", "-o", "a.png", "--mouse=" + place}).status, 2) << place;
}
#endif

// Tried: invalid numbers in environment variables.
TEST_F(numbers_test, in_the_environment_are_checked_too) {
  for (const std::string value : {"nan", "-1", "101", "0x", "99999999999999999999"}) {
    const program_result tried =
        run_sluice({"record", "-o", "t.sluice", "--", "/bin/true"}, {{"SLUICE_FIND_DUPLICATES", value}});
    EXPECT_EQ(tried.status, 125) << value;
    EXPECT_THAT(tried.err, HasSubstr(value));
  }
  for (const std::string value : {"nan", "-1", "1e9", "99999999999999999999"}) {
    const program_result tried =
        run_sluice({"record", "-o", "t.sluice", "--", "/bin/true"}, {{"SLUICE_RING_BYTES", value}});
    EXPECT_EQ(tried.status, 125) << value;
    EXPECT_THAT(tried.err, AllOf(HasSubstr("SLUICE_RING_BYTES"), HasSubstr(value)));
  }
}

}  // namespace
}  // namespace sluice
