// The program starts, identifies itself, and depends on no shared library except the C library.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "core/base/version.hpp"
#include "tests/architecture/shell.hpp"

namespace sluice::test {
namespace {

const std::string program = SLUICE_BINARY_DIR "/sluice";

TEST(program_test, names_its_version) {
  EXPECT_NE(capture_output(program + " --version").find(version()), std::string::npos);
}

TEST(program_test, links_the_c_library_only) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need their own libraries";
#endif
  const std::set<std::string> allowed{"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"};
  const auto needed = needed_libraries(program);
  ASSERT_FALSE(needed.empty()) << "objdump read nothing from " << program;
  for (const auto& name : needed) EXPECT_TRUE(allowed.contains(name)) << name << " is not on every server";
}

// Ubuntu 22.04 has 2.35, which the packages and the README promise. No GLIBCXX version may be required: that library is
// linked statically.
TEST(program_test, needs_no_newer_c_library_than235) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have their own requirements";
#endif
  const std::string symbols = capture_output("objdump -T '" + program + "'");
  const std::regex version(R"(GLIBC_2\.(\d+)[^\n]*)");
  int found = 0;
  for (std::sregex_iterator it(symbols.begin(), symbols.end(), version), end; it != end; ++it) {
    ++found;
    EXPECT_LE(std::stoi((*it)[1].str()), 35) << it->str();
  }
  EXPECT_GT(found, 0) << "objdump named no version";
  EXPECT_EQ(symbols.find("GLIBCXX"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
