#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "core/base/error.hpp"

namespace sluice::remote {

/// The limits that a server sets for its peers, the processes that are connected to it.
struct server_limits {
  std::size_t connections = 8;                ///< The most simultaneous connections. If all are taken, a new peer may
                                              ///< replace the one that has been silent longest.
  std::chrono::milliseconds greeting{5'000};  ///< Within this time, a new peer must send its first frame.
  std::chrono::milliseconds stalled{10'000};  ///< Within this time, a peer must read some bytes of its reply.
  std::chrono::milliseconds reply{60'000};    ///< Within this time, a peer must read all of one reply.
  std::chrono::milliseconds silent{60'000};   ///< A peer silent for longer than this may be replaced by a new one.
};

/// Serves a growing recording on a Unix socket, in its own thread. Peers receive the bytes of the file by the protocol
/// in protocol.md. The thread only reads the file and shares nothing with the writer. Peers must be processes of this
/// user or of root (SO_PEERCRED). A faulty or silent peer loses its own connection and does not affect others.
class live_server {
 public:
  /// Serves the recording at `path`, which need not exist yet, on a new socket at `socket` with mode 0600. Replaces an
  /// old socket that nobody listens on. Errors: invalid_argument (the socket's path is too long or in use),
  /// unavailable.
  [[nodiscard]] static result<std::unique_ptr<live_server>> start(const std::string& path, const std::string& socket,
                                                                  const server_limits& limits = {});
  ~live_server();  ///< Ends all connections and removes the socket.
  live_server(const live_server&) = delete;
  live_server& operator=(const live_server&) = delete;

  [[nodiscard]] const std::string& socket() const;
  /// Waits until the connected peers have all of the recording, at most for `most`. Call when the recording is
  /// complete.
  void finish(std::chrono::milliseconds most);

 private:
  struct state;
  explicit live_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::remote
