// The glossary has each term once, with an explanation of two sentences.
#include "app/gui/window/glossary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace sluice::gui {
namespace {

/// The number of sentences. A sentence ends with a full stop, at the end of the text or before a space and a capital.
int sentences(std::string_view text) {
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '.' && (i + 1 == text.size() || text[i + 1] == ' ')) ++count;
  return count;
}

TEST(glossary, explains_each_term_in_two_sentences) {
  ASSERT_FALSE(all_terms().empty());
  for (const term& each : all_terms()) {
    EXPECT_EQ(sentences(each.explanation), 2) << each.name;
    EXPECT_TRUE(each.explanation.ends_with('.')) << each.name;
    EXPECT_LT(each.explanation.size(), 240U) << each.name;
  }
}

TEST(glossary, is_sorted_and_finds_every_term_in_either_case) {
  for (const term& each : all_terms()) {
    EXPECT_EQ(find_term(each.name), &each);
    std::string capital(each.name);
    capital[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(capital[0])));
    EXPECT_EQ(find_term(capital), &each);
  }
  EXPECT_EQ(find_term("no such word"), nullptr);
  EXPECT_EQ(find_term(""), nullptr);
}

TEST(glossary, has_each_layer_category_and_kind_of_memory_that_the_window_draws) {
  for (std::size_t i = 0; i < trace::layer_count; ++i)
    EXPECT_NE(find_term(get_term(static_cast<trace::layer>(i))), nullptr) << i;
  for (std::size_t i = 0; i < index::category_count; ++i)
    EXPECT_NE(find_term(get_term(static_cast<index::category>(i))), nullptr) << i;
  for (const auto kind : {trace::memory_kind::device, trace::memory_kind::pinned, trace::memory_kind::managed,
                          trace::memory_kind::host, trace::memory_kind::array})
    EXPECT_NE(find_term(get_term(kind)), nullptr);
  for (const char* word : {"layer", "reserved", "used", "fragmentation", "inferred", "untracked", "profiler overhead",
                           "whole GPU", "bandwidth", "link peak", "pageable", "pinned", "step"})
    EXPECT_NE(find_term(word), nullptr) << word;
}

}  // namespace
}  // namespace sluice::gui
