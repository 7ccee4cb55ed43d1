#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/programs.hpp"

/// A running `sluice mcp` and its client, for tests that exchange messages with it.
namespace sluice {

class mcp_session {
 public:
  using json = nlohmann::ordered_json;

  /// `scratch`: TMPDIR of the server.
  explicit mcp_session(const std::vector<std::string>& options = {}, const std::string& scratch = {}) {
    std::array<int, 2> to{}, from{};
    EXPECT_EQ(pipe2(to.data(), O_CLOEXEC) + pipe2(from.data(), O_CLOEXEC), 0);
    std::vector<std::string> words{SLUICE_BINARY_DIR "/sluice", "mcp"};
    words.insert(words.end(), options.begin(), options.end());
    server_ = start_program(words, [&] {
      dup2(to[0], 0);
      dup2(from[1], 1);
      if (!scratch.empty()) setenv("TMPDIR", scratch.c_str(), 1);
    });
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }
  ~mcp_session() {
    close_input();
    if (server_ > 0) {
      kill(server_, SIGKILL);
      waitpid(server_, nullptr, 0);
    }
    close(out_);
  }
  mcp_session(const mcp_session&) = delete;
  mcp_session& operator=(const mcp_session&) = delete;

  [[nodiscard]] pid_t server() const { return server_; }

  void send_line(const std::string& line) const {
    const std::string whole = line + "\n";
    EXPECT_EQ(write(in_, whole.data(), whole.size()), static_cast<ssize_t>(whole.size()));
  }
  void send(const json& message) const { send_line(message.dump()); }
  void call(int id, const std::string& tool, const json& arguments) const {
    send({{"jsonrpc", "2.0"},
          {"id", id},
          {"method", "tools/call"},
          {"params", {{"name", tool}, {"arguments", arguments}}}});
  }
  void cancel(int id) const {
    send({{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}});
  }
  void ping(int id) const { send({{"jsonrpc", "2.0"}, {"id", id}, {"method", "ping"}}); }

  /// Returns the next reply. If none arrives within a minute, fails the test and returns null.
  [[nodiscard]] json receive() {
    std::size_t end = 0;
    while ((end = came_.find('\n')) == std::string::npos) {
      pollfd ready{out_, POLLIN, 0};
      std::array<char, 65536> bytes;
      const ssize_t got = poll(&ready, 1, 60'000) > 0 ? read(out_, bytes.data(), bytes.size()) : -1;
      if (got <= 0) {
        ADD_FAILURE() << (got == 0 ? "the server has ended" : "no answer within a minute");
        return nullptr;
      }
      came_.append(bytes.data(), static_cast<std::size_t>(got));
    }
    const json result = json::parse(came_.substr(0, end), nullptr, false);
    EXPECT_FALSE(result.is_discarded()) << came_.substr(0, 200);
    came_.erase(0, end + 1);
    return result;
  }
  /// All texts of a tool's result, one per line.
  [[nodiscard]] static std::string get_texts(const json& result) {
    std::string text;
    if (!result.is_object() || !result.contains("result") || !result["result"].contains("content")) return text;
    for (const json& block : result["result"]["content"])
      if (block["type"] == "text") text += block["text"].get<std::string>() + "\n";
    return text;
  }

  /// Waits for the child process that runs a tool and returns its id; 0 after a minute.
  [[nodiscard]] pid_t child() const {
    const std::string list = "/proc/" + std::to_string(server_) + "/task/" + std::to_string(server_) + "/children";
    for (int tries = 0; tries < 60'000; ++tries, usleep(1000)) {
      std::ifstream in(list);
      if (pid_t found = 0; in >> found) return found;
    }
    return 0;
  }

  void close_input() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  /// Waits until the server exits. Returns its exit status, as in a shell.
  [[nodiscard]] int wait() { return wait_for_end(std::exchange(server_, 0)); }

 private:
  pid_t server_ = 0;
  int in_ = -1;
  int out_ = -1;
  std::string came_;
};

/// Waits until `process` no longer exists. Returns false after a minute.
inline bool has_ended(pid_t process) {
  for (int tries = 0; tries < 60'000; ++tries, usleep(1000)) {
    std::ifstream in("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(in, text);
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos || text.compare(name_end, 3, ") Z") == 0) return true;
  }
  return false;
}

}  // namespace sluice
