// The verbs that make recordings from other recordings: their output and exit status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/programs.hpp"

namespace sluice {
namespace {

using ::testing::HasSubstr;

class recordings : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("sluice-recordings-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static program_result sluice(const std::string& arguments, const std::string& errors = "&1") {
    return run_shell(SLUICE_BINARY_DIR "/sluice " + arguments + " 2>" + errors);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

const std::string leak = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";
const std::string overlap = SLUICE_SOURCE_DIR "/assets/recordings/overlap.sluice";

TEST_F(recordings, are_generated_the_same_for_a_seed_and_repeated) {
  const auto output =
      sluice("generate --events 20000 --seed 5 --pattern inference --stacks all --processes 2 -o " + file("a.sluice"));
  EXPECT_EQ(output.status, 0) << output.out;
  EXPECT_THAT(output.out, HasSubstr("bytes per event"));
  EXPECT_EQ(sluice("report " + file("a.sluice")).status, 0);
  EXPECT_EQ(sluice("generate --tile " + leak + " --events 5000 -o " + file("b.sluice")).status, 0);
  EXPECT_EQ(sluice("report " + file("b.sluice")).status, 0);
  EXPECT_EQ(sluice("generate --events 0 -o " + file("c.sluice")).status, 2);
  EXPECT_EQ(sluice("generate --pattern dreaming -o " + file("c.sluice")).status, 2);
  EXPECT_NE(sluice("generate -o /nonexistent/c.sluice").status, 0);
  EXPECT_EQ(sluice("generate --tile " + file("b.sluice") + " -o " + file("b.sluice")).status, 2);
}

TEST_F(recordings, are_cut_redacted) {
  const auto cut = sluice("trim " + leak + " --range 100ms:300ms --redact -o " + file("cut.sluice"));
  EXPECT_EQ(cut.status, 0) << cut.out;
  EXPECT_THAT(cut.out, HasSubstr("from earlier"));
  const auto report = sluice("report " + file("cut.sluice"));
  EXPECT_EQ(report.status, 0);
  EXPECT_THAT(report.out, HasSubstr("[redacted]"));
  EXPECT_EQ(sluice("trim " + leak + " --range 5s:1s -o " + file("nothing.sluice")).status, 2);
  EXPECT_EQ(sluice("trim " + leak + " --range soon -o " + file("nothing.sluice")).status, 2);
  EXPECT_EQ(sluice("trim /nonexistent.sluice -o " + file("nothing.sluice")).status, 1);
  std::filesystem::copy_file(leak, file("own.sluice"));
  EXPECT_EQ(sluice("trim " + file("own.sluice") + " -o " + file("own.sluice")).status, 2);
  EXPECT_EQ(std::filesystem::file_size(file("own.sluice")), std::filesystem::file_size(leak))
      << "the recording is unchanged";
}

TEST_F(recordings, are_put_together) {
  const auto merged = sluice("merge " + leak + " " + overlap + " -o " + file("both.sluice"));
  EXPECT_EQ(merged.status, 0) << merged.out;
  EXPECT_THAT(merged.out, HasSubstr("CLOCK_REALTIME"));
  EXPECT_EQ(sluice("report " + file("both.sluice")).status, 0);
  EXPECT_EQ(sluice("merge " + leak + " -o " + file("one.sluice")).status, 2);
}

TEST_F(recordings, are_compared) {
  const auto text = sluice("diff " + leak + " " + overlap);
  EXPECT_EQ(text.status, 0) << text.out;
  EXPECT_THAT(text.out, HasSubstr("Memory, peaks"));
  const auto same = nlohmann::json::parse(sluice("diff --format json " + leak + " " + leak).out);
  for (const auto& memory : same.at("memory")) {
    EXPECT_EQ(memory.at("before"), memory.at("after"));
    for (const auto& site : memory.at("at_peak")) EXPECT_EQ(site.at("before"), site.at("after"));
  }
  EXPECT_EQ(sluice("diff " + leak + " --range 0:200ms --against 200ms:400ms").status, 0);
  EXPECT_EQ(sluice("diff " + leak).status, 2);
  EXPECT_EQ(sluice("diff " + leak + " " + leak + " " + leak).status, 2);
}

TEST_F(recordings, are_compared_by_causes_of_idle_time) {
  const std::string sampled = file("sampled.sluice"), other = file("other.sluice");
  EXPECT_EQ(sluice("generate --host-samples --events 20000 -o " + sampled).status, 0);
  EXPECT_EQ(sluice("generate --host-samples --events 60000 --seed 2 -o " + other).status, 0);
  const std::string text = sluice("diff " + sampled + " " + other).out;
  EXPECT_THAT(text, HasSubstr("\nIdle time\n  GPU 0: idle "));
  EXPECT_THAT(text, HasSubstr("GPU 0: changed causes of idle time\n"));
  const std::string document = sluice("diff --format json " + sampled + " " + other, "/dev/null").out;
  const auto idle = nlohmann::json::parse(document).at("idle").at(0);
  std::int64_t before = 0, after = 0;
  bool compiles = false;
  for (const auto& cause : idle.at("causes")) {
    before += cause.at("before_ns").get<std::int64_t>();
    after += cause.at("after_ns").get<std::int64_t>();
    compiles = compiles || cause.at("reason") == "nvrtc_compile";
  }
  EXPECT_TRUE(compiles) << idle.dump(1);
  EXPECT_EQ(before, idle.at("before").at("idle_ns"));
  EXPECT_EQ(after, idle.at("after").at("idle_ns"));
}

}  // namespace
}  // namespace sluice
