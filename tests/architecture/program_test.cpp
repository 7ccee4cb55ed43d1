// The program starts, says who it is, and needs nothing installed but the C library.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/base/version.hpp"
#include "tests/architecture/shell.hpp"

namespace sluice::test {
namespace {

const std::string program = SLUICE_BINARY_DIR "/sluice";

TEST(program_test, names_its_version) {
  EXPECT_NE(output_of(program + " --version").find(version()), std::string::npos);
}

TEST(program_test, links_the_c_library_only) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring libraries of their own";
#endif
  const std::set<std::string> allowed{"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"};
  const auto needed = needed_libraries(program);
  ASSERT_FALSE(needed.empty()) << "objdump read nothing from " << program;
  for (const auto& name : needed) EXPECT_TRUE(allowed.contains(name)) << name << " is not on every server";
}

}  // namespace
}  // namespace sluice::test
