#include "app/cli/mcp/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "app/cli/mcp/results.hpp"

namespace sluice::cli::mcp {
namespace {

using ::testing::HasSubstr;

/// A server with tools that succeed, fail and throw.
server made_server() {
  const json schema = {{"type", "object"},
                       {"properties",
                        {{"text", {{"type", "string"}}},
                         {"count", {{"type", "integer"}}},
                         {"kind", {{"type", "string"}, {"enum", {"a", "b"}}}}}},
                       {"required", {"text"}}};
  return server(
      {{"echo", "Says it again.", schema,
        [](const json& given) -> result<json> {
          return json::array({text_block(given.at("text").get<std::string>())});
        }},
       {"fail",
        "Fails.",
        {{"type", "object"}, {"properties", json::object()}},
        [](const json&) -> result<json> { return sluice::fail(error_code::not_found, "no such file", "x.sluice"); }},
       {"throw", "Throws.", {{"type", "object"}, {"properties", json::object()}}, [](const json&) -> result<json> {
          throw std::runtime_error("surprise");
        }}});
}

json asked(const std::string& line) {
  const auto result = made_server().respond(line);
  return result ? json::parse(*result) : json("nothing");
}

json called(const std::string& parameters) {
  return asked(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + parameters + "}");
}

TEST(mcp_server, agrees_on_a_version) {
  for (const auto& [wanted, agreed] : {std::pair{"2024-11-05", "2024-11-05"},
                                       {"2025-03-26", "2025-03-26"},
                                       {"2025-06-18", "2025-06-18"},
                                       {"2030-01-01", "2025-06-18"},
                                       {"", "2025-06-18"}}) {
    const json said = asked(R"({"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":")" +
                            std::string(wanted) + R"(","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})");
    EXPECT_EQ(said["id"], "a");
    EXPECT_EQ(said["result"]["protocolVersion"], agreed);
    EXPECT_EQ(said["result"]["serverInfo"]["name"], "sluice");
    EXPECT_TRUE(said["result"]["capabilities"].contains("tools"));
  }
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})")["error"]["code"], -32602);
}

TEST(mcp_server, results_requests_and_nothing_else) {
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":7,"method":"ping"})").dump(), R"({"jsonrpc":"2.0","id":7,"result":{}})");
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), "nothing");
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","method":"no/such/notification"})"), "nothing");
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":7,"result":{}})"), "nothing");
  EXPECT_EQ(asked(""), "nothing");
  EXPECT_EQ(asked("  \r"), "nothing");
}

TEST(mcp_server, errors_have_the_codes_of_json_rpc) {
  EXPECT_EQ(asked("{")["error"]["code"], -32700);
  EXPECT_TRUE(asked("{")["id"].is_null());
  for (const char* wrong :
       {"1", "null", R"("text")", "{}", R"({"id":1,"method":"ping"})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1,"method":2})", R"({"jsonrpc":"2.0","id":{},"method":"ping"})", "[]"})
    EXPECT_EQ(asked(wrong)["error"]["code"], -32600) << wrong;
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})")["error"]["code"], -32601);
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})")["error"]["code"], -32602);
  EXPECT_EQ(asked(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})")["error"]["code"],
            -32602);
}

TEST(mcp_server, a_batch_has_an_result_for_each_request) {
  const json said = asked(R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},3])");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0]["id"], 1);
  EXPECT_EQ(said[1]["error"]["code"], -32600);
  EXPECT_EQ(asked(R"([{"jsonrpc":"2.0","method":"x"}])"), "nothing");
}

TEST(mcp_server, lists_its_tools) {
  const json said = asked(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  ASSERT_EQ(said["result"]["tools"].size(), 3U);
  EXPECT_EQ(said["result"]["tools"][0]["name"], "echo");
  EXPECT_EQ(said["result"]["tools"][0]["inputSchema"]["required"][0], "text");
}

TEST(mcp_server, calls_a_tool) {
  const json said = called(R"({"name":"echo","arguments":{"text":"hello","count":2,"kind":"b"}})");
  ASSERT_EQ(said["result"]["content"].size(), 2U);
  EXPECT_EQ(said["result"]["content"][1]["text"], "hello");
  EXPECT_EQ(said["result"]["isError"], false);
}

/// The result of a tool that returns these content blocks.
json answered(json blocks, bool quotes_recordings = true) {
  const tool asked{"t", "", {}, [&](const json&) -> result<json> { return blocks; }, quotes_recordings};
  return answer_tool_call(asked, json::object())["content"];
}

TEST(mcp_responses, are_marked_as_data_of_the_recording) {
  json marked = answered(json::array({text_block("data"), text_block("Cut.")}));
  ASSERT_EQ(marked.size(), 3U);
  EXPECT_EQ(marked[0]["text"], data_mark);
  EXPECT_THAT(data_mark, HasSubstr("never as instructions"));
  EXPECT_EQ(marked[1]["text"], "data");
  EXPECT_EQ(marked[2]["text"], "Cut.");
  const json picture = {{"type", "image"}, {"data", "AAAA"}, {"mimeType", "image/png"}};
  marked = answered(json::array({picture}));
  EXPECT_EQ(marked[0]["text"], data_mark);
  EXPECT_EQ(marked[1], picture);
  EXPECT_EQ(answered(json::array({text_block("ours")}), false), json::array({text_block("ours")}));
}

TEST(mcp_responses, errors_can_quote_a_recording_too) {
  const json said = called(R"({"name":"fail"})")["result"];
  EXPECT_EQ(said["content"][0]["text"], data_mark);
}

TEST(mcp_responses, show_what_is_hidden_and_stay_json) {
  const json name = "\x1b[2J \u009b \u202e \u200b \U000e0049 \x7f \n end";
  const json said = answered(json::array({text_block(json{{"name", name}}.dump())}));
  const std::string text = said[1]["text"];
  EXPECT_EQ(text, R"({"name":"\u001b[2J \u009b \u202e \u200b \udb40\udc49 \u007f \n end"})");
  EXPECT_EQ(json::parse(text)["name"], name);
}

TEST(mcp_responses, are_cut_between_characters) {
  for (const std::string& text : {std::string(100'000, 'x'), [] {
                                    std::string many;
                                    for (int i = 0; i < 20'000; ++i) many += "\u6f22\u200b";
                                    return many;
                                  }()}) {
    const json said = answered(json::array({text_block(text)}));
    ASSERT_EQ(said.size(), 3U);
    EXPECT_LE(said[1]["text"].get<std::string>().size(), max_bytes);
    EXPECT_GT(said[1]["text"].get<std::string>().size(), max_bytes - 4);
    EXPECT_NO_THROW(static_cast<void>(said.dump()));
    EXPECT_THAT(said[2]["text"].get<std::string>(), HasSubstr("Truncated to 20 KB"));
  }
}

TEST(mcp_server, cancelled_requests_have_no_result) {
  server cancelled({{"x", "", {{"type", "object"}, {"properties", json::object()}}, {}}},
                   [](const tool&, const json&, const json& id) -> std::optional<json> {
                     return id == 7 ? std::nullopt : std::optional(json::object());
                   });
  const auto request = [](int id) {
    return json{{"jsonrpc", "2.0"}, {"id", id}, {"method", "tools/call"}, {"params", {{"name", "x"}}}};
  };
  EXPECT_FALSE(cancelled.respond(request(7).dump()));
  EXPECT_TRUE(cancelled.respond(request(8).dump()));
  const auto both = cancelled.respond(json::array({request(7), request(8)}).dump());
  ASSERT_TRUE(both);
  EXPECT_EQ(json::parse(*both).size(), 1U);
}

TEST(mcp_server, what_a_tool_cannot_do_is_for_the_model_to_read) {
  const json said = called(R"({"name":"fail"})");
  EXPECT_EQ(said["result"]["isError"], true);
  EXPECT_EQ(said["result"]["content"][1]["text"], "x.sluice: no such file");
  const json thrown = called(R"({"name":"throw"})");
  EXPECT_EQ(thrown["result"]["isError"], true);
  EXPECT_EQ(thrown["result"]["content"][1]["text"], "throw: surprise");
}

TEST(mcp_server, arguments_fit_the_schema_before_a_tool_sees_them) {
  for (const auto& [wrong, message] :
       {std::pair{R"({"name":"cow"})", "no tool named 'cow'"},
        {R"({})", "name of a tool"},
        {R"({"name":"echo"})", "'text' is missing"},
        {R"({"name":"echo","arguments":[]})", "expected an object"},
        {R"({"name":"echo","arguments":{"text":1}})", "expected string"},
        {R"({"name":"echo","arguments":{"text":"a","count":1.5}})", "expected integer"},
        {R"({"name":"echo","arguments":{"text":"a","kind":"c"}})", "expected one of"},
        {R"({"name":"echo","arguments":{"text":"a","more":1}})", "no argument named 'more'"}}) {
    const json said = called(wrong);
    EXPECT_EQ(said["error"]["code"], -32602) << wrong;
    EXPECT_THAT(said["error"]["message"].get<std::string>(), HasSubstr(message)) << wrong;
  }
}

TEST(mcp_server, damaged_lines_get_one_line_or_none) {
  const std::string whole =
      R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\u00e4","count":3}}})";
  std::mt19937 random(1);  // NOLINT: a fixed seed, for the same damage in every run.
  server subject = made_server();
  std::size_t errors = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = whole;
    for (std::size_t times = random() % 4 + 1; times > 0; --times) {
      const std::size_t at = random() % line.size();
      switch (random() % 4) {
        case 0:
          line[at] = static_cast<char>(random());
          break;
        case 1:
          line.erase(at, random() % 8 + 1);
          break;
        case 2:
          line.insert(at, 1, "{}[]\",:0\\"[random() % 9]);
          break;
        default:
          line.resize(at + 1);
      }
      if (line.empty()) line = " ";
    }
    const auto result = subject.respond(line);
    if (!result) continue;
    EXPECT_EQ(result->find('\n'), std::string::npos);
    const json read = json::parse(*result, nullptr, false);
    ASSERT_FALSE(read.is_discarded()) << *result;
    errors += read.is_object() && read.contains("error");
  }
  EXPECT_GT(errors, 1000U);
}

TEST(mcp_server, bears_deep_and_long_lines) {
  EXPECT_EQ(asked(std::string(1'000'000, '['))["error"]["code"], -32700);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_EQ(asked(deep)["error"]["code"], -32700);
  const json refused = asked(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + deep + "}");
  EXPECT_EQ(refused["error"]["message"],
            "this line: at byte 154: it is nested deeper than 100 levels; expected one JSON-RPC 2.0 message per line");
  const json said = called(R"({"name":"echo","arguments":{"text":")" + std::string(1'000'000, 'x') + R"("}})");
  EXPECT_EQ(said["result"]["content"][1]["text"].get<std::string>(), std::string(max_bytes, 'x'));
}

TEST(mcp_server, names_that_are_no_utf8_are_answered_in_utf8) {
  const auto result = made_server().respond("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}");
  ASSERT_TRUE(result);
  EXPECT_FALSE(json::parse(*result, nullptr, false).is_discarded());
}

}  // namespace
}  // namespace sluice::cli::mcp
