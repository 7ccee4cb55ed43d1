#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/metrics/findings/descriptors.hpp"
#include "core/metrics/findings/shared/finder.hpp"

// Fixes as code, and for which framework a recording gets them.
namespace sluice::metrics::code_fixes_of_findings {
namespace {

using ::testing::AnyOf;

template <class Check>
void check_each_fix(Check&& check) {
  for (const finding_rule& rule : finding_rules_in_order)
    for (const code_fix& fix : rule.fixes) {
      SCOPED_TRACE(std::string(rule.word) + ", " + std::string(fix.framework) + ": " + std::string(fix.code));
      check(fix);
    }
}

TEST(code_fixes, are_one_to_three_short_lines_for_a_framework_that_is_known) {
  check_each_fix([](const code_fix& fix) {
    EXPECT_THAT(fix.framework, AnyOf("PyTorch", "CuPy", "JAX", "Numba", "CUDA C++"));
    EXPECT_LE(std::count(fix.code.begin(), fix.code.end(), '\n'), 2);
    EXPECT_FALSE(fix.code.empty() || fix.code.ends_with('\n'));
    std::size_t length = 0;
    for (const char each : fix.code) {
      length = each == '\n' ? 0 : length + 1;
      EXPECT_LE(length, 120U);
    }
  });
}

TEST(code_fixes, close_what_they_open_and_comment_as_their_language_does) {
  check_each_fix([](const code_fix& fix) {
    const bool cpp = fix.framework == "CUDA C++";
    EXPECT_EQ(fix.code.find(cpp ? "#" : "//"), std::string_view::npos);
    EXPECT_EQ(std::count(fix.code.begin(), fix.code.end(), '('), std::count(fix.code.begin(), fix.code.end(), ')'));
    EXPECT_EQ(std::count(fix.code.begin(), fix.code.end(), '"') % 2, 0);
  });
}

TEST(code_fixes, of_a_kind_differ_in_framework_or_case) {
  for (const finding_rule& rule : finding_rules_in_order) {
    std::vector<std::pair<std::string_view, std::string_view>> keys;
    for (const code_fix& fix : rule.fixes) keys.emplace_back(fix.framework, fix.when);
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end()) << rule.word;
  }
}

TEST(code_fixes, are_chosen_by_framework_and_case) {
  constexpr auto fixes =
      std::to_array<code_fix>({{"PyTorch", "a", "training"}, {"PyTorch", "b", "serving"}, {"CuPy", "c"}});
  EXPECT_EQ(choose_fix(fixes, "PyTorch", "serving"), "b");
  EXPECT_EQ(choose_fix(fixes, "PyTorch", ""), "") << "no fix is better than one for another case";
  EXPECT_EQ(choose_fix(fixes, "CuPy", "serving"), "c") << "a fix without a case helps in each";
  EXPECT_EQ(choose_fix(fixes, "", "training"), "");
}

/// The framework of a finding without a place, in a recording of one process.
std::string framework_of_recording(std::string_view command, trace::layer layer = trace::layer::driver) {
  report subject;
  subject.processes.emplace_back().command = command;
  subject.whole.memory.emplace_back().layer = layer;
  const trace::tables tables;
  const finder in{subject, tables, code_places(tables)};
  return in.find_framework({}, trace::layer::driver);
}

TEST(code_fixes, are_cuda_cpp_only_for_a_compiled_program) {
  EXPECT_EQ(framework_of_recording("/opt/solver/solve --steps 10"), "CUDA C++");
  for (const std::string_view command :
       {"python3 work.py", "/usr/bin/python3.11 x.py", "torchrun --nproc-per-node 2 x.py", "./train.py", "julia x.jl",
        "R -f x.R", ""})
    EXPECT_EQ(framework_of_recording(command), "") << command;
  EXPECT_EQ(framework_of_recording("/opt/Rendering/render"), "CUDA C++") << "not the interpreter R";
}

TEST(code_fixes, are_of_pytorch_where_its_allocator_was_recorded) {
  EXPECT_EQ(framework_of_recording("python3 train.py", trace::layer::framework), "PyTorch");
  EXPECT_EQ(framework_of_recording("", trace::layer::framework), "PyTorch");
}

TEST(code_fixes, follow_the_framework_in_the_stack_before_that_of_the_recording) {
  const report subject;
  const trace::tables tables;
  const finder in{subject, tables, code_places(tables)};
  code_place place;
  place.known = true;
  place.maker = "CuPy";
  EXPECT_EQ(in.find_framework(place, trace::layer::framework), "CuPy");
  place.maker.clear();
  place.line.kind = trace::frame_kind::python;
  EXPECT_EQ(in.find_framework(place, trace::layer::driver), "") << "Python without a known framework";
}

}  // namespace
}  // namespace sluice::metrics::code_fixes_of_findings
