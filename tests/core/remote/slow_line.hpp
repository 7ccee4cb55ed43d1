#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/remote/answering_server.hpp"
#include "core/remote/socket_address.hpp"

namespace sluice::remote {

/// Serves a recording to one client, as `sluice serve --stdio` does, over a line that delays bytes in each direction.
class slow_line {
 public:
  slow_line(std::string socket, std::shared_ptr<trace::file> recording, std::chrono::milliseconds delay)
      : path_(std::move(socket)) {
    const auto address = socket_address(path_).value();
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listening_, 1), 0);
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_), 0);
    threads_.emplace_back([this, recording = std::move(recording)]() mutable {
      static_cast<void>(result_on(ends_[1], ends_[1], std::move(recording)));
    });
    threads_.emplace_back([this, delay] {
      peer_ = ::accept(listening_, nullptr, nullptr);
      std::thread back([this, delay] { pass(ends_[0], peer_, delay); });
      pass(peer_, ends_[0], delay);
      back.join();
    });
  }
  ~slow_line() {
    cut();
    for (std::thread& each : threads_) each.join();
    for (const int each : {listening_, ends_[0], ends_[1], peer_.load()})
      if (each >= 0) ::close(each);
    std::filesystem::remove(path_);
  }
  slow_line(const slow_line&) = delete;
  slow_line& operator=(const slow_line&) = delete;

  /// Ends the connection.
  void cut() {
    cut_ = true;
    ::shutdown(listening_, SHUT_RDWR);
    ::shutdown(ends_[0], SHUT_RDWR);
    if (peer_ >= 0) ::shutdown(peer_, SHUT_RDWR);
  }
  /// The bytes that have arrived at either end.
  [[nodiscard]] std::size_t passed() const { return passed_; }

 private:
  using steady = std::chrono::steady_clock;
  struct parcel {
    steady::time_point due;
    std::vector<std::byte> bytes;
  };

  /// Passes bytes on until the connection ends. Reads at once, so that the delay does not limit the rate.
  void pass(int from, int to, std::chrono::milliseconds delay) {
    std::deque<parcel> under_way;
    while (!cut_) {
      const auto now = steady::now();
      const int wait =
          under_way.empty()
              ? 1'000
              : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(under_way.front().due - now).count());
      pollfd watched{from, POLLIN, 0};
      if (::poll(&watched, 1, std::max(0, wait)) > 0) {
        std::vector<std::byte> bytes(65'536);
        const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
        if (got <= 0) return cut();
        bytes.resize(static_cast<std::size_t>(got));
        under_way.push_back({steady::now() + delay, std::move(bytes)});
      }
      for (; !under_way.empty() && under_way.front().due <= steady::now(); under_way.pop_front()) {
        passed_ += under_way.front().bytes.size();
        if (!send_all(to, under_way.front().bytes)) return cut();
      }
    }
  }
  static bool send_all(int to, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t went = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (went < 0 && errno == EAGAIN) continue;
      if (went <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(went));
    }
    return true;
  }

  const std::string path_;
  int listening_ = -1;
  int ends_[2] = {-1, -1};  ///< Of the relay, and of the server.
  std::atomic<int> peer_{-1};
  std::atomic<bool> cut_{false};
  std::atomic<std::size_t> passed_{0};
  std::vector<std::thread> threads_;
};

}  // namespace sluice::remote
