// Sizes on the command line.
#include "app/cli/options/number_option.hpp"

#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>

namespace sluice {
namespace {

TEST(sizes, are_read_with_their_units) {
  EXPECT_EQ(cli::parse_bytes("64MiB", false), std::uint64_t{64} << 20);
  EXPECT_EQ(cli::parse_bytes("64mb", false), std::uint64_t{64} << 20);
  EXPECT_EQ(cli::parse_bytes("400M", true), 400'000'000U);
  EXPECT_EQ(cli::parse_bytes("1 GiB", true), std::uint64_t{1} << 30);
  EXPECT_EQ(cli::parse_bytes("4096", true), 4096U);
  EXPECT_EQ(cli::parse_bytes("17EiB", false), std::nullopt);
  EXPECT_EQ(cli::parse_bytes("MiB", false), std::nullopt);
}

}  // namespace
}  // namespace sluice
