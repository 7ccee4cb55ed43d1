// Handles lines that a client sends to `sluice mcp`: the response to any line must be one line of JSON, or nothing.
//
// An input is such a line. Alternatively its first byte is the number of a tool and its lines are the arguments of a
// call, in the order of the tool's schema, so that a mutated input is still a call.
//
// The program runs each tool in a child process that it can kill. Here tools run in this process, so that libFuzzer
// sees their work, and a query that exceeds its time counts as a failure; the maximum lengths in SQL are too small for
// a query to take that long.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <string_view>

#include "app/cli/mcp/results.hpp"
#include "app/cli/mcp/server.hpp"
#include "app/cli/mcp/tools.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/json/json_text.hpp"
#include "core/trace/file/writer.hpp"
#include "tests/core/trace/random_rows.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::mcp {
namespace {

using cli::mcp::json;

/// A placeholder for the path of the recording, which differs between processes.
constexpr std::string_view path_in_input = "$R";

/// The maximum size of the output: one response for each message of a batch, each with two texts of maximum length in
/// which every character may be escaped.
constexpr std::size_t max_answered = std::size_t{100} * 2 * 2 * cli::mcp::max_bytes;

const std::string& small_recording() {
  static const auto kept = [] {
    auto place = std::make_unique<scratch_file>(scratch_file::make().value());
    auto output = trace::file_writer::create(*place).value();
    std::mt19937_64 random(5);
#define SLUICE_ADD(row, kind) \
  for (int i = 0; i < 4; ++i) output.add(trace::testing::random_row<trace::row>(random));
    SLUICE_FOR_EACH_ROW(SLUICE_ADD)
#undef SLUICE_ADD
    if (!output.close()) __builtin_trap();
    return place;
  }();
  return kept->path();
}

const std::vector<cli::mcp::tool>& tools() {
  static const auto whole = [] {
    cli::mcp::tool_limits limits;
    limits.query_time = std::chrono::milliseconds(50);
    limits.value_bytes = 4096;
    limits.sql_memory_bytes = std::size_t{64} << 20;
    limits.scratch_bytes = std::size_t{16} << 20;
    return cli::mcp::all_tools(limits);
  }();
  return whole;
}

std::string get_call(const std::string& tool, const json& arguments) {
  return json_line({{"jsonrpc", "2.0"},
                    {"id", 1},
                    {"method", "tools/call"},
                    {"params", {{"name", tool}, {"arguments", arguments}}}});
}

json make_argument(const std::string& type, const std::string& text) {
  if (type == "integer") return std::strtoll(text.c_str(), nullptr, 10);
  if (type == "boolean") return text == "true";
  return text;
}

/// The call that an input without JSON encodes. Empty arguments are omitted.
std::string call_in(const std::string& input) {
  const cli::mcp::tool& tool = tools()[static_cast<unsigned char>(input[0]) % tools().size()];
  std::istringstream lines(input.substr(1));
  json arguments = json::object();
  for (const auto& [name, property] : tool.input["properties"].items()) {
    std::string text;
    std::getline(lines, text);
    if (!text.empty()) arguments[name] = make_argument(property["type"], text);
  }
  return get_call(tool.name, arguments);
}

std::string line_in(std::span<const std::uint8_t> input) {
  std::string line(input.begin(), input.end());
  if (!line.empty() && line[0] >= 0 && line[0] < ' ') line = call_in(line);
  for (std::size_t at = 0; (at = line.find(path_in_input, at)) != std::string::npos; at += small_recording().size())
    line.replace(at, path_in_input.size(), small_recording());
  return line;
}

/// Text from the recording must not have control characters or invisible characters.
void expect_tame(const json& response) {
  const auto result = response.find("result");
  if (result == response.end() || !result->contains("content")) return;
  for (const json& block : (*result)["content"])
    if (const auto text = block.find("text"); text != block.end())
      for (const char c : text->get_ref<const std::string&>())
        if ((c >= 0 && c < 0x20 && c != '\n') || c == 0x7f) __builtin_trap();
}

void run(std::span<const std::uint8_t> input) {
  static cli::mcp::server server(tools());
  const std::string line = line_in(input);
  const auto said = server.respond(line);
  if (!said) return;
  constexpr std::size_t longest_escape = 6;  // An error quotes the client's text.
  if (said->find('\n') != std::string::npos || said->size() > max_answered + line.size() * longest_escape)
    __builtin_trap();
  const json read = json::parse(*said, nullptr, false);
  if (read.is_discarded()) __builtin_trap();
  if (!read.is_array()) return expect_tame(read);
  for (const json& each : read) expect_tame(each);
}

std::vector<bytes> seeds() {
  std::vector<bytes> items;
  const auto add = [&](std::string_view text) { items.emplace_back(text.begin(), text.end()); };
  for (const std::string_view text : {
           R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})",
           R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
           R"({"jsonrpc":"2.0","id":"a","method":"tools/list"})",
           R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":null,"method":"x"},3])",
       })
    add(text);
  add(get_call("query", {{"file", path_in_input}, {"sql", "SELECT name, bytes FROM allocations"}, {"limit", 3}}));
  // By tool number, in the order of `all_tools`.
  for (const std::string_view text : {
           "\x10$R\nwarning\n0s:1s",
           "\x11$R\n\n",
           "\x11$R\nmemory\n1ms:",
           "\x12$R\nSELECT name, bytes FROM allocations\n3",
           "\x12$R\nSELECT instr(zeroblob(4000), hex(zeroblob(9)))\n",
           "\x13"
           "alloc",
           "\x14$R\n5\ndriver\n2",
           "\x15$R\n$R",
           "\x16$R\n1GiB\n2GiB\n3GiB\ntrue\n5%\n6%\n$R\n7%\nwarning",
           "\x17$R\nexpandable_segments:True,roundup_power2_divisions:4\n",
           "\x17$R@64\n\n2x\n$R@32\n$R@16",
       })
    add(text);
  return items;
}

}  // namespace
}  // namespace sluice::fuzz::mcp

sluice::fuzz::target sluice::fuzz::mcp_target() { return {"mcp", mcp::run, mcp::seeds}; }
