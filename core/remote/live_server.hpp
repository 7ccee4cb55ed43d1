#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/error.hpp"

namespace sluice::remote {

/// How long and for how many a server does its work.
struct server_limits {
  std::size_t connections = 8;                ///< At once. When all are taken, one that was silent longest may go.
  std::chrono::milliseconds greeting{5'000};  ///< For a peer's first frame.
  std::chrono::milliseconds stalled{10'000};  ///< For a peer to take some of what it has asked for.
  std::chrono::milliseconds reply{60'000};    ///< For a peer to take all of one reply.
  std::chrono::milliseconds silent{60'000};   ///< After this, a peer makes room for another one.
};

/// Serves a growing recording on a Unix socket, in a thread of its own: protocol.md. The thread only reads the file, and
/// shares nothing with who writes it. Peers are this user and root (SO_PEERCRED). What a peer sends or leaves undone
/// ends its own connection at most.
class live_server {
 public:
  /// Serves the recording at `path`, which need not exist yet, on a new socket `socket` of mode 0600. Removes a socket
  /// there that nobody listens on any more. Errors: invalid_argument (the path is too long, or taken), unavailable.
  [[nodiscard]] static result<std::unique_ptr<live_server>> start(const std::string& path, const std::string& socket,
                                                                  const server_limits& limits = {});
  ~live_server();  ///< Ends all connections and removes the socket.
  live_server(const live_server&) = delete;
  live_server& operator=(const live_server&) = delete;

  [[nodiscard]] const std::string& socket() const;
  /// The recording is complete: waits until the connected peers have all of it, at most for `most`.
  void finish(std::chrono::milliseconds most);

 private:
  struct state;
  explicit live_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::remote
