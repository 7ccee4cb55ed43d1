#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

/// A client that sends exactly the bytes that a test passes.
namespace sluice {

struct http_reply {
  int status = 0;  ///< 0 if there was no reply.
  std::map<std::string, std::string> headers;
  std::string body;
};

class http_client {
 public:
  explicit http_client(std::uint16_t port, const char* address = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    ::inet_pton(AF_INET, address, &to.sin_addr);
    connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  http_client(http_client&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_), rest_(std::move(other.rest_)) {}
  http_client& operator=(http_client&&) = delete;
  ~http_client() {
    if (socket_ >= 0) ::close(socket_);
  }

  [[nodiscard]] bool connected() const { return connected_; }

  /// Returns false if the server has closed the connection.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  /// Reads the next reply. `with_body`: false for a reply to a HEAD request.
  http_reply read(bool with_body = true) {
    http_reply reply;
    std::size_t end = 0;
    while ((end = rest_.find("\r\n\r\n")) == std::string::npos)
      if (!read_more(30'000)) return reply;
    std::string head = rest_.substr(0, end + 2);
    rest_.erase(0, end + 4);
    reply.status = std::stoi(head.substr(head.find(' ')));
    for (std::size_t line = head.find("\r\n") + 2; line < head.size();) {
      const std::size_t colon = head.find(": ", line), stop = head.find("\r\n", line);
      reply.headers[head.substr(line, colon - line)] = head.substr(colon + 2, stop - colon - 2);
      line = stop + 2;
    }
    const std::size_t bytes = with_body ? std::stoull(reply.headers["Content-Length"]) : 0;
    while (rest_.size() < bytes && read_more(30'000)) {
    }
    reply.body = rest_.substr(0, bytes);
    rest_.erase(0, bytes);
    return reply;
  }

  /// Returns true if the server closes the connection within `milliseconds`. Discards data that arrives before that.
  bool is_closed_within(int milliseconds) {
    while (read_more(milliseconds)) {
    }
    return closed_;
  }

 private:
  bool read_more(int milliseconds) {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, milliseconds) != 1) return false;
    char bytes[65536];
    const ssize_t got = ::recv(socket_, bytes, sizeof bytes, 0);
    closed_ = got <= 0;
    if (got > 0) rest_.append(bytes, static_cast<std::size_t>(got));
    return got > 0;
  }

  int socket_;
  bool connected_ = false;
  bool closed_ = false;
  std::string rest_;
};

}  // namespace sluice
