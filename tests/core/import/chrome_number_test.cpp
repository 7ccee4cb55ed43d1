#include "core/import/common/number.hpp"

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

/// The number in `text`, followed by `behind` and more characters that are not part of the number.
std::string_view with_margin(std::string& text, char behind) {
  const std::size_t size = text.size();
  text.append(number_margin, behind);
  return std::string_view(text).substr(0, size);
}

TEST(quick_numbers, are_what_is_read_digit_by_digit) {
  std::mt19937_64 random(8);
  for (std::size_t count = 1; count <= 16; ++count)
    for (int i = 0; i < 200; ++i) {
      std::string integer = digits(random, count), thousandths = integer + '.' + digits(random, 3);
      const char behind = static_cast<char>(random() % 256);
      std::uint64_t whole = 0;
      ASSERT_TRUE(quick_integer(with_margin(integer, behind), whole)) << integer;
      integer.resize(count);
      EXPECT_EQ(whole, std::stoull(integer)) << integer;
      EXPECT_EQ(parse_integer(integer), static_cast<std::int64_t>(whole)) << integer;
      std::int64_t time = 0;
      const bool is_time = quick_thousandths(with_margin(thousandths, behind), time);
      thousandths.resize(count + 4);
      ASSERT_EQ(is_time, parse_thousandths(thousandths).has_value()) << thousandths;
      if (!is_time) continue;  // The number exceeds 64 bits.
      EXPECT_EQ(parse_thousandths(thousandths), time) << thousandths;
      EXPECT_EQ(time, std::stoll(integer + thousandths.substr(count + 1))) << thousandths;
    }
}

/// Whatever the fast parser accepts, the full parser reads as the same value; the full parser accepts more.
TEST(quick_numbers, are_none_where_anything_else_stands) {
  std::mt19937_64 random(9);
  const std::string content = "0123456789.-+eE \"\n\xb0";
  std::size_t taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text = digits(random, random() % 22);
    if (!text.empty() && random() % 2 == 0)
      text[text.size() - 1 - random() % std::min<std::size_t>(text.size(), 5)] = '.';
    if (!text.empty() && random() % 3 == 0) text[random() % text.size()] = content[random() % content.size()];
    const std::size_t size = text.size();
    std::uint64_t whole = 0;
    std::int64_t time = 0;
    const std::string_view given = with_margin(text, '7');
    const bool is_integer = quick_integer(given, whole), is_time = quick_thousandths(given, time);
    text.resize(size);
    if (is_integer) {
      EXPECT_EQ(parse_integer(text), static_cast<std::int64_t>(whole)) << text;
    }
    if (is_time) {
      EXPECT_EQ(parse_thousandths(text), time) << text;
    }
    taken += is_time ? 1 : 0;
  }
  EXPECT_GT(taken, 10'000U);
}

TEST(numbers, are_none_whatever_else_stands_for_a_digit) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if ((c >= '0' && c <= '9') || c == '.' || c == 'e' || c == 'E') continue;
    const auto is_none = [&](const std::string& good) {
      for (std::size_t at = 0; at < good.size(); ++at) {
        if ((at == 0 && c == '-') || good[at] == '.') continue;
        std::string text = good;
        text[at] = c;
        EXPECT_FALSE(parse_thousandths(text)) << "byte " << byte << " at " << at;
        std::uint64_t whole = 0;
        std::int64_t time = 0;
        EXPECT_FALSE(quick_integer(with_margin(text, '0'), whole)) << "byte " << byte << " at " << at;
        EXPECT_FALSE(quick_thousandths(std::string_view(text).substr(0, good.size()), time))
            << "byte " << byte << " at " << at;
      }
    };
    is_none("123456789012345.678");
    is_none("1234567890123456");
    is_none("12345");
    is_none("1.234");
  }
}

}  // namespace
}  // namespace sluice::importing
