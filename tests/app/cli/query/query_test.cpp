// sluice query and sluice export: command lines and their effects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/core/recordings/recording.hpp"
#include "tests/programs.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class query_verb : public ::testing::Test {
 protected:
  void SetUp() override {
    made_.standard_tables();
    for (int i = 0; i < 5; ++i) made_.add_copy(i * 10, i * 10 + 5, 1000);
    ASSERT_TRUE(made_.writer().close());
    folder_ = made_.path() + ".folder";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs `words`, split as in a shell; %F stands for the recording.
  program_result run(std::string words) const {
    for (auto at = words.find("%F"); at != std::string::npos; at = words.find("%F")) words.replace(at, 2, made_.path());
    return run_shell(SLUICE_BINARY_DIR "/sluice " + words, folder_.string());
  }

  testing::recording made_;
  fs::path folder_;
};

TEST_F(query_verb, results_in_three_forms) {
  const char* asked = "query %F 'SELECT count(*) AS copies, sum(bytes) AS bytes FROM transfer'";
  EXPECT_EQ(run(asked).out, "copies  bytes\n     5   5000\n");
  EXPECT_EQ(run(std::string(asked) + " --format csv").out, "copies,bytes\n5,5000\n");
  EXPECT_EQ(run(std::string(asked) + " --format json").out, "[\n{\"copies\": 5, \"bytes\": 5000}\n]\n");
  std::ofstream(folder_ / "query.sql") << "SELECT 1 AS a";
  EXPECT_EQ(run("query %F - --format csv < query.sql").out, "a\n1\n");
}

TEST_F(query_verb, mistakes_are_one_line_and_a_status_of_their_own) {
  for (const char* wrong : {"query %F 'SELEC 1'", "query %F 'DROP TABLE kernel'", "query %F",
                            "query %F 'SELECT nowhere FROM kernel'", "query %F 'SELECT 1' --format xml"}) {
    const program_result said = run(wrong);
    EXPECT_EQ(said.status, 2) << wrong;
    EXPECT_THAT(said.err, StartsWith("sluice: ")) << wrong;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << wrong;
    EXPECT_EQ(said.out, "") << wrong;
  }
  EXPECT_EQ(run("query nowhere.sluice 'SELECT 1'").status, 1);
}

TEST_F(query_verb, ends_an_endless_statement_when_its_time_is_up) {
  for (const char* endless : {"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c",
                              "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000)"
                              " SELECT count(*) FROM c a, c b, c d ORDER BY a.x * b.x - d.x"}) {
    const program_result said = run(std::string("query %F '") + endless + "' --timeout 0.2");
    EXPECT_EQ(said.status, 1) << endless;
    EXPECT_THAT(said.err, HasSubstr("the query exceeded its time limit")) << endless;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << endless;
  }
  EXPECT_EQ(run("query %F 'SELECT 1 AS a' --timeout 60 --format csv").out, "a\n1\n");
  EXPECT_EQ(run("query %F 'SELECT 1' --timeout 0").status, 2);
}

TEST_F(query_verb, ends_when_its_time_is_up_though_nobody_reads_the_result) {
  run("query %F 'WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c' --timeout 1 "
      "--format csv 2>said | (sleep 3; wc -c >size)");
  EXPECT_THAT(make_content(folder_ / "said"), HasSubstr("could not be interrupted"));
}

TEST_F(query_verb, lists_its_tables) { EXPECT_THAT(run("query --schema").out, HasSubstr("### transfers")); }

TEST_F(query_verb, exports_by_the_name_of_the_output) {
  EXPECT_EQ(run("export %F -o copies.csv --table transfer").status, 0);
  EXPECT_THAT(make_content(folder_ / "copies.csv"), StartsWith("id,time,"));
  EXPECT_EQ(run("export %F -o all.sqlite").status, 0);
  EXPECT_THAT(make_content(folder_ / "all.sqlite"), StartsWith("SQLite format 3"));
  EXPECT_THAT(run("export %F --format csv --table transfer -o - --range 0ns:12ns --only stream:1").out,
              HasSubstr("h2d"));
  EXPECT_EQ(run("export %F -o picture.xyz").status, 2);
  EXPECT_EQ(run("export %F -o copies.csv --table transfer").status, 2) << "the file exists already";
  EXPECT_EQ(run("export %F -o copies.csv --table transfer --force").status, 0);
  EXPECT_EQ(run("export %F -o copies.csv --table cow --force").status, 2) << "the table does not exist";
  EXPECT_EQ(run("export %F -o x.csv --only cow:1").status, 2);
}

}  // namespace
}  // namespace sluice
