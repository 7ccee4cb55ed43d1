#include "app/cli/check/check_output.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using metrics::condition;
using metrics::quantity;
using metrics::verdict;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double gib = 1024.0 * 1024 * 1024;

/// The result for a recording whose peak exceeds its limit and whose file has a hostile name.
checked_recording hostile() {
  condition peak;
  peak.name = "max-peak";
  peak.limit = 1 * gib;
  peak.measured = 2 * gib;
  peak.status = verdict::not_met;
  peak.about = "framework tensors of GPU 0";
  peak.where = "a|b,c:d<e>\"f\"&%0A\n::error::@all: `x` ]]>";
  symbols::frame_line line;
  line.file = "/repo/src/we,ird:100%\nname.py";
  line.line = 12;
  line.function = "forward";
  peak.line = line;
  condition idle;
  idle.name = "max-idle";
  idle.kind = quantity::share;
  idle.limit = 0.2;
  idle.reason = "no kernel times were recorded";
  condition growth;
  growth.name = "max-growth";
  growth.kind = quantity::bytes_per_step;
  growth.limit = 1024;
  growth.measured = 0;
  growth.status = verdict::met;
  checked_recording recording;
  recording.path = "run.sluice";
  recording.conditions = {peak, idle, growth};
  recording.roots = {"/repo"};
  return recording;
}

/// The lines of `text`.
std::vector<std::string> get_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(check_output, text_is_a_table_with_what_to_look_at) {
  const std::string text = check_text(hostile(), check_format::text);
  EXPECT_THAT(text, HasSubstr("run.sluice: 1 met, 1 not met, 1 unknown\n"));
  EXPECT_THAT(text, HasSubstr("max-peak        2.00 GiB           1.00 GiB  not met  framework tensors of GPU 0"));
  EXPECT_THAT(text, HasSubstr("no kernel times were recorded"));
  EXPECT_THAT(text, HasSubstr("%0A\\n::error"));
}

TEST(check_output, json_has_numbers_and_words) {
  const auto read = nlohmann::json::parse(check_text(hostile(), check_format::json));
  EXPECT_EQ(read["schema"], "sluice.check");
  EXPECT_EQ(read["verdict"], "not_met");
  ASSERT_EQ(read["conditions"].size(), 3U);
  const auto& peak = read["conditions"][0];
  EXPECT_EQ(peak["limit"], 1073741824);
  EXPECT_TRUE(peak["limit"].is_number_integer());
  EXPECT_EQ(peak["line"]["line"], 12);
  EXPECT_EQ(read["conditions"][1]["verdict"], "unknown");
  EXPECT_TRUE(read["conditions"][1]["measured"].is_null());
  EXPECT_DOUBLE_EQ(read["conditions"][1]["limit"].get<double>(), 0.2);
}

TEST(check_output, junit_has_a_case_for_each_condition) {
  const std::string text = check_text(hostile(), check_format::junit);
  EXPECT_THAT(text, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"run.sluice\" name=\"max-growth\"/>"));
  EXPECT_THAT(text, HasSubstr("a|b,c:d&lt;e&gt;&quot;f&quot;&amp;%0A\\n::error::@all: `x` ]]&gt;"));
  EXPECT_THAT(text, HasSubstr("<error type=\"unknown\""));
}

TEST(check_output, markdown_cells_stay_cells) {
  const std::string text = check_text(hostile(), check_format::markdown);
  for (const std::string& line : get_lines(text)) {
    if (!line.starts_with('|')) continue;
    std::size_t borders = 0;
    for (std::size_t i = 0; i < line.size(); ++i) borders += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(borders, 7U) << line;
  }
  EXPECT_THAT(text, Not(HasSubstr("@all")));
  EXPECT_THAT(text, Not(HasSubstr("<e>")));
}

TEST(check_output, github_escapes_what_would_end_a_command) {
  const auto lines = get_lines(check_text(hostile(), check_format::github));
  ASSERT_EQ(lines.size(), 3U) << "two annotations and the summary";
  EXPECT_THAT(lines[0],
              HasSubstr("::error file=src/we%2Cird%3A100%25\\nname.py,line=12,title=sluice check%3A max-peak::"));
  EXPECT_THAT(lines[0], HasSubstr("%250A\\n::error::@all"));
  EXPECT_EQ(lines[1].find("::error title=sluice check%3A max-idle::"), 0U);
  EXPECT_EQ(lines[2], "sluice check: run.sluice: 1 met, 1 not met, 1 unknown");
}

TEST(check_output, github_names_no_file_twice_removed) {
  checked_recording recording = hostile();
  recording.conditions[0].line->file = "/repository/train.py";
  EXPECT_THAT(check_text(recording, check_format::github), HasSubstr("file=/repository/train.py,"));
}

TEST(check_output, what_grew_since_the_baseline_is_listed) {
  checked_recording recording = hostile();
  recording.baseline = "old.sluice";
  condition& peak = recording.conditions[0];
  peak.name = "baseline-peak";
  peak.baseline = 0.5 * gib;
  peak.lines = {{"train.py:20, forward", 0.25 * gib, 1.5 * gib}};
  peak.modules = {{"GPT2MLP.forward", 0.25 * gib, 1.5 * gib}};
  for (const auto as : {check_format::text, check_format::junit, check_format::markdown, check_format::github}) {
    const std::string text = check_text(recording, as);
    EXPECT_THAT(text, HasSubstr("line train.py:20, forward"));
    EXPECT_THAT(text, HasSubstr("module GPT2MLP.forward"));
    EXPECT_THAT(text, HasSubstr("256 MiB"));
  }
  const auto read = nlohmann::json::parse(check_text(recording, check_format::json));
  EXPECT_EQ(read["baseline"], "old.sluice");
  EXPECT_EQ(read["conditions"][0]["grown_modules"][0]["after_bytes"], 1610612736);
}

TEST(check_output, reads_sizes_and_shares) {
  EXPECT_EQ(size_named("20GiB"), std::uint64_t{20} << 30);
  EXPECT_EQ(size_named("1.5 GB"), 1'500'000'000U);
  EXPECT_EQ(size_named("2KB"), 2000U);
  EXPECT_EQ(size_named("2k"), 2000U);
  EXPECT_EQ(size_named("4096"), 4096U);
  for (const char* wrong : {"", "GiB", "-1GiB", "1.2.3", "20GiBs", "1e3", "99999999EiB", "nan"})
    EXPECT_FALSE(size_named(wrong)) << wrong;
  EXPECT_DOUBLE_EQ(share_named("5%").value_or(-1), 0.05);
  EXPECT_DOUBLE_EQ(share_named("5 %").value_or(-1), 0.05);
  EXPECT_DOUBLE_EQ(share_named("0.25").value_or(-1), 0.25);
  EXPECT_DOUBLE_EQ(share_named("100%").value_or(-1), 1);
  for (const char* wrong : {"", "%", "5", "101%", "-1%", "inf", "x%"}) EXPECT_FALSE(share_named(wrong)) << wrong;
}

TEST(check_output, knows_the_names_of_its_formats) {
  EXPECT_EQ(check_format_named("junit"), check_format::junit);
  EXPECT_EQ(check_format_named("github"), check_format::github);
  EXPECT_FALSE(check_format_named("xml"));
}

}  // namespace
}  // namespace sluice::cli
