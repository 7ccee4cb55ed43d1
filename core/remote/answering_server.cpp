#include "core/remote/answering_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/system/unique_descriptor.hpp"
#include "core/query/remote/sql_rows.hpp"
#include "core/query/sql/sql_task.hpp"
#include "core/remote/frames.hpp"
#include "core/remote/served_recording.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::seconds max_greeting{60};
constexpr std::size_t asked_at_once = std::size_t{64} << 10;
/// The most SQL queries that run at the same time. A window has one.
constexpr std::size_t max_running = 16;

/// Wakes a thread that polls.
class wake_event {
 public:
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  void ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor(), &one, sizeof one));
  }
  void silence() const {
    std::uint64_t rung = 0;
    static_cast<void>(!::read(descriptor(), &rung, sizeof rung));
  }

 private:
  const unique_descriptor descriptor_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

class answering {
 public:
  answering(int in, int out, std::shared_ptr<trace::file> recording)
      : in_(in), out_(out), file_(std::move(recording)), bytes_(file_->source()) {}
  result<void> run() {
    const auto begin = steady::now();
    for (;;) {
      const bool sends = sent_ < queued_.size();
      std::array<pollfd, 3> watched{{{in_, static_cast<short>(takes_requests() ? POLLIN : 0), 0},
                                     {out_, static_cast<short>(sends ? POLLOUT : 0), 0},
                                     {wake_event_.descriptor(), POLLIN, 0}}};
      if (::poll(watched.data(), watched.size(), 1'000) < 0 && errno != EINTR)
        return fail(error_code::io, "cannot wait: " + describe_errno(errno));
      if ((watched[2].revents & POLLIN) != 0) wake_event_.silence();
      if ((watched[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        const auto got = take();
        if (!got) return tl::unexpected(got.error());
        if (!*got) return {};
      }
      if ((watched[1].revents & (POLLERR | POLLHUP)) != 0) return {};
      if (auto done = handle(); !done) return done;
      if (!greeted_ && steady::now() - begin > max_greeting)
        return fail(error_code::foreign, "no requests on standard input", {},
                    "`sluice open ssh://HOST/PATH` starts this command itself");
      send_rows();
      if (!send()) return {};
    }
  }

 private:
  /// False while large replies are queued. Replies with bytes of the file are large, so a peer should read one before
  /// it requests the next.
  [[nodiscard]] bool takes_requests() const { return queued_.size() - sent_ < std::size_t{2} * max_read; }

  /// Reads requests. Returns false if the input has ended.
  result<bool> take() {
    std::byte bytes[asked_at_once];
    const ssize_t got = ::read(in_, bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got < 0) return fail(error_code::io, "cannot read: " + describe_errno(errno));
    came_.add(std::span(bytes).first(static_cast<std::size_t>(got)));
    return got > 0;
  }

  result<void> handle() {
    while (takes_requests()) {
      auto next = came_.next();
      if (!next) return tl::unexpected(next.error());
      if (!*next) return {};
      if (!handle(**next)) return fail(error_code::foreign, "the peer on standard input is not Sluice");
    }
    return {};
  }

  bool handle(const frame& request) {
    if (!greeted_) {
      const auto said = message_in<hello_message>(request.payload);
      if (request.kind != frame_kind::hello || !said || said->magic != protocol_magic) return false;
      greeted_ = true;
      put_frame(queued_, frame_kind::hello, request.id, get_bytes(hello_message{}),
                std::as_bytes(std::span(bytes_.path())));
      return true;
    }
    switch (request.kind) {
      case frame_kind::sql:
        start(request);
        return true;
      case frame_kind::withdraw:
        running_.erase(request.id);
        return true;
      default:
        return bytes_.reply(request, queued_);
    }
  }

  void start(const frame& request) {
    if (running_.size() >= max_running || running_.contains(request.id))
      return put_failure(queued_, request.id,
                         {error_code::invalid_argument, "too many queries are running", {}, error::no_offset, {}});
    if (auto next = file_->successor(); next && *next) file_ = std::move(*next);
    static_cast<void>(file_->refresh());
    const query::sql_task_options options{
        .rows = query::max_sent_rows, .bytes = query::max_sent_bytes, .wake = [this] { wake_event_.ring(); }};
    std::string text(reinterpret_cast<const char*>(request.payload.data()), request.payload.size());
    running_.emplace(request.id, std::make_unique<query::sql_task>(file_->latest(), std::move(text), options));
  }

  /// Queues the rows of queries that are done.
  void send_rows() {
    std::erase_if(running_, [this](const auto& each) {
      const auto& [id, task] = each;
      if (!task->done()) return false;
      const auto found = task->found();
      if (found->failure) {
        put_failure(queued_, id, *found->failure);
      } else {
        put_frame(queued_, frame_kind::rows, id, query::encode_rows(*found));
      }
      return true;
    });
  }

  /// Sends queued bytes. Returns false if the peer has closed the connection.
  bool send() {
    while (sent_ < queued_.size()) {
      const ssize_t went = ::write(out_, queued_.data() + sent_, queued_.size() - sent_);
      if (went < 0 && errno == EINTR) continue;
      if (went < 0) return errno == EAGAIN;
      sent_ += static_cast<std::size_t>(went);
    }
    queued_.clear();
    sent_ = 0;
    return true;
  }

  const int in_;
  const int out_;
  const wake_event wake_event_;  ///< Signalled by the threads of queries.
  std::shared_ptr<trace::file> file_;
  served_recording bytes_;
  frame_buffer came_{max_request};
  std::vector<std::byte> queued_;
  std::size_t sent_ = 0;
  bool greeted_ = false;
  std::map<std::uint64_t, std::unique_ptr<query::sql_task>> running_;  ///< SQL queries, by the id of their request.
};

}  // namespace

result<void> result_on(int in, int out, std::shared_ptr<trace::file> recording) {
  ::signal(SIGPIPE, SIG_IGN);  // Writing detects that a peer is gone.
  ::fcntl(out, F_SETFL, ::fcntl(out, F_GETFL) | O_NONBLOCK);
  return answering(in, out, std::move(recording)).run();
}

}  // namespace sluice::remote
