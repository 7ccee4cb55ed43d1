#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/remote/frames.hpp"

namespace sluice::remote {

/// A connection to the process that owns a recording (the peer), over a Unix socket or through the standard input and
/// output of a program. Requests go out, and a thread passes the replies to the functions that the callers provide.
/// Thread-safe.
class connection {
 public:
  /// A function that is called once, with the reply or with the error that ended the connection. It is called on the
  /// connection's thread and must not wait for another reply.
  using on_reply = std::function<void(result<frame>)>;

  /// Connects to the socket at `path`. Errors name the peer `name`: not_found, io, foreign (another program listens on
  /// the socket).
  [[nodiscard]] static result<std::shared_ptr<connection>> to_socket(const std::string& path, const std::string& name);
  /// Starts the program with the command line `words`, whose first word is looked up in PATH, and communicates through
  /// the program's standard input and output. Fails if the program does not greet within `most`, which must be long
  /// enough for a user to type a password, or if `cancelled` returns true before. Errors: those of
  /// `child_process::start`; io, foreign. The errors include the last line of the program's standard error.
  [[nodiscard]] static result<std::shared_ptr<connection>> to_program(const std::vector<std::string>& words,
                                                                      const std::string& name,
                                                                      std::chrono::milliseconds most,
                                                                      const std::function<bool()>& cancelled);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] const std::string& name() const;
  /// The path of the recording on the peer's host. Not trusted.
  [[nodiscard]] const std::string& recording() const;
  /// True until the connection has ended.
  [[nodiscard]] bool alive() const;

  /// Sends a request and returns its id without waiting for the reply. `then` is called with the reply. If the
  /// connection has ended, calls `then` before returning. Blocks only while the peer does not read, at most for ten
  /// seconds; after that, the connection ends.
  std::uint64_t begin(frame_kind kind, std::span<const std::byte> payload, on_reply then);
  /// Ignores the reply to a request, and tells the peer that it is not needed.
  void withdraw(std::uint64_t id);
  /// Sends a request and waits for its reply, which must be of the kind `wanted`. Errors: io, also if there is no reply
  /// within `most`; the errors that the peer replies with.
  [[nodiscard]] result<frame> ask(frame_kind kind, std::span<const std::byte> payload, frame_kind wanted,
                                  std::chrono::milliseconds most);
  /// Ends the connection.
  void end();

 private:
  struct state;
  explicit connection(std::unique_ptr<state> s);
  static result<std::shared_ptr<connection>> greeted(std::unique_ptr<state> s, std::chrono::milliseconds most,
                                                     const std::function<bool()>& cancelled);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::remote
