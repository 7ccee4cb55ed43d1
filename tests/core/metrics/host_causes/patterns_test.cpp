#include "core/metrics/host_causes/patterns.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice::metrics {
namespace {

/// The obvious way: a star takes nothing, or one more character.
bool matches_slowly(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*')
    return matches_slowly(text, pattern.substr(1)) || (!text.empty() && matches_slowly(text.substr(1), pattern));
  return !text.empty() && text.front() == pattern.front() && matches_slowly(text.substr(1), pattern.substr(1));
}

TEST(patterns, a_star_stands_for_any_characters_and_a_bar_separates_alternatives) {
  EXPECT_TRUE(matches_any("libcudnn_graph.so.9", "libcublas*|libcudnn_graph*"));
  EXPECT_TRUE(matches_any("cublasLtMatmulAlgoGetHeuristic", "cublasLt*AlgoGetHeuristic*"));
  EXPECT_TRUE(matches_any("take_gil", "take_gil"));
  EXPECT_FALSE(matches_any("take_gil2", "take_gil"));
  EXPECT_FALSE(matches_any("mytake_gil", "take_gil|drop_gil"));
  EXPECT_FALSE(matches_any("anything", ""));
}

TEST(patterns, match_as_the_obvious_recursion_does) {
  std::mt19937 random(1);
  const auto text = [&](const char* letters, std::size_t kinds) {
    std::string made_up(random() % 9, ' ');
    for (char& c : made_up) c = letters[random() % kinds];
    return made_up;
  };
  int matched = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string subject = text("ab", 2), pattern = text("ab**", 4);
    matched += matches_pattern(subject, pattern) ? 1 : 0;
    ASSERT_EQ(matches_pattern(subject, pattern), matches_slowly(subject, pattern)) << subject << " and " << pattern;
  }
  EXPECT_GT(matched, 1000);
}

TEST(patterns, the_bare_name_of_a_function_has_no_types) {
  EXPECT_EQ(get_bare_name("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(get_bare_name("void at::native::(anonymous namespace)::add(at::Tensor const&)"),
            "at::native::(anonymous namespace)::add");
  EXPECT_EQ(get_bare_name("std::tuple<at::Tensor, at::Tensor> f<int (*)(char)>(int) const"), "f<int (*)(char)>");
  EXPECT_EQ(get_bare_name("at::native::run_conv_plan(cudnnContext*, cudnn_frontend::ExecutionPlan_v8 const&)"),
            "at::native::run_conv_plan");
  EXPECT_EQ(get_bare_name("at::native::f(at::Tensor const&)::{lambda()#1}::operator()() const"), "at::native::f");
  EXPECT_EQ(get_bare_name("operator new(unsigned long)"), "operator new");
  EXPECT_EQ(get_bare_name("std::function<void ()>::operator()() const"), "std::function<void ()>::operator()");
  EXPECT_EQ(get_bare_name(""), "");
}

TEST(patterns, the_bare_name_of_any_text_is_part_of_it) {
  std::mt19937 random(2);
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 20, ' ');
    for (char& c : text) c = "a:<>() "[random() % 7];
    EXPECT_NE(text.find(get_bare_name(text)), std::string::npos);
  }
}

}  // namespace
}  // namespace sluice::metrics
