// Only this file includes Boost, because its headers take long to compile.
#include "app/cli/serve/http_server.hpp"

#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <list>
#include <span>
#include <utility>
#include <vector>

namespace sluice::cli::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

/// These headers make the page run only its own code, in an isolated origin (which its threads require), and connect
/// only to this server.
constexpr std::pair<const char*, const char*> headers_of_all[] = {
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Embedder-Policy", "require-corp"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'self' blob: data: 'unsafe-inline' 'wasm-unsafe-eval'; frame-ancestors 'none'; form-action 'none'; "
     "base-uri 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

class connection;

/// The state that all connections share. The list is sorted from oldest to newest; each connection removes itself when
/// it ends.
struct desk {
  const http_server::answerer* result = nullptr;
  std::list<connection*> all;
};

/// The connection of one client. It exists as long as operations on its stream are pending; each of them has a time
/// limit.
class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(asio::ip::tcp::socket socket, desk& with) : stream_(std::move(socket)), desk_(with) {
    place_ = desk_.all.insert(desk_.all.end(), this);
  }
  ~connection() { desk_.all.erase(place_); }
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  [[nodiscard]] bool trusted() const { return trusted_; }
  void cut_off() { stream_.close(); }

  void read_header() {
    parser_.emplace();
    parser_->header_limit(http_server::max_header_bytes);
    stream_.expires_after(std::chrono::seconds(trusted_ ? http_server::idle_seconds : http_server::stranger_seconds));
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = shared_from_this()](error_code failed, std::size_t) { self->header_read(failed); });
  }

 private:
  void header_read(error_code failed) {
    if (!failed) return result_request();
    keep_alive_ = false;
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
      return send({.status = 431, .text = "The request is too long.\n"});
    // Respond to other protocol errors too, but not to input that is not HTTP or that has ended.
    if (failed.category() == make_error_code(http::error::bad_field).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message &&
        failed != http::error::bad_version && failed != http::error::bad_method)
      return send({.status = 400, .text = "The request is invalid.\n"});
  }

  void result_request() {
    const auto& asked = parser_->get();
    keep_alive_ = asked.keep_alive();
    version_ = asked.version();
    is_head_ = asked.method() == http::verb::head;
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    if (has_body || asked.count(http::field::host) != 1) {
      keep_alive_ = false;
      return send({.status = 400, .text = "Expected one Host header and no body.\n"});
    }
    if (!is_head_ && asked.method() != http::verb::get) {
      keep_alive_ = false;
      return send({.status = 405, .text = "Only GET and HEAD are supported.\n"});
    }
    http_response result = (*desk_.result)(
        {.host = view(asked[http::field::host]),
         .target = view(asked.target()),
         // If-Range asks for a part only if the client's version is current. Versions have no validators, so send the
         // whole file.
         .range = asked.count(http::field::if_range) > 0 ? std::string_view() : view(asked[http::field::range])});
    trusted_ = trusted_ || result.trusted;
    if (!result.trusted) keep_alive_ = false;
    send(std::move(result));
  }

  void send(http_response result) {
    result_ = std::move(result);
    left_ = result_.part ? result_.part->bytes : result_.text.size();
    head_ = {};
    head_.version(version_);
    head_.result(result_.status);
    head_.keep_alive(keep_alive_);
    for (const auto& [name, value] : headers_of_all) head_.set(name, value);
    head_.set(http::field::content_type, result_.type);
    if (result_.is_gzip) head_.set(http::field::content_encoding, "gzip");
    head_.set(http::field::cache_control, result_.may_keep ? "private, max-age=3600" : "no-store");
    if (result_.part) head_.set(http::field::accept_ranges, "bytes");
    for (const auto& [name, value] : result_.more_headers) head_.set(name, value);
    if (!result_.range.empty()) head_.set(http::field::content_range, result_.range);
    if (result_.status == 405) head_.set(http::field::allow, "GET, HEAD");
    head_.content_length(left_);
    serializer_.emplace(head_);
    if (is_head_) left_ = 0;
    stream_.expires_after(std::chrono::seconds(http_server::chunk_seconds));
    http::async_write_header(stream_, *serializer_, [self = shared_from_this()](error_code failed, std::size_t) {
      if (!failed) self->send_more();
    });
  }

  void send_more() {
    if (left_ == 0) return sent();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left_, http_server::chunk_bytes));
    const char* source = nullptr;
    std::size_t bytes = wanted;
    if (result_.part) {
      chunk_.resize(http_server::chunk_bytes);
      file_part& part = *result_.part;
      const auto got = part.file->read_at(part.first, std::as_writable_bytes(std::span(chunk_).first(wanted)));
      if (!got || *got == 0) return cut_off();  // The file has become shorter: the client sees an incomplete body.
      bytes = *got;
      part.first += bytes;
      source = chunk_.data();
    } else {
      source = result_.text.data() + (result_.text.size() - left_);
    }
    left_ -= bytes;
    stream_.expires_after(std::chrono::seconds(http_server::chunk_seconds));
    asio::async_write(stream_, asio::buffer(source, bytes),
                      [self = shared_from_this()](error_code failed, std::size_t) {
                        if (!failed) self->send_more();
                      });
  }

  void sent() {
    result_ = {};
    std::vector<char>().swap(chunk_);
    if (keep_alive_) return read_header();
    error_code ignored;
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    chunk_.resize(http_server::max_header_bytes);
    stream_.expires_after(std::chrono::seconds(1));
    read_rest(0);
  }

  /// Reads for another moment, because if a socket with unread bytes is closed, the client loses the response.
  void read_rest(std::size_t so_far) {
    if (so_far > std::size_t{64} * http_server::max_header_bytes) return;
    stream_.async_read_some(asio::buffer(chunk_),
                            [self = shared_from_this(), so_far](error_code failed, std::size_t bytes) {
                              if (!failed) self->read_rest(so_far + bytes);
                            });
  }

  beast::tcp_stream stream_;
  desk& desk_;
  std::list<connection*>::iterator place_;
  beast::flat_buffer buffer_{std::size_t{2} * http_server::max_header_bytes};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::empty_body> head_;
  std::optional<http::response_serializer<http::empty_body>> serializer_;
  http_response result_;
  std::vector<char> chunk_;
  std::uint64_t left_ = 0;  ///< Number of bytes of the body that are still to be sent.
  unsigned version_ = 11;
  bool is_head_ = false;
  bool keep_alive_ = true;
  bool trusted_ = false;
};

}  // namespace

struct http_server::state {
  desk with;  // Declared before the context, whose connections remove themselves from this list.
  asio::io_context context{1};
  asio::ip::tcp::acceptor listener{context};
  asio::signal_set signals{context};
  asio::steady_timer pause{context};
  int signal = 0;

  void accept() {
    listener.async_accept([this](error_code failed, asio::ip::tcp::socket socket) {
      if (failed) {  // For example, no descriptor is free.
        pause.expires_after(std::chrono::milliseconds(100));
        pause.async_wait([this](error_code) { accept(); });
        return;
      }
      if (with.all.size() < max_connections || make_room()) {
        error_code ignored;
        socket.set_option(asio::ip::tcp::no_delay(true), ignored);
        std::make_shared<connection>(std::move(socket), with)->read_header();
      }
      accept();
    });
  }

  /// Disconnects the oldest client that has not shown the secret. Returns false if there is none, or if many
  /// connections are already ending.
  bool make_room() {
    const auto stranger = std::find_if(with.all.begin(), with.all.end(), [](auto* each) { return !each->trusted(); });
    if (stranger == with.all.end() || with.all.size() >= 2 * max_connections) return false;
    (*stranger)->cut_off();
    return true;
  }
};

http_server::http_server(std::unique_ptr<state> output) : state_(std::move(output)) {}
http_server::http_server(http_server&&) noexcept = default;
http_server::~http_server() = default;

result<http_server> http_server::listen(std::uint16_t port) {
  auto output = std::make_unique<state>();
  const asio::ip::tcp::endpoint place(asio::ip::address_v4::loopback(), port);
  error_code failed;
  output->listener.open(place.protocol(), failed);
  if (!failed) output->listener.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) output->listener.bind(place, failed);
  if (!failed) output->listener.listen(asio::socket_base::max_listen_connections, failed);
  if (failed)
    return fail(sluice::error_code::unavailable,
                "cannot listen on 127.0.0.1:" + std::to_string(port) + ": " + failed.message(), {},
                port == 0 ? "" : "choose another port, or omit --port");
  return http_server(std::move(output));
}

std::uint16_t http_server::port() const {
  error_code failed;
  return state_->listener.local_endpoint(failed).port();
}

int http_server::serve(const answerer& result, const std::function<void()>& ready) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) state_->signals.add(number);
  }
  state_->signals.async_wait([this](error_code failed, int number) {
    if (failed) return;
    state_->signal = number;
    state_->context.stop();
  });
  state_->with.result = &result;
  state_->accept();
  ready();
  state_->context.run();
  return state_->signal;
}

}  // namespace sluice::cli::serve
