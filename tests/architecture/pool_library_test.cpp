// The pool's library is opened inside other people's programs: checks what it requires from the loader, and which symbols
// it exports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/architecture/shell.hpp"

namespace sluice::test {
namespace {

const std::string pool_library = SLUICE_BINARY_DIR "/libsluice_pool.so";

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // Sanitizers need their own libraries.
TEST(pool_library_file, needs_nothing_that_is_not_everywhere_and_no_newer_c_library_than_234) {
  const std::set<std::string> allowed{"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"};
  const auto needed = needed_libraries(pool_library);
  ASSERT_FALSE(needed.empty());
  for (const auto& name : needed) EXPECT_TRUE(allowed.contains(name)) << name;
  const std::string symbols = capture_output("objdump -T '" + pool_library + "'");
  const std::regex version(R"(GLIBC_2\.(\d+))");
  for (std::sregex_iterator it(symbols.begin(), symbols.end(), version), end; it != end; ++it) {
    EXPECT_LE(std::atoi((*it)[1].str().c_str()), 34) << it->str();
  }
}
#endif

TEST(pool_library_file, exports_its_functions_only) {
  const std::string symbols = capture_output("nm -D --defined-only '" + pool_library + "'");
  std::istringstream lines(symbols);
  int found = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    EXPECT_TRUE(name.starts_with("sluice_")) << name;
    ++found;
  }
  EXPECT_EQ(found, 23);
}

}  // namespace
}  // namespace sluice::test
