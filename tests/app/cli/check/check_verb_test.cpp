// sluice check: command lines and exit statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string training = SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice";
const std::string leak = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";
const std::string pageable = SLUICE_SOURCE_DIR "/assets/recordings/pinned-vs-pageable.sluice";

class check_verb : public sluice_program {};

TEST_F(check_verb, status_says_whether_conditions_are_met) {
  EXPECT_EQ(run_sluice({"check", training, "--max-peak", "100GiB"}).status, 0);
  const program_result over = run_sluice({"check", training, "--max-peak", "1MiB"});
  EXPECT_EQ(over.status, 1);
  EXPECT_THAT(over.out, HasSubstr("max-peak"));
  EXPECT_THAT(over.out, HasSubstr("not met"));
  EXPECT_THAT(over.out, HasSubstr("framework tensors of GPU 0"));
  EXPECT_THAT(over.out, HasSubstr(".py:")) << "the line that holds the most memory";
}

TEST_F(check_verb, agrees_with_the_report) {
  const auto report = nlohmann::json::parse(run_sluice({"report", training, "--format", "json"}).out);
  std::uint64_t peak = 0;
  for (const auto& memory : report["memory"])
    if (memory["layer"] == "framework" && memory["kind"] == "device")
      peak = std::max(peak, memory["maximum_bytes"].get<std::uint64_t>());
  ASSERT_GT(peak, 0U);
  const auto checked = nlohmann::json::parse(
      run_sluice({"check", training, "--max-peak", std::to_string(peak), "--format", "json"}).out);
  EXPECT_EQ(checked["conditions"][0]["measured"], peak);
  EXPECT_EQ(checked["verdict"], "met");
  EXPECT_EQ(run_sluice({"check", training, "--max-peak", std::to_string(peak - 1)}).status, 1);
}

TEST_F(check_verb, a_leak_is_an_annotation) {
  const program_result found = run_sluice({"check", leak, "--no-leaks", "--format", "github"});
  EXPECT_EQ(found.status, 1);
  EXPECT_THAT(found.out, StartsWith("::error "));
  EXPECT_EQ(run_sluice({"check", pageable, "--no-leaks"}).status, 0);
}

TEST_F(check_verb, judges_growth_by_step) {
  EXPECT_EQ(run_sluice({"check", leak, "--max-growth", "700KiB"}).status, 1);
  EXPECT_EQ(run_sluice({"check", leak, "--max-growth", "1MiB"}).status, 0);
}

TEST_F(check_verb, judges_pageable_copies) {
  EXPECT_EQ(run_sluice({"check", pageable, "--max-pageable", "1%"}).status, 1);
  EXPECT_EQ(run_sluice({"check", pageable, "--max-pageable", "100%"}).status, 0);
}

TEST_F(check_verb, without_conditions_warnings_are_not_allowed) {
  const program_result said = run_sluice({"check", leak});
  EXPECT_EQ(said.status, 1);
  EXPECT_THAT(said.out, HasSubstr("errors and warnings"));
  EXPECT_EQ(run_sluice({"check", leak, "--fail-on", "error"}).status, 0);
}

TEST_F(check_verb, a_recording_meets_itself) {
  const program_result same = run_sluice({"check", training, "--baseline", training, "--tolerance", "0%"});
  EXPECT_EQ(same.status, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("baseline-peak"));
  EXPECT_THAT(same.out, HasSubstr("baseline-step-time"));
}

TEST_F(check_verb, what_cannot_be_judged_has_a_status_of_its_own) {
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"check", "nowhere.sluice"},
                                             {"check", training, "--max-peak", "many"},
                                             {"check", training, "--max-idle", "5"},
                                             {"check", training, "--fail-on", "cows"},
                                             {"check", training, "--tolerance", "3%"},
                                             {"check"}}) {
    const program_result said = run_sluice(wrong);
    EXPECT_EQ(said.status, 2) << wrong.back();
    EXPECT_THAT(said.err, StartsWith("sluice: ")) << wrong.back();
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << wrong.back();
    EXPECT_EQ(said.out, "") << wrong.back();
  }
  write("damaged.sluice", "this is no recording at all, but a line of text");
  EXPECT_EQ(run_sluice({"check", "damaged.sluice"}).status, 2);
  EXPECT_EQ(run_sluice({"check", leak, "--baseline", "nowhere.sluice"}).status, 2);
  const program_result unknown = run_sluice({"check", pageable, "--max-growth", "1MiB"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.out, HasSubstr("no steps were recorded"));
}

TEST_F(check_verb, prints_every_format) {
  for (const char* format : {"text", "json", "junit", "markdown", "github"}) {
    const program_result said =
        run_sluice({"check", training, "--max-peak", "1MiB", "--baseline", training, "--format", format});
    EXPECT_EQ(said.status, 1) << format;
    EXPECT_THAT(said.out, HasSubstr("max-peak")) << format;
  }
}

}  // namespace
}  // namespace sluice
