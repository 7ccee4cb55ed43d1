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

/// A connection to who has a recording: over a Unix socket, or through the standard input and output of a program. A
/// thread takes what comes. Thread-safe.
class connection {
 public:
  /// Called with a reply, or with the error that ended the connection. Returns true if more replies will come. Called
  /// on the connection's thread; must not wait for another reply.
  using on_reply = std::function<bool(result<frame>)>;

  /// Connects to the socket at `path`. `name`: for errors. Errors: not_found, io, foreign (something else listens there).
  [[nodiscard]] static result<std::shared_ptr<connection>> to_socket(const std::string& path, const std::string& name);
  /// Starts a program by its words, the first of which is looked up in PATH, and speaks through its standard input and
  /// output. It must answer within `most`, which a user who types a password needs, unless `cancelled` returns true
  /// before. Errors: not_found, io, foreign; the last line that the program wrote to standard error is in them.
  [[nodiscard]] static result<std::shared_ptr<connection>> to_program(const std::vector<std::string>& words,
                                                                      const std::string& name,
                                                                      std::chrono::milliseconds most,
                                                                      const std::function<bool()>& cancelled);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] const std::string& name() const;
  /// The path of the recording, as its owner names it. Not trusted.
  [[nodiscard]] const std::string& recording() const;
  /// True if it answers questions.
  [[nodiscard]] bool answers() const;
  /// True until the connection has ended.
  [[nodiscard]] bool alive() const;

  /// Sends a request; `then` gets the replies. Returns the request's id. If the connection has ended, `then` is called
  /// at once. Blocks only while the peer takes nothing, and no longer than ten seconds: then the connection ends.
  std::uint64_t begin(frame_kind kind, std::span<const std::byte> payload, on_reply then);
  /// Forgets a request, and tells the peer.
  void withdraw(std::uint64_t id);
  /// True while a request waits for its last reply.
  [[nodiscard]] bool waits() const;
  /// Sends a request and waits for its reply, which must be of the kind `wanted`. Errors: io (also after `most`), and
  /// those that the peer replies with.
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
