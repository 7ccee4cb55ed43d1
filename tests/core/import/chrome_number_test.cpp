#include "core/import/chrome_number.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice::importing {
namespace {

std::string digits(std::mt19937_64& random, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('0' + random() % 10);
  return text;
}

/// What profilers write is read eight digits at a time, anything else digit by digit: an exponent says nothing, but makes it the second.
TEST(thousandths, are_the_same_read_at_once_and_digit_by_digit) {
  std::mt19937_64 random(7);
  for (std::size_t whole = 1; whole <= 15; ++whole)
    for (int i = 0; i < 200; ++i) {
      const std::string text = digits(random, whole) + '.' + digits(random, 3);
      const auto at_once = parse_thousandths(text);
      ASSERT_TRUE(at_once) << text;
      EXPECT_EQ(at_once, parse_thousandths(text + "e0")) << text;
      EXPECT_EQ(*at_once, std::stoll(text.substr(0, whole) + text.substr(whole + 1))) << text;
    }
}

TEST(integers, are_the_same_read_at_once_and_digit_by_digit) {
  std::mt19937_64 random(8);
  for (std::size_t count = 1; count <= 18; ++count)
    for (int i = 0; i < 200; ++i) {
      const std::string text = digits(random, count);
      ASSERT_EQ(parse_integer(text), std::stoll(text)) << text;
      EXPECT_EQ(parse_integer(text), parse_integer(text + "e0")) << text;
    }
}

TEST(numbers, are_none_whatever_else_stands_for_a_digit) {
  const std::string thousandths = "123456789012345.678", integer = "123456789012345678";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if ((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E') continue;
    for (std::size_t at = 0; at < thousandths.size(); ++at) {
      if ((at == 0 && c == '-') || thousandths[at] == '.') continue;
      std::string text = thousandths;
      text[at] = c;
      EXPECT_FALSE(parse_thousandths(text)) << "byte " << byte << " at " << at;
    }
    for (std::size_t at = 0; at < integer.size(); ++at) {
      if (at == 0 && c == '-') continue;
      std::string text = integer;
      text[at] = c;
      EXPECT_FALSE(parse_integer(text)) << "byte " << byte << " at " << at;
    }
  }
}

}  // namespace
}  // namespace sluice::importing
