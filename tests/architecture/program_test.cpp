// The program starts and says who it is.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "core/version.hpp"

namespace {

std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 256> part{};
  while (pipe != nullptr && fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

TEST(Program, NamesItsVersion) {
  EXPECT_NE(output_of(SLUICE_BINARY_DIR "/sluice --version").find(sluice::version()), std::string::npos);
}

}  // namespace
