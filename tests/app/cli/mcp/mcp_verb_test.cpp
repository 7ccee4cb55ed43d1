// sluice mcp: requests to the program and its replies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "app/cli/mcp/results.hpp"
#include "tests/app/cli/sluice_program.hpp"

namespace sluice {
namespace {

using json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string training = SLUICE_SOURCE_DIR "/assets/recordings/pytorch-training.sluice";
const std::string leak = SLUICE_SOURCE_DIR "/assets/recordings/leak.sluice";

class mcp_verb : public sluice_program {
 protected:
  /// The replies of `sluice mcp` to `input`, which contains one request per line.
  std::vector<json> conversation(const std::string& input) {
    write("input", input);
    const auto [status, answers, errors] = run_program({.words = {program_, "mcp"}, .input = file("input")});
    EXPECT_EQ(status, 0) << errors;
    std::vector<json> jsons;
    std::istringstream in(answers);
    for (std::string line; std::getline(in, line);) {
      jsons.push_back(json::parse(line, nullptr, false));
      EXPECT_FALSE(jsons.back().is_discarded()) << line.substr(0, 200);
    }
    return jsons;
  }

  /// The content of one tool call's result, without the marks around text that is quoted from recordings.
  json call(const std::string& tool, const json& arguments, bool expect_error = false) {
    const json request = {{"jsonrpc", "2.0"},
                          {"id", 1},
                          {"method", "tools/call"},
                          {"params", {{"name", tool}, {"arguments", arguments}}}};
    const auto results = conversation(request.dump() + "\n");
    if (results.size() != 1 || !results[0].contains("result")) {
      ADD_FAILURE() << "no result of " << tool;
      return json::array({{{"text", "{}"}}});
    }
    EXPECT_EQ(results[0]["result"]["isError"], expect_error) << results[0].dump().substr(0, 500);
    std::size_t bytes = 0;
    for (const json& block : results[0]["result"]["content"])
      if (block["type"] == "text") bytes += block["text"].get<std::string>().size();
    EXPECT_LE(bytes, 21U << 10) << tool;
    json content = results[0]["result"]["content"];
    const bool marked = content[0]["text"] == cli::mcp::data_mark;
    EXPECT_EQ(marked, tool != "tables") << tool;
    if (marked) content.erase(0);
    return content;
  }
  json read(const std::string& tool, const json& arguments) {
    return json::parse(call(tool, arguments)[0]["text"].get<std::string>());
  }
};

TEST_F(mcp_verb, begins_and_lists_its_tools) {
  const auto results = conversation(
      R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}})"
      "\n"
      R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
      "\n"
      R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"
      "\n");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0]["result"]["protocolVersion"], "2025-06-18");
  std::vector<std::string> names;
  for (const json& tool : results[1]["result"]["tools"]) names.push_back(tool["name"]);
  EXPECT_THAT(names, ::testing::IsSupersetOf(
                         {"findings", "report", "query", "tables", "blocks_at", "diff", "check", "whatif"}));
  EXPECT_EQ(make_content(file("said")), "") << "only errors are logged";
}

TEST_F(mcp_verb, findings_are_those_of_the_report) {
  const auto report = json::parse(run_sluice({"report", leak, "--format", "json"}).out);
  EXPECT_EQ(read("findings", {{"file", leak}})["findings"], report["findings"]);
  const json warnings = read("findings", {{"file", leak}, {"severity", "warning"}})["findings"];
  ASSERT_GT(warnings.size(), 0U);
  for (const json& each : warnings) EXPECT_NE(each["severity"], "info");
}

TEST_F(mcp_verb, report_is_short_and_its_sections_are_those_of_the_json) {
  EXPECT_THAT(call("report", {{"file", training}})[0]["text"].get<std::string>(), HasSubstr("Memory"));
  const auto report = json::parse(run_sluice({"report", training, "--format", "json"}).out);
  EXPECT_EQ(read("report", {{"file", training}, {"section", "active"}}), report["active"]);
  const json content = call("report", {{"file", training}, {"section", "memory"}});
  ASSERT_EQ(content.size(), 2U) << "this section is longer than 20 KB";
  EXPECT_THAT(content[1]["text"].get<std::string>(), StartsWith("Truncated to "));
  EXPECT_TRUE(json::parse(content[0]["text"].get<std::string>()).is_array());
  EXPECT_THAT(call("report", {{"file", training}, {"section", "cows"}}, true)[0]["text"].get<std::string>(),
              HasSubstr("choose one of"));
}

TEST_F(mcp_verb, says_why_the_gpu_was_idle) {
  const std::string sampled = file("sampled.sluice");
  ASSERT_EQ(run_sluice({"generate", "--host-samples", "--events", "60000", "-o", sampled}).status, 0);
  const json device = read("report", {{"file", sampled}, {"section", "idle"}}).at(0);
  double share = 0;
  for (const json& cause : device["causes"]) share += cause["share"].get<double>();
  EXPECT_NEAR(share, device["idle_share"].get<double>(), 1e-9) << "the causes explain all of it";
  const auto find = [&](std::string_view reason) {
    for (const json& cause : device["host"])
      if (cause["reason"] == reason) return cause;
    ADD_FAILURE() << reason << " is not in " << device["host"].dump(1);
    return json();
  };
  const json loading = find("data_wait");
  EXPECT_GT(loading["share"].get<double>(), 0);
  EXPECT_THAT(loading["line"].get<std::string>(), HasSubstr("train.py:90"));
  EXPECT_TRUE(loading["recurs"].get<bool>());
  EXPECT_THAT(loading["code"].get<std::string>(), HasSubstr("num_workers"));
  EXPECT_FALSE(find("nvrtc_compile")["recurs"].get<bool>());
  const json findings = read("findings", {{"file", sampled}})["findings"];
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const json& each) {
    const std::string fix = each["advice"].get<std::string>() + each.value("fix_code", "");
    return each["kind"] == "idle_gaps" && fix.find("num_workers") != std::string::npos;
  })) << findings.dump(1);
}

TEST_F(mcp_verb, query_results_at_most_200_rows) {
  const json content = call("query", {{"file", training}, {"sql", "SELECT id FROM alloc"}});
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(json::parse(content[0]["text"].get<std::string>()).size(), 200U);
  EXPECT_THAT(content[1]["text"].get<std::string>(), StartsWith("Truncated to 200 rows"));
  EXPECT_EQ(call("query", {{"file", training}, {"sql", "SELECT 1 AS a"}})[0]["text"], "[\n{\"a\": 1}\n]\n");
  EXPECT_EQ(call("query", {{"file", training}, {"sql", "SELECT id FROM alloc"}, {"limit", 3}})[1]["text"],
            "Truncated to 3 rows; more exist. Select fewer, or use LIMIT and OFFSET.");
  const json one = call("query", {{"file", training}, {"sql", "SELECT printf('%.*c', 100000, 'x')"}});
  EXPECT_EQ(one[1]["text"], "Truncated to 20 KB. Narrow the request.");
  // A row that does not fit is left out, never cut.
  const json wide = call("query", {{"file", training}, {"sql", "SELECT id, printf('%.*c', 999, 'x') FROM alloc"}});
  EXPECT_EQ(json::parse(wide[0]["text"].get<std::string>()).size(), 19U);
  EXPECT_THAT(wide[1]["text"].get<std::string>(), StartsWith("Truncated to 19 rows"));
  call("query", {{"file", training}, {"sql", "DROP TABLE alloc"}}, true);
}

TEST_F(mcp_verb, tables_can_be_found) {
  bool found = false;
  for (const json& each : read("tables", json::object())) found = found || each["table"] == "alloc";
  EXPECT_TRUE(found);
  EXPECT_EQ(read("tables", {{"table", "alloc"}})[0]["column"], "id");
  call("tables", {{"table", "cow"}}, true);
}

TEST_F(mcp_verb, whatif_compares_settings_of_the_allocator) {
  const std::string graphed = SLUICE_SOURCE_DIR "/tests/data/trainings/graphed.sluice";
  const json array = read("whatif", {{"file", graphed}});
  const auto verb = json::parse(run_sluice({"whatif", graphed, "--format", "json"}).out);
  ASSERT_EQ(array["policies"].size(), 10U);
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_EQ(array["policies"][i]["peak_reserved_bytes"], verb["policies"][i]["peak_reserved_bytes"]);
  const json one = read("whatif", {{"file", graphed}, {"policy", "expandable_segments:True"}})["policies"];
  ASSERT_EQ(one.size(), 2U) << "native is there for comparison";
  EXPECT_EQ(one[1], array["policies"][1]);
  EXPECT_EQ(read("whatif", {{"file", graphed}, {"batch", "2x"}})["batch"]["law"], "assumed");
  EXPECT_THAT(call("whatif", {{"file", graphed}, {"policy", "cow"}}, true)[0]["text"].get<std::string>(),
              HasSubstr("no allocator setting is called"));
}

TEST_F(mcp_verb, blocks_at_the_peak_add_up_to_it) {
  const json at_peak = read("blocks_at", {{"file", training}});
  const json judged = read("check", {{"file", training}, {"max_peak", "100GiB"}});
  EXPECT_EQ(at_peak["live_bytes"], judged["conditions"][0]["measured"]);
  EXPECT_EQ(at_peak["layer"], "framework");
  ASSERT_GT(at_peak["largest"].size(), 1U);
  EXPECT_GE(at_peak["largest"][0]["bytes"], at_peak["largest"][1]["bytes"]);
  const json& block = at_peak["largest"][0];
  const json row = read(
      "query", {{"file", training}, {"sql", "SELECT bytes, id FROM alloc WHERE block = " + block["block"].dump()}})[0];
  EXPECT_EQ(row["bytes"], block["bytes"]);
  EXPECT_EQ(row["id"], block["event"]);
  EXPECT_EQ(read("blocks_at", {{"file", training}, {"time_ns", -1'000'000'000'000}})["live_blocks"], 0);
}

TEST_F(mcp_verb, check_and_diff_say_what_the_verbs_say) {
  const json judged = read("check", {{"file", leak}, {"no_leaks", true}});
  EXPECT_EQ(judged, json::parse(run_sluice({"check", leak, "--no-leaks", "--format", "json"}).out));
  const json same = read("diff", {{"before", leak}, {"after", leak}});
  EXPECT_EQ(same["before"], leak);
  EXPECT_TRUE(same["memory"].is_array());
  call("check", {{"file", leak}, {"max_peak", "many"}}, true);
}

TEST_F(mcp_verb, files_that_cannot_be_opened_are_errors_of_the_tool) {
  write("text.sluice", "no recording");
  for (const std::string& name : {std::string("/nowhere.sluice"), file("text.sluice"), std::string("/"), std::string()})
    EXPECT_NE(call("report", {{"file", name}}, true)[0]["text"], "") << name;
}

TEST_F(mcp_verb, a_picture_is_a_png_where_there_is_a_window) {
  const auto results = conversation(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})"
                                    "\n");
  ASSERT_EQ(results.size(), 1U);
  if (results[0].dump().find("\"screenshot\"") == std::string::npos) GTEST_SKIP() << "a build without the window";
  if (run_sluice({"screenshot", leak, "-o", "picture.png", "--size", "320x200"}).status != 0)
    GTEST_SKIP() << "no picture can be drawn here: " << make_content(file("err"));
  const json content = call("screenshot", {{"file", leak}, {"size", "320x200"}});
  EXPECT_EQ(content[0]["type"], "image");
  EXPECT_EQ(content[0]["mimeType"], "image/png");
  EXPECT_THAT(content[0]["data"].get<std::string>(), StartsWith("iVBORw0KGgo"));
  call("screenshot", {{"file", leak}, {"size", "0x0"}}, true);
}

TEST_F(mcp_verb, damaged_lines_leave_it_running) {
  const std::string whole = json{{"jsonrpc", "2.0"},
                                 {"id", 1},
                                 {"method", "tools/call"},
                                 {"params", {{"name", "query"}, {"arguments", {{"file", leak}, {"sql", "SELECT 1"}}}}}}
                                .dump();
  std::mt19937 random(2);  // NOLINT: a fixed seed, for the same damage in every run.
  std::string input;
  for (int i = 0; i < 300; ++i) {
    std::string line = whole;
    for (std::size_t times = random() % 3 + 1; times > 0 && !line.empty(); --times) {
      const std::size_t at = random() % line.size();
      if (random() % 2 == 0) {
        line[at] = static_cast<char>(random());
      } else {
        line.erase(at, random() % 20 + 1);
      }
    }
    input += line + "\n";
  }
  input += std::string(5U << 20, 'x') + "\n";                   // Longer than the server accepts.
  input += R"({"jsonrpc":"2.0","id":"last","method":"ping"})";  // Without a newline at the end.
  const auto results = conversation(input);
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results.back()["id"], "last");
  EXPECT_GT(results.size(), 250U);
}

}  // namespace
}  // namespace sluice
