// Compares walking along the structure of JSON with a full parser.
#include "core/import/chrome/json_walk.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace sluice::importing {
namespace {

/// A text followed by the padding that the walk needs.
class document {
 public:
  explicit document(const std::string& text) : bytes_(text + std::string(json_index::margin, '}')), size_(text.size()) {
    fault = index.read(to_text());
  }
  [[nodiscard]] std::string_view to_text() const { return std::string_view(bytes_).substr(0, size_); }

  json_index index;
  json_fault fault = json_fault::none;

 private:
  std::string bytes_;
  std::size_t size_;
};

/// Appends names and plain values in the order in which a walk into each value visits them. Returns false if the JSON
/// is malformed.
bool list_all(const json_value& value, std::vector<std::string>& into) {
  json_walk walk(value);
  bool sound = true;
  if (value.is_object()) {
    sound = walk.object([&](std::string_view name, const json_value& member) {
      into.emplace_back(name);
      return list_all(member, into);
    });
  } else if (value.is_array()) {
    sound = walk.array([&](const json_value& element) { return list_all(element, into); });
  } else {
    into.emplace_back(value.token());
    return true;
  }
  return sound && walk.at_end();
}

/// As `list_all`, for a document that is an array.
bool list_document(const std::string& text, std::vector<std::string>& into) {
  const document output(text);
  if (output.fault != json_fault::none) return false;
  json_walk walk = output.index.walk();
  return walk.array([&](const json_value& element) { return list_all(element, into); }) && walk.at_end();
}

void list_all(const nlohmann::ordered_json& value, std::vector<std::string>& into) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      into.push_back(name);
      list_all(member, into);
    }
  } else if (value.is_array()) {
    for (const auto& element : value) list_all(element, into);
  } else {
    into.push_back(value.dump());
  }
}

class random_text {
 public:
  explicit random_text(std::uint64_t seed, bool plain_numbers) : random_(seed), numbers_(plain_numbers) {}

  std::string array(unsigned depth) {
    std::string text = "[";
    for (std::size_t i = 0, count = below(4); i < count; ++i) text += (i == 0 ? "" : ",") + blanks() + value(depth);
    return text + blanks() + "]";
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  std::string blanks() {
    static constexpr const char* some[] = {"", "", "", " ", "\n", "\t\r\n  "};
    return some[below(6)];
  }
  std::string string() {
    static constexpr const char* some[] = {R"("")", R"("a")", R"("}]{[:,")", R"("some longer text with blanks  ")",
                                           R"("ä€")"};
    return some[below(5)];
  }
  std::string object(unsigned depth) {
    std::string text = "{";
    for (std::size_t i = 0, count = below(4); i < count; ++i) {
      // No duplicate names: a full parser keeps only one of them.
      text += (i == 0 ? "" : ",") + blanks() + "\"" + std::to_string(i) + "{\"" + blanks() + ":" + blanks();
      text += value(depth) + blanks();
    }
    return text + blanks() + "}";
  }
  std::string value(unsigned depth) {
    const std::size_t code = below(6);
    if (depth > 0 && code < 2) return array(depth - 1) + blanks();
    if (depth > 0 && code < 4) return object(depth - 1) + blanks();
    static constexpr const char* words[] = {"true", "null", "-17", "25"};
    return (numbers_ && code == 5 ? words[below(4)] : string()) + blanks();
  }

  std::mt19937_64 random_;
  bool numbers_;
};

TEST(a_walk, comes_by_what_a_parser_finds) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    const std::string text = random_text(seed, true).array(5);
    std::vector<std::string> walked, parsed;
    ASSERT_TRUE(list_document(text, walked)) << text;
    list_all(nlohmann::ordered_json::parse(text), parsed);
    EXPECT_EQ(walked, parsed) << text;
  }
}

TEST(a_walk, into_everything_refuses_what_a_parser_refuses) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    std::string text = random_text(seed, false).array(4);
    std::vector<std::size_t> places;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      in_string ^= text[i] == '"';
      if (!in_string && std::string_view("[]{}:,").find(text[i]) != std::string_view::npos) places.push_back(i);
    }
    std::mt19937_64 random(seed);
    const std::size_t at = places[random() % places.size()];
    switch (random() % 3) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text[at] = "[]{}:,"[random() % 6];
        break;
      default:
        text.insert(at, 1, "[]{}:,"[random() % 6]);
    }
    std::vector<std::string> walked;
    const bool is_array = text.find_first_not_of(" \n\r\t") != std::string::npos && text.front() == '[';
    const bool sound = is_array && nlohmann::json::accept(text);
    refused += sound ? 0 : 1;
    EXPECT_EQ(list_document(text, walked), sound) << text;
  }
  EXPECT_GT(refused, 2'000U);
}

TEST(a_walk, passes_over_what_is_not_asked_for_by_its_brackets_alone) {
  const document output(R"([{"a": [{]}, "b" : 7 }])");
  ASSERT_EQ(output.fault, json_fault::none);
  std::vector<std::string> names;
  json_walk walk = output.index.walk();
  const bool sound = walk.elements([&](json_walk& at) {
    return at.object([&](std::string_view name, const json_value& value) {
      names.push_back(std::string(name) + "=" + std::string(value.token()));
      return true;
    });
  });
  EXPECT_TRUE(sound);
  EXPECT_EQ(names, (std::vector<std::string>{"a=[{]}", "b=7"}));
}

TEST(a_walk, ends_where_its_caller_has_enough) {
  const document output(R"([1, 2, 3])");
  std::vector<std::string> seen;
  json_walk walk = output.index.walk();
  EXPECT_FALSE(walk.array([&](const json_value& element) {
    seen.emplace_back(element.token());
    return seen.size() < 2;
  }));
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "2"}));
}

TEST(an_index, refuses_what_is_no_text_of_json) {
  EXPECT_EQ(document("[\"\xff\"]").fault, json_fault::not_utf8);
  EXPECT_EQ(document(R"(["a)").fault, json_fault::other);
  EXPECT_EQ(document("[\"a\nb\"]").fault, json_fault::other);
  EXPECT_EQ(document("  ").fault, json_fault::other);
  EXPECT_EQ(document("").fault, json_fault::other);
}

TEST(an_index, takes_one_text_after_the_other_of_any_length) {
  json_index index;
  for (const std::size_t strings : {1U, 100'000U, 3U, 200'000U}) {
    std::string text = "[";
    for (std::size_t i = 0; i < strings; ++i) text += "\"x\",";
    text.back() = ']';
    const std::size_t size = text.size();
    text += std::string(json_index::margin, ' ');
    ASSERT_EQ(index.read(std::string_view(text).substr(0, size)), json_fault::none);
    std::size_t seen = 0;
    EXPECT_TRUE(index.walk().array([&](const json_value&) { return ++seen != 0; }));
    EXPECT_EQ(seen, strings);
  }
}

TEST(an_index, resolves_escapes) {
  const document output(R"(["k\u0041\"\n\ud83d\ude00", "\x", "plain"])");
  ASSERT_EQ(output.fault, json_fault::none);
  EXPECT_TRUE(output.index.has_escapes());
  std::vector<std::string> texts;
  std::size_t senseless = 0;
  EXPECT_TRUE(output.index.walk().array([&](const json_value& element) {
    std::string text;
    if (output.index.unescape(element.unquoted(), text)) {
      texts.push_back(text);
    } else {
      ++senseless;
    }
    return true;
  }));
  EXPECT_EQ(texts, (std::vector<std::string>{"kA\"\n\xf0\x9f\x98\x80", "plain"}));
  EXPECT_EQ(senseless, 1U);
  EXPECT_FALSE(document(R"(["plain"])").index.has_escapes());
}

}  // namespace
}  // namespace sluice::importing
