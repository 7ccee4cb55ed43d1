// sluice whatif: what it prints, and with what status it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct outcome {
  int status = -1;
  std::string said;
};

/// `errors`: what it says on the error output, else what it prints.
outcome whatif(const std::string& arguments, bool errors = false) {
  outcome made;
  const std::string to = errors ? " 2>&1 >/dev/null" : " 2>/dev/null";
  FILE* pipe = ::popen((SLUICE_BINARY_DIR "/sluice whatif " + arguments + to).c_str(), "r");
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) made.said.append(buffer, got);
  made.status = WEXITSTATUS(::pclose(pipe));
  return made;
}

const std::string graphed = SLUICE_SOURCE_DIR "/tests/data/trainings/graphed.sluice";

TEST(whatif, answers_for_the_usual_policies) {
  const outcome made = whatif(graphed + " --format json");
  ASSERT_EQ(made.status, 0);
  const auto all = nlohmann::json::parse(made.said);
  ASSERT_EQ(all["policies"].size(), 9U);
  EXPECT_EQ(all["policies"][0]["policy"], "native");
  EXPECT_EQ(all["policies"][0]["peak_reserved_bytes"], all["recorded"][0]["peak_reserved_bytes"]);
  EXPECT_EQ(all["native_error"]["segments"], 0);
  for (const auto& each : all["policies"]) {
    EXPECT_GE(each["peak_reserved_bytes"], each["peak_allocated_bytes"]) << each["policy"];
    EXPECT_EQ(each["devices"][0]["device"], 0);
    EXPECT_EQ(each["devices"][0]["peak_reserved_bytes"], each["peak_reserved_bytes"]);
  }
}

TEST(whatif, takes_any_setting_of_pytorch) {
  const outcome made =
      whatif(graphed + " --policy expandable_segments:True,roundup_power2_divisions:8 --policy max_split_size_mb:77");
  ASSERT_EQ(made.status, 0);
  EXPECT_THAT(made.said, HasSubstr("expandable_segments:True,roundup_power2_divisions:8"));
  EXPECT_THAT(made.said, HasSubstr("max_split_size_mb:77"));
  EXPECT_THAT(made.said, Not(HasSubstr("best fit")));
  EXPECT_EQ(whatif(graphed + " --device 0").status, 0);
}

TEST(whatif, says_in_a_line_what_is_wrong) {
  const outcome unknown = whatif(graphed + " --policy max_split:3", true);
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.said, HasSubstr("no allocator setting is called \"max_split\""));
  EXPECT_EQ(whatif(graphed + " --policy max_split_size_mb:3").status, 2);
  EXPECT_EQ(whatif(graphed + " --device 7").status, 2);
  const outcome none = whatif(SLUICE_SOURCE_DIR "/tests/data/trainings/plain_cuda.sluice", true);
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.said, HasSubstr("no allocations of PyTorch"));
}

}  // namespace
}  // namespace sluice
