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

/// HTTP/1.1 on this machine's own address, for one user's browser. What it answers: site.hpp.
namespace sluice::cli::serve {

/// What a client asks for. The texts are as they arrived and live as long as the call that gets them.
struct http_request {
  std::string_view host{};    ///< The header `Host`.
  std::string_view target{};  ///< Path and query.
  std::string_view range{};   ///< The header `Range`; empty if there is none.
};

/// Bytes of a file, sent as they are when they are sent.
struct file_part {
  std::shared_ptr<const trace::byte_source> file;
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

struct http_answer {
  unsigned status = 200;
  std::string type = "text/plain; charset=utf-8";  ///< The header `Content-Type`.
  std::string text{};                              ///< The body, if there is no `part`.
  std::optional<file_part> part{};
  std::string range{};  ///< The header `Content-Range`; empty: none.
  std::vector<std::pair<const char*, std::string>> more_headers{};
  bool is_gzip = false;   ///< The body is packed; every browser unpacks it.
  bool may_keep = false;  ///< The browser may keep it for an hour; otherwise it may not keep it at all.
  bool trusted = false;   ///< The client knew the secret. Others are cut off first, and sooner.
};

/// Serves GET and HEAD on 127.0.0.1, with one thread. What a client can use up is limited by the constants below; one
/// that exceeds them is cut off.
class http_server {
 public:
  using answerer = std::function<http_answer(const http_request&)>;

  /// Listens on `port`; 0: on any free one. Errors: unavailable, for example if another program has the port.
  [[nodiscard]] static result<http_server> listen(std::uint16_t port);
  http_server(http_server&&) noexcept;
  http_server& operator=(http_server&&) = delete;
  ~http_server();

  [[nodiscard]] std::uint16_t port() const;
  /// Answers requests until SIGINT, SIGTERM or SIGHUP arrives (unless it was ignored before), and returns its number.
  int serve(const answerer& answer);

  static constexpr std::uint32_t most_header_bytes = 16 << 10;  ///< Browsers send some 1 KB.
  static constexpr std::size_t most_connections = 128;          ///< Browsers open 6 per site.
  /// A header must arrive in this time, from clients that did not know the secret, and from others.
  static constexpr int stranger_seconds = 10, idle_seconds = 60;
  static constexpr std::size_t chunk_bytes = 128 << 10;  ///< A body is sent in chunks of this size.
  static constexpr int chunk_seconds = 20;               ///< Each chunk must leave in this time: 6.6 KB/s or more.

 private:
  struct state;
  explicit http_server(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

}  // namespace sluice::cli::serve
