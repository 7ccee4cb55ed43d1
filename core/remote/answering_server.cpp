#include "core/remote/answering_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "core/base/system/unique_descriptor.hpp"
#include "core/query/elsewhere/queries.hpp"
#include "core/query/elsewhere/question_desk.hpp"
#include "core/remote/frames.hpp"
#include "core/remote/served_recording.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::chrono::seconds max_greeting{60};
constexpr std::size_t asked_at_once = std::size_t{64} << 10;
/// While more bytes than this are queued, no results are computed, because their queries may be withdrawn before the
/// bytes are sent.
constexpr std::size_t max_queued = std::size_t{96} << 10;
/// The interval for checking for partial results.
constexpr int ring_every = 100;  // ms

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
  answering(int in, int out, const std::shared_ptr<trace::file>& recording)
      : in_(in),
        out_(out),
        recording_(recording->path()),
        engine_(recording, {.wake = [this] { wake_event_.ring(); }}),
        desk_(engine_) {}
  result<void> run() {
    const auto begin = steady::now();
    for (;;) {
      const bool sends = sent_ < queued_.size();
      std::array<pollfd, 3> watched{{{in_, static_cast<short>(takes_requests() ? POLLIN : 0), 0},
                                     {out_, static_cast<short>(sends ? POLLOUT : 0), 0},
                                     {wake_event_.descriptor(), POLLIN, 0}}};
      const int wait = desk_.empty() ? 1'000 : ring_every;
      if (::poll(watched.data(), watched.size(), wait) < 0 && errno != EINTR)
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
      serve_query();
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
      hello_message reply;
      reply.results = 1;
      put_frame(queued_, frame_kind::hello, request.id, get_bytes(reply), std::as_bytes(std::span(recording_.path())));
      return true;
    }
    switch (request.kind) {
      case frame_kind::outline:
        reply_with_outline(request);
        return true;
      case frame_kind::query:
        if (auto opened = desk_.ask(request.id, request.payload); !opened)
          put_failure(queued_, request.id, opened.error());
        return true;
      case frame_kind::withdraw:
        desk_.withdraw(request.id);
        return true;
      default:
        return recording_.reply(request, queued_);
    }
  }

  void reply_with_outline(const frame& request) {
    const auto layout = message_in<std::uint64_t>(request.payload);
    if (layout != query::layout_of_queries())
      return put_failure(queued_, request.id,
                         {error_code::unavailable,
                          "the remote version of Sluice is different",
                          {},
                          error::no_offset,
                          "install the same version on both machines"});
    engine_.refresh();
    put_frame(queued_, frame_kind::outline, request.id, query::encode_outline(engine_.snapshot()->about()));
  }

  void serve_query() {
    while (queued_.size() - sent_ < max_queued) {
      const auto next = desk_.next();
      if (!next) return;
      if (next->failure) {
        put_failure(queued_, next->id, *next->failure);
        continue;
      }
      result_message head;
      head.last = next->last ? 1 : 0;
      head.progress = next->progress;
      put_frame(queued_, frame_kind::result, next->id, get_bytes(head), next->bytes);
    }
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
  const wake_event wake_event_;  ///< Signalled by the engine's threads.
  served_recording recording_;
  frame_buffer came_{max_request};
  std::vector<std::byte> queued_;
  std::size_t sent_ = 0;
  bool greeted_ = false;
  query::engine engine_;
  query::question_desk desk_;  ///< Declared after the engine, so that it is destroyed first.
};

}  // namespace

result<void> result_on(int in, int out, std::shared_ptr<trace::file> recording) {
  ::signal(SIGPIPE, SIG_IGN);  // Writing detects that a peer is gone.
  ::fcntl(out, F_SETFL, ::fcntl(out, F_GETFL) | O_NONBLOCK);
  return answering(in, out, recording).run();
}

}  // namespace sluice::remote
