// sluice diff: what it says of the same run, and of runs of different programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/programs.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::string recordings = SLUICE_SOURCE_DIR "/assets/recordings/";

program_result diff(const std::string& before, const std::string& after, const std::string& options = {}) {
  return run_shell(SLUICE_BINARY_DIR "/sluice diff " + recordings + before + " " + recordings + after + options);
}

TEST(diff, says_that_a_recording_does_not_differ_from_itself) {
  const program_result output = diff("pytorch-training.sluice", "pytorch-training.sluice");
  ASSERT_EQ(output.status, 0);
  EXPECT_THAT(output.out, StartsWith("No difference\na step 6.35 ms; idle "));
  EXPECT_THAT(output.out, Not(HasSubstr("What changed")));
  EXPECT_THAT(output.out, Not(HasSubstr("  gone  ")));
  EXPECT_THAT(output.out, HasSubstr("command line: the same (python3 train.py --model gpt --steps 120)"));
  EXPECT_THAT(output.out, HasSubstr("PYTORCH_CUDA_ALLOC_CONF, driver and framework versions: not recorded"));
}

TEST(diff, calls_recordings_of_other_programs_different_commands) {
  const program_result output = diff("overlap.sluice", "leak.sluice", " --format json");
  ASSERT_EQ(output.status, 0);
  const auto parsed = nlohmann::json::parse(output.out);
  EXPECT_EQ(parsed["verdict"]["headline"], "Different commands: sluice demo overlap and sluice demo leak");
  EXPECT_EQ(parsed["verdict"]["same_command"], false);
  EXPECT_EQ(parsed["settings"][0]["what"], "command line");
  EXPECT_EQ(parsed["settings"][0]["differs"], true);
  EXPECT_EQ(parsed["findings"]["new"].size(), parsed["verdict"]["findings_new"].size());
  EXPECT_FALSE(parsed["changed"].empty());
  EXPECT_FALSE(parsed["kernels"].empty());
  EXPECT_FALSE(parsed["copies"].empty());
}

}  // namespace
}  // namespace sluice
