#include "core/base/format.hpp"

#include <gtest/gtest.h>

#include "core/base/signed_text.hpp"

namespace sluice {
namespace {

TEST(format, shows_bytes_in_binary_units) {
  EXPECT_EQ(format_bytes(std::uint64_t{0}), "0 B");
  EXPECT_EQ(format_bytes(std::uint64_t{1023}), "1023 B");
  EXPECT_EQ(format_bytes(std::uint64_t{1024}), "1.00 KiB");
  EXPECT_EQ(format_bytes(std::uint64_t{1536}), "1.50 KiB");
  EXPECT_EQ(format_bytes(1023.9 * 1024), "1.00 MiB");
  EXPECT_EQ(format_bytes(141.0 * (1 << 30)), "141 GiB");
  EXPECT_EQ(format_bytes(~std::uint64_t{0}), "16.0 EiB");
}

TEST(format, shows_rates_in_decimal_units) {
  EXPECT_EQ(format_rate(63e9), "63.0 GB/s");
  EXPECT_EQ(format_rate(9.3e9), "9.30 GB/s");
  EXPECT_EQ(format_rate(830e6), "830 MB/s");
  EXPECT_EQ(format_rate(3.35e12), "3350 GB/s");
}

TEST(format, shows_lengths_and_points_of_time) {
  EXPECT_EQ(format_time(450), "450 ns");
  EXPECT_EQ(format_time(12'340), "12.3 µs");
  EXPECT_EQ(format_time(999'999), "1.00 ms");
  EXPECT_EQ(format_time(2'000'000'000), "2.00 s");
  EXPECT_EQ(format_time(3'600'000'000'000), "3600 s");
  EXPECT_EQ(format_moment(0), "0 s");
  EXPECT_EQ(format_moment(200'000), "200.000 µs");
  EXPECT_EQ(format_moment(18'130'000), "18.130 ms");
  EXPECT_EQ(format_moment(2'314'159'265), "2.314159 s");
  EXPECT_EQ(format_moment(-5'000'000), "-5.000 ms");
}

TEST(format, never_shows_a_negative_zero) {
  EXPECT_EQ(format_share(-0.0), "0 %");
  EXPECT_EQ(format_bytes(-0.2), "0 B");
  EXPECT_EQ(format_rate(-0.0), "0 B/s");
  EXPECT_EQ(format_share(-0.25), "-25 %");
  EXPECT_EQ(format_share(-0.00001), "<0.1 %");
}

TEST(signed_text, has_the_sign_of_the_difference_unless_it_is_rounded_to_zero) {
  EXPECT_EQ(with_sign(0.12, "12 %"), "+12 %");
  EXPECT_EQ(with_sign(-3, "3.00 MiB"), "-3.00 MiB");
  EXPECT_EQ(with_sign(-0.001, "0 %"), "0 %");
  EXPECT_EQ(with_sign(-0.001, "0.0"), "0.0");
  EXPECT_EQ(with_sign(-0.0001, "<0.1 %"), "<0.1 %");
  EXPECT_EQ(with_sign(0, "0 %"), "0 %");
}

TEST(format, never_rounds_a_share_to_nothing_or_to_all) {
  EXPECT_EQ(format_share(0), "0 %");
  EXPECT_EQ(format_share(0.00001), "<0.1 %");
  EXPECT_EQ(format_share(0.004), "0.4 %");
  EXPECT_EQ(format_share(0.5), "50 %");
  EXPECT_EQ(format_share(0.99999), ">99.9 %");
  EXPECT_EQ(format_share(1), "100 %");
}

TEST(format, counts_in_words) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_some(1, "block"), "1 block");
  EXPECT_EQ(format_some(3, "block"), "3 blocks");
  EXPECT_EQ(format_some(2, "copy"), "2 copies");
}

TEST(format, reads_symbols_and_leaves_other_names) {
  EXPECT_EQ(readable_name("_Z4gemmPfi"), "gemm(float*, int)");
  EXPECT_EQ(readable_name("_Znonsense"), "_Znonsense");
  EXPECT_EQ(readable_name("gemm"), "gemm");
  EXPECT_EQ(shortened("abcdefgh", 6), "abc...");
  EXPECT_EQ(shortened("abc", 6), "abc");
  EXPECT_EQ(shortened("ab\xc3\xa4\xc3\xa4\xc3\xa4", 6), "ab...") << "not inside a character";
}

}  // namespace
}  // namespace sluice
