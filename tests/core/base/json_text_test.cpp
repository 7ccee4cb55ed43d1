// Untrusted JSON: input that is refused before a tree is built from it, and the error positions that are reported.
#include "core/base/json/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace sluice {
namespace {

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::string objects_within(std::size_t levels) {
  std::string text;
  for (std::size_t i = 0; i < levels; ++i) text += "{\"a\":";
  return text + "1" + std::string(levels, '}');
}

std::string make_object(std::size_t members) {
  std::string text = "{";
  for (std::size_t i = 0; i < members; ++i)
    text.append(i == 0 ? "" : ",").append("\"").append(std::to_string(i)).append("\":[]");
  return text + "}";
}

void expect_refused(const std::string& text, const std::string& why, std::uint64_t offset) {
  const auto read = parse_json(text, "a file");
  ASSERT_FALSE(read) << text.substr(0, 80);
  EXPECT_EQ(read.error().code, error_code::corrupt);
  EXPECT_EQ(read.error().file, "a file");
  EXPECT_EQ(read.error().offset, offset) << text.substr(0, 80);
  EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().to_string().find('\n'), std::string::npos);
}

TEST(json_text, is_read_as_it_is_written) {
  const auto read = parse_json(R"({"b": [1, -2, 0.5, true, null], "a": "\"[{,:\\" })");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->dump(), R"({"b":[1,-2,0.5,true,null],"a":"\"[{,:\\"})");
}

TEST(json_text, is_refused_at_the_bracket_that_is_one_level_too_deep) {
  EXPECT_TRUE(parse_json(nested(max_json_levels)));
  EXPECT_TRUE(parse_json(objects_within(max_json_levels)));
  expect_refused(nested(max_json_levels + 1), "deeper than 100 levels", max_json_levels);
  expect_refused(objects_within(max_json_levels + 1), "deeper than 100 levels", 5 * max_json_levels);
  expect_refused(" {\"x\":" + nested(100'000) + "}", "deeper than 100 levels", 6 + max_json_levels - 1);
  expect_refused(std::string(100'000, '['), "deeper than 100 levels", max_json_levels);
  expect_refused(objects_within(100'000), "deeper than 100 levels", 5 * max_json_levels);
}

TEST(json_text, may_have_any_number_of_brackets_in_texts_and_beside_one_another) {
  EXPECT_TRUE(parse_json("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\""));
  std::string beside = "[[]";
  for (int i = 0; i < 1000; ++i) beside += ",[{}]";
  EXPECT_TRUE(parse_json(beside + "]"));
  const std::string level(100, '[');
  expect_refused(R"(["\\",)" + level + "]", "deeper", 6 + 99);
}

// nlohmann's parser compares each name with all previous names, so a million names would take an hour.
TEST(json_text, has_no_object_of_more_members_than_it_may) {
  EXPECT_TRUE(parse_json(make_object(max_json_members)));
  const std::string large = make_object(max_json_members + 1);
  expect_refused(large, "more than 256 members", large.rfind(':'));
  EXPECT_TRUE(parse_json("[" + make_object(max_json_members) + "," + make_object(max_json_members) + "]"));
  EXPECT_FALSE(parse_json("[{\"x\":{}}," + make_object(500'000) + "]"));
}

TEST(json_text, has_no_more_values_than_memory_is_set_aside_for) {
  std::string many = "[0";
  for (std::size_t i = 1; i < max_json_values; ++i) many += ",0";
  EXPECT_TRUE(parse_json(many + "]"));
  expect_refused(many + ",0]", "more than 1000000 values", many.size());
}

TEST(json_text, that_is_not_json_is_refused_where_it_is_wrong) {
  expect_refused("", "not JSON", 0);
  expect_refused("{", "not JSON", 1);
  expect_refused("[1,]", "not JSON", 3);
  expect_refused("[1] 2", "not JSON", 4);
  expect_refused("{\"a\": \"\xff\"}", "not JSON", 7);
  expect_refused("]]]]" + nested(1000), "deeper", 4 + max_json_levels);
  expect_refused("{\"a\" 1}", "not JSON", 5);
  expect_refused("{\"a\": \"" + std::string(1 << 20, 'x'), "not JSON", (1 << 20) + 7);
  expect_refused("\"\\", "not JSON", 2);
  expect_refused("[1e999]", "too large", error::no_offset);
  expect_refused(std::string("[1\0,2]", 6), "not JSON", 2);
}

TEST(json_text, is_written_with_invalid_bytes_replaced) {
  const nlohmann::ordered_json value{{"name", "a\xff"}, {"list", {1, 2}}};
  EXPECT_EQ(json_document(value), "{\n  \"name\": \"a\ufffd\",\n  \"list\": [\n    1,\n    2\n  ]\n}\n");
  EXPECT_EQ(json_line(value), "{\"name\":\"a\ufffd\",\"list\":[1,2]}");
}

TEST(json_text, of_a_string_escapes_what_json_must_not_contain) {
  std::string text = "x";
  append_json_string(text, "é \"\\\n\x01\xff");
  EXPECT_EQ(text, "x\"é \\\"\\\\\\u000a\\u0001\ufffd\"");
}

}  // namespace
}  // namespace sluice
