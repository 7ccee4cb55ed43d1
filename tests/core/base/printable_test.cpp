// How texts with control, direction and invisible characters are displayed.
#include "core/base/printable.hpp"

#include <gtest/gtest.h>

#include <simdjson.h>

#include <string>
#include <utility>
#include <vector>

namespace sluice {
namespace {

/// Characters that must be escaped, and how JSON writes them.
const std::vector<std::pair<std::string, std::string>> hidden = {
    {"\x01", "\\u0001"},
    {"\x1b", "\\u001b"},  // C0
    {"\t", "\\u0009"},
    {"\r", "\\u000d"},    //
    {"\x7f", "\\u007f"},  // DEL
    {"\u0080", "\\u0080"},
    {"\u009b", "\\u009b"},  // C1
    {"\u00ad", "\\u00ad"},
    {"\u061c", "\\u061c"},  // soft hyphen, Arabic letter mark
    {"\u200b", "\\u200b"},
    {"\u200f", "\\u200f"},  // zero width, right to left
    {"\u2028", "\\u2028"},
    {"\u202e", "\\u202e"},  // line separator, override
    {"\u2066", "\\u2066"},
    {"\ufeff", "\\ufeff"},  // isolate, byte order mark
    {"\ufe0f", "\\ufe0f"},
    {"\u3164", "\\u3164"},  // variation selector, filler
    {"\U000e0041", "\\udb40\\udc41"},
    {"\U000e01ef", "\\udb40\\uddef"}};  // tag, variation selector

TEST(printable, shows_what_is_hidden) {
  for (const auto& [character, escape] : hidden) {
    const std::string shown = printable("a" + character + "b");
    EXPECT_EQ(shown.find(character), std::string::npos) << escape;
    EXPECT_FALSE(is_printable(character)) << escape;
  }
  EXPECT_EQ(printable("\x1b[31m\u009b \u202e\U000e0041\xff\n\t"), "\\x1b[31m\\u{009b} \\u{202e}\\u{e0041}\\xff\\n\\t");
  EXPECT_EQ(printable("a\nb", line_ends::keep), "a\nb");
  for (const char* plain : {"", "plain \\ text", "Größe 漢字 🚀"}) EXPECT_TRUE(is_printable(plain)) << plain;
}

TEST(printable, of_json_escapes_as_json_does) {
  for (const auto& [character, escape] : hidden) EXPECT_EQ(printable_json("a" + character + "b"), "a" + escape + "b");
  for (const char* plain : {"", "[\n{\"a\": \"Größe 漢字 🚀 \\\\\"}\n]\n"}) EXPECT_EQ(printable_json(plain), plain);
  EXPECT_EQ(printable_json("\xff|\xe2\x80"), "\ufffd|\ufffd\ufffd");
}

TEST(printable, of_json_leaves_its_meaning) {
  for (const auto& [character, escape] : hidden) {
    if (static_cast<unsigned char>(character[0]) < 0x20) continue;  // JSON does not allow it unescaped.
    simdjson::dom::parser parser;
    auto read = parser.parse("[\"" + printable_json("x" + character + "y") + "\"]").at(0).get_string();
    EXPECT_EQ(read.value(), "x" + character + "y") << escape;
  }
}

}  // namespace
}  // namespace sluice
