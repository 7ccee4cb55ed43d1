#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/trace/file/byte_source.hpp"

/// An HTTP/1.1 server on the loopback address, for one user's browser. site.hpp generates the responses.
namespace sluice::cli::serve {

/// A client's request. The texts are as the client sent them, and are valid only during the call of the `answerer`.
struct http_request {
  std::string_view host{};    ///< The header `Host`.
  std::string_view target{};  ///< Path and query.
  std::string_view range{};   ///< The header `Range`; empty if there is none.
};

/// Bytes of a file, which are read when they are sent.
struct file_part {
  std::shared_ptr<const trace::byte_source> file;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

struct http_response {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";  ///< The header `Content-Type`.
  std::string text{};                              ///< The body; used if there is no `part`.
  std::optional<file_part> part{};
  std::string range{};  ///< The header `Content-Range`; empty: none.
  std::vector<std::pair<const char*, std::string>> more_headers{};
  bool is_gzip = false;   ///< The body is gzip-compressed; every browser can decompress it.
  bool may_keep = false;  ///< The browser may cache it for an hour; otherwise it must not cache it.
  bool trusted = false;   ///< The client knew the secret. Other clients are disconnected first, and sooner.
};

/// Serves GET and HEAD requests on 127.0.0.1, with one thread. The constants below limit a client's use of resources; a
/// client that exceeds a limit is disconnected.
class http_server {
 public:
  using answerer = std::function<http_response(const http_request&)>;

  /// Listens on `port`; 0: any free port. Errors: unavailable, for example if another program uses the port.
  [[nodiscard]] static result<http_server> listen(std::uint16_t port);
  http_server(http_server&&) noexcept;
  http_server& operator=(http_server&&) = delete;
  ~http_server();

  [[nodiscard]] std::uint16_t port() const;
  /// Serves requests until SIGINT, SIGTERM or SIGHUP arrives (unless the signal was ignored before), and returns the
  /// signal's number. `ready` is called once, when these signals are handled and before the first request is served.
  int serve(
      const answerer& result, const std::function<void()>& ready = [] {});

  static constexpr std::uint32_t max_header_bytes = 16 << 10;  ///< Browsers send about 1 KB.
  static constexpr std::size_t max_connections = 128;          ///< Browsers open 6 per site.
  /// Time limit for receiving a header: from clients that did not know the secret, and from other clients.
  static constexpr int stranger_seconds = 10, idle_seconds = 60;
  static constexpr std::size_t chunk_bytes = 128 << 10;  ///< A body is sent in chunks of this size.
  static constexpr int chunk_seconds = 20;               ///< Time limit for sending each chunk, that is, at least 6.6
                                                         ///< KB/s.

 private:
  struct state;
  explicit http_server(std::unique_ptr<state> output);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::cli::serve
