#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/metrics/findings/finding_rules.hpp"

namespace sluice::metrics {
namespace {

using ::testing::HasSubstr;

TEST(finding_rules, has_a_rule_for_every_kind_in_order) {
  const auto rules = finding_rules();
  ASSERT_EQ(rules.size(), finding_kind_count);
  EXPECT_EQ(rules.back().kind, finding_kind::idle_gaps);
  std::set<std::string_view> words;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    SCOPED_TRACE(rules[i].word);
    EXPECT_EQ(static_cast<std::size_t>(rules[i].kind), i);
    EXPECT_TRUE(words.insert(rules[i].word).second) << "two kinds have this word";
    for (const std::string_view text : {rules[i].means, rules[i].found_by, rules[i].cannot_see}) {
      EXPECT_TRUE(text.ends_with('.')) << text;
      EXPECT_EQ(text.find("  "), std::string_view::npos) << text;
    }
  }
}

TEST(finding_rules, are_found_by_their_word) {
  for (const finding_rule& each : finding_rules()) {
    EXPECT_EQ(get_word(each.kind), each.word);
    EXPECT_EQ(rule_named(each.word), &each);
  }
  EXPECT_EQ(get_word(finding_kind::held_late), "held_late");
  EXPECT_EQ(rule_named("waiting_host"), nullptr);
  EXPECT_EQ(rule_named(""), nullptr);
}

TEST(finding_rules, say_what_is_wrong_how_it_is_found_and_what_is_not) {
  const finding_rule& rule = *rule_named("cached_unused");
  const std::string text = to_text(rule);
  EXPECT_TRUE(text.starts_with("cached_unused\n"));
  for (const std::string_view part : {rule.means, rule.found_by, rule.cannot_see})
    EXPECT_THAT(text, HasSubstr(std::string(part)));
  EXPECT_FALSE(text.ends_with('\n'));
}

}  // namespace
}  // namespace sluice::metrics
