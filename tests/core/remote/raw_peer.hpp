#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/remote/frames.hpp"
#include "core/remote/socket_address.hpp"

namespace sluice::remote {

/// A client that sends arbitrary bytes to a server.
class raw_peer {
 public:
  explicit raw_peer(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto address = socket_address(path);
    connected_ = address && ::connect(socket_, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0;
  }
  ~raw_peer() { ::close(socket_); }
  raw_peer(const raw_peer&) = delete;
  raw_peer& operator=(const raw_peer&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::span<const std::byte> bytes) const {
    static_cast<void>(!::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  template <class Message>
  void send(frame_kind kind, const Message& message, std::uint64_t id = 1) const {
    std::vector<std::byte> bytes;
    put_frame(bytes, kind, id, get_bytes(message));
    send(bytes);
  }
  void greet() const { send(frame_kind::hello, hello_message{}); }

  /// Receives the next frame. Returns nothing if the connection has ended or no data arrived for five seconds.
  [[nodiscard]] std::optional<frame> next() {
    for (;;) {
      auto output = buffer_.next();
      if (!output) return std::nullopt;
      if (*output) return std::move(**output);
      std::byte bytes[65536];
      const ssize_t got = wait() ? ::recv(socket_, bytes, sizeof bytes, 0) : 0;
      if (got <= 0) return std::nullopt;
      buffer_.add(std::span(bytes).first(static_cast<std::size_t>(got)));
    }
  }
  /// Returns true if the server ends the connection within `milliseconds`. Discards data that arrives before.
  [[nodiscard]] bool ends_within(int milliseconds) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    std::byte bytes[65536];
    while (std::chrono::steady_clock::now() < until) {
      if (wait(50) && ::recv(socket_, bytes, sizeof bytes, 0) <= 0) return true;
    }
    return false;
  }
  /// Returns true if the server ends the connection within `milliseconds`. Leaves data that arrives before unread.
  [[nodiscard]] bool is_cut_off_within(int milliseconds) const {
    pollfd watched{socket_, POLLRDHUP, 0};
    return ::poll(&watched, 1, milliseconds) == 1;
  }

 private:
  [[nodiscard]] bool wait(int milliseconds = 5'000) const {
    pollfd watched{socket_, POLLIN, 0};
    return ::poll(&watched, 1, milliseconds) == 1;
  }
  const int socket_;
  bool connected_ = false;
  frame_buffer buffer_{max_reply};
};

}  // namespace sluice::remote
