#include "app/cli/mcp/conversation.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "app/cli/mcp/results.hpp"
#include "core/base/files/scratch_file.hpp"
#include "core/base/json/json_text.hpp"

namespace sluice::cli::mcp {
namespace {

/// Limit on a result, which is usually about 20 KB of text, or a picture. A batch of 100 results of this size fits into
/// the server's memory.
constexpr std::size_t max_result = std::size_t{8} << 20;

/// Limit on the bytes of lines that wait while a tool runs. When they exceed it, the server reads no more, so the
/// client has to wait.
constexpr std::size_t most_waiting = longest_line;

/// Only lines up to this length are examined before their turn.
constexpr std::size_t longest_urgent = 4096;

/// Memory limit of a child: half of the machine's memory, so that a call cannot harm the machine or other programs.
std::size_t memory_of_child() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) / 2
                                : std::size_t{4} << 30;
}

/// The message in a line; null if the message cannot be urgent.
json urgent_message(std::string_view line) {
  if (line.size() > longest_urgent) return nullptr;
  auto message = parse_json(line);
  if (!message || !message->is_object()) return nullptr;
  const auto method = message->find("method");
  return method != message->end() && method->is_string() ? std::move(*message) : json(nullptr);
}

bool cancels(const json& message, const json& id) {
  if (message["method"] != "notifications/cancelled") return false;
  const auto parameters = message.find("params");
  return parameters != message.end() && parameters->is_object() && parameters->contains("requestId") &&
         (*parameters)["requestId"] == id;
}

}  // namespace

conversation::conversation(std::vector<tool> tools)
    : server_(std::move(tools), [this](const tool& asked, const json& arguments, const json& id) {
        return ask_child(asked, arguments, id);
      }) {}

bool conversation::run() {
  for (std::string line; written_ && next(line);) put(server_.respond(line));
  return written_;
}

bool conversation::next(std::string& line) {
  line.clear();
  for (;;) {
    const auto end = came_.find('\n', at_);
    const std::size_t length = (end == std::string::npos ? came_.size() : end) - at_;
    line.append(came_, at_, std::min(length, longest_line - line.size()));
    at_ = end == std::string::npos ? came_.size() : end + 1;
    if (end != std::string::npos) return true;
    came_.clear();
    at_ = 0;
    if (!read_more()) return !line.empty();
  }
}

bool conversation::read_more() {
  std::array<char, 65536> bytes;
  while (!ended_) {
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    ended_ = count <= 0;
    if (!ended_) came_.append(bytes.data(), static_cast<std::size_t>(count));
    break;
  }
  return !ended_;
}

bool conversation::put(const std::optional<std::string>& result) {
  if (!result) return written_;
  const std::string line = *result + '\n';
  written_ = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() && std::fflush(stdout) == 0;
  return written_;
}

std::optional<json> conversation::ask_child(const tool& asked, const json& arguments, const json& id) {
  working_at_ = id;
  came_.erase(0, at_);
  at_ = looked_ = 0;
  if (look_ahead()) return std::nullopt;
  // A child that is killed cannot remove its scratch files, so this process provides the folder and removes it.
  const auto scratch = scratch_folder::make();
  const auto query = [&] {
    if (scratch) setenv("TMPDIR", scratch->path().c_str(), 1);
    return json_line(answer_tool_call(asked, arguments));
  };
  const auto result =
      processes::probe(query, {.timeout = asked.max_time, .bytes = max_result}, memory_of_child(), this);
  if (!result) {
    const error& why = result.error();
    if (why.code == error_code::cancelled) return std::nullopt;
    const bool of_system = !why.file.empty();
    return failed_call(asked, why.to_string() + (of_system ? "" : "; narrow the request, with a range or a LIMIT"));
  }
  auto outcome = parse_json(*result);
  return outcome ? std::move(*outcome) : failed_call(asked, "the result is damaged");
}

int conversation::descriptor() const { return ended_ || came_.size() - at_ > most_waiting ? -1 : STDIN_FILENO; }

bool conversation::gives_up() {
  read_more();
  return look_ahead();
}

bool conversation::look_ahead() {
  for (std::size_t end; (end = came_.find('\n', looked_)) != std::string::npos; looked_ = end + 1) {
    const std::string_view line = std::string_view(came_).substr(looked_, end - looked_);
    const json message = urgent_message(line);
    if (message.is_null()) continue;
    if (cancels(message, working_at_)) return true;
    if (message["method"] != "ping") continue;
    put(server_.respond(line));
    std::fill_n(came_.begin() + static_cast<std::ptrdiff_t>(looked_), line.size(), ' ');  // Already answered.
  }
  return !written_;
}

}  // namespace sluice::cli::mcp
