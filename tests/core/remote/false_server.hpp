#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/remote/frames.hpp"
#include "core/remote/socket_address.hpp"

namespace sluice::remote {

/// A server that accepts one client and sends arbitrary bytes to it.
class false_server {
 public:
  explicit false_server(std::string path) : path_(std::move(path)) {
    const auto address = socket_address(path_).value();
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_, 1), 0);
  }
  /// Ends the connection.
  ~false_server() {
    ::shutdown(listening_, SHUT_RDWR);
    if (peer_ >= 0) ::shutdown(peer_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(listening_);
    if (peer_ >= 0) ::close(peer_);
    std::filesystem::remove(path_);
  }
  /// Replies to each frame with the bytes that `reply` appends; ends the connection once `reply` returns false.
  void run(std::function<bool(const frame&, std::vector<std::byte>&)> reply) {
    thread_ = std::thread([this, reply = std::move(reply)] {
      peer_ = ::accept(listening_, nullptr, nullptr);
      frame_buffer came(max_request);
      std::byte bytes[4096];
      for (bool goes_on = true; goes_on;) {
        const ssize_t got = ::recv(peer_, bytes, sizeof bytes, 0);
        if (got <= 0) break;
        came.add(std::span(bytes).first(static_cast<std::size_t>(got)));
        for (auto next = came.next(); goes_on && next && *next; next = came.next()) {
          std::vector<std::byte> out;
          goes_on = reply(**next, out);
          send_all(peer_, out);
        }
      }
      ::shutdown(peer_, SHUT_RDWR);
    });
  }

 private:
  static void send_all(int peer, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t went = ::send(peer, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (went <= 0) return;  // The client has disconnected.
      bytes = bytes.subspan(static_cast<std::size_t>(went));
    }
  }

  const std::string path_;
  int listening_ = -1;
  std::atomic<int> peer_{-1};
  std::thread thread_;
};

}  // namespace sluice::remote
