#include "core/remote/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "core/base/printable.hpp"
#include "core/base/system/child_process.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/remote/socket_address.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds max_sending{10'000};
constexpr milliseconds greeting_of_socket{5'000};
constexpr std::size_t received_at_once = std::size_t{256} << 10;

/// Reads the standard error of a program and keeps only its end, in memory, because the output of a remote machine may
/// be endless. Thread-safe.
class complaints {
 public:
  /// Takes the end of a pipe.
  void take(unique_descriptor from) {
    ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
    from_ = std::move(from);
  }
  /// The descriptor to wait for; negative if there is none.
  [[nodiscard]] int descriptor() {
    const std::scoped_lock lock(mutex_);
    return from_.get();
  }

  /// Reads some of the available output, but not all of it, because endless output must not block other work. If nobody
  /// calls this function, the program waits for space in the pipe.
  void listen() {
    const std::scoped_lock lock(mutex_);
    char some[4096];
    for (int turn = 0; turn < max_turns && from_; ++turn) {
      const ssize_t got = ::read(from_.get(), some, sizeof some);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        from_ = {};
        return;
      }
      end_.append(some, static_cast<std::size_t>(got));
      if (end_.size() > kept) end_.erase(0, end_.size() - kept);
    }
  }

  /// Returns the last line, for an error message, or an empty text if there is none.
  [[nodiscard]] std::string last_line() {
    listen();
    const std::scoped_lock lock(mutex_);
    const std::size_t end = end_.find_last_not_of("\r\n ");
    if (end == std::string::npos) return {};
    const std::size_t before = end_.find_last_of("\r\n", end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return printable_line(std::string_view(end_).substr(begin, end + 1 - begin), longest_line);
  }

 private:
  static constexpr int max_turns = 16;
  static constexpr std::size_t kept = 4096;         // bytes
  static constexpr std::size_t longest_line = 500;  // bytes
  std::mutex mutex_;
  unique_descriptor from_;  ///< Guarded by `mutex_`.
  std::string end_;         ///< Guarded by `mutex_`.
};

}  // namespace

struct connection::state {
  std::string name;
  child_process program;     ///< The program on the other side of the socket, if this process has started it.
  unique_descriptor socket;  ///< Non-blocking.
  mutable complaints said;   ///< The standard error of `program`.
  int wake_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  std::string recording;

  std::mutex sending;  ///< Held while a frame is sent.
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::map<std::uint64_t, on_reply> open;  ///< The open requests, by id. Guarded by `mutex`.
  std::uint64_t last_id = 0;               ///< Guarded by `mutex`.
  std::optional<error> over;               ///< Why the connection ended. Guarded by `mutex`.
  std::atomic<bool> stopping{false};
  worker_thread thread;

  ~state() {
    stop();
    thread.join();
    ::close(wake_event);
    socket = {};
    // A program ends by itself when its input ends, unless it hangs.
    program.end(milliseconds(100), milliseconds(400));
  }

  void stop() {
    stopping = true;
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_event, &one, sizeof one));
  }

  [[nodiscard]] error lost(std::string message) const {
    error output{error_code::io, std::move(message), name, error::no_offset, {}};
    if (const std::string line = said.last_line(); !line.empty()) output.message += " (" + line + ")";
    return output;
  }

  /// Waits until the socket is ready, the connection is stopped, or `until`. Returns true if it is ready.
  [[nodiscard]] bool wait(short events, steady::time_point until) const {
    while (!stopping) {
      const auto left = std::chrono::ceil<milliseconds>(until - steady::now());
      pollfd watched[3] = {{socket.get(), events, 0}, {wake_event, POLLIN, 0}, {said.descriptor(), POLLIN, 0}};
      const int most = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
      const int ready = ::poll(watched, 3, most);
      if (ready < 0 && errno == EINTR) continue;
      if (stopping || ready < 0) return false;
      if (watched[2].revents != 0) said.listen();
      if (watched[0].revents != 0) return true;
      if (steady::now() >= until) return false;
    }
    return false;
  }

  /// Sends all of `bytes`. The caller holds `sending`.
  result<void> send(std::span<const std::byte> bytes) const {
    const auto until = steady::now() + max_sending;
    while (!bytes.empty()) {
      const ssize_t went = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (went >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(went));
      } else if (errno == EAGAIN) {
        if (!wait(POLLOUT, until)) return tl::unexpected(lost("the other side has stopped reading"));
      } else if (errno != EINTR) {
        return tl::unexpected(lost("the connection has ended"));
      }
    }
    return {};
  }

  result<void> send_frame(frame_kind kind, std::uint64_t id, std::span<const std::byte> payload) {
    std::vector<std::byte> bytes;
    put_frame(bytes, kind, id, payload);
    const std::scoped_lock lock(sending);
    return send(bytes);
  }

  /// Reads the available bytes, or waits for some. Errors: io.
  result<void> receive(frame_buffer& into, steady::time_point until) const {
    std::vector<std::byte> bytes(received_at_once);
    if (!wait(POLLIN, until)) return tl::unexpected(lost(stopping ? "cancelled" : "no reply"));
    const ssize_t got = ::read(socket.get(), bytes.data(), bytes.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return {};
    if (got <= 0) return tl::unexpected(lost("the connection has ended"));
    into.add(std::span(bytes).first(static_cast<std::size_t>(got)));
    return {};
  }

  void end_with(const error& why) {
    std::map<std::uint64_t, on_reply> left;
    {
      const std::scoped_lock lock(mutex);
      if (!over) over = why;
      left.swap(open);
    }
    for (const auto& [id, then] : left) then(tl::unexpected(why));
    changed.notify_all();
  }

  void hand_out(frame&& came) {
    on_reply then;
    {
      const std::scoped_lock lock(mutex);
      const auto found = open.find(came.id);
      if (found == open.end()) return;  // The request was withdrawn.
      then = std::move(found->second);
      open.erase(found);
    }
    if (came.kind == frame_kind::failure) return then(tl::unexpected(failure_in(came.payload, name)));
    then(std::move(came));
  }

  /// Reads frames until the connection ends. `held` contains the bytes after the greeting.
  void work(frame_buffer held) {
    for (;;) {
      auto next = held.next();
      if (!next) return end_with(lost("received invalid data instead of a frame"));
      if (*next) {
        hand_out(std::move(**next));
        continue;
      }
      const auto got = receive(held, steady::time_point::max() - std::chrono::hours(1));
      if (!got) return end_with(got.error());
    }
  }
};

connection::connection(std::unique_ptr<state> s) : state_(std::move(s)) {}
connection::~connection() = default;
const std::string& connection::name() const { return state_->name; }
const std::string& connection::recording() const { return state_->recording; }

bool connection::alive() const {
  const std::scoped_lock lock(state_->mutex);
  return !state_->over;
}

void connection::end() { state_->stop(); }

/// Exchanges greetings and starts the thread.
result<std::shared_ptr<connection>> connection::greeted(std::unique_ptr<state> s, milliseconds most,
                                                        const std::function<bool()>& cancelled) {
  constexpr milliseconds look_at_cancel{100};
  if (auto sent = s->send_frame(frame_kind::hello, 0, get_bytes(hello_message{})); !sent)
    return tl::unexpected(sent.error());
  frame_buffer came(max_reply);
  const auto until = steady::now() + most;
  while (!cancelled || !cancelled()) {
    auto next = came.next();
    const auto said = next && *next ? message_in<hello_message>((*next)->payload) : std::nullopt;
    const bool is_ours = said && (*next)->kind == frame_kind::hello && said->magic == protocol_magic;
    if (!next || (*next && !is_ours))
      return fail(error_code::foreign, "does not reply like a Sluice server", s->name,
                  "the remote shell's start files must not print anything");
    if (!*next) {
      if (!s->wait(POLLIN, std::min(steady::now() + look_at_cancel, until)) && steady::now() < until) continue;
      if (auto got = s->receive(came, until); !got) return tl::unexpected(got.error());
      continue;
    }
    if (said->version != protocol_version)
      return fail(error_code::newer_version, "uses version " + std::to_string(said->version) + " of the protocol",
                  s->name, "use the same Sluice on both sides");
    constexpr std::size_t longest_path = 4096;
    const auto path = std::span<const std::byte>((*next)->payload).subspan(sizeof *said);
    s->recording.assign(reinterpret_cast<const char*>(path.data()), std::min(path.size(), longest_path));
    std::shared_ptr<connection> output(new connection(std::move(s)));
    const auto work = [raw = output->state_.get(), held = std::move(came)]() mutable { raw->work(std::move(held)); };
    if (auto started = output->state_->thread.start(work, output->name()); !started)
      return tl::unexpected(started.error());
    return output;
  }
  return fail(error_code::cancelled, "the opening was cancelled", s->name);
}

result<std::shared_ptr<connection>> connection::to_socket(const std::string& path, const std::string& name) {
  auto s = std::make_unique<state>();
  s->name = name;
  const auto address = socket_address(path);
  if (!address)
    return fail(error_code::invalid_argument, "is not a path for a socket, which has at most 107 bytes", name);
  s->socket = unique_descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!s->socket || ::connect(s->socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const bool absent = errno == ENOENT;
    return fail(absent ? error_code::not_found : error_code::io, "cannot connect: " + describe_errno(errno), name,
                "use the socket that `sluice record --live` prints");
  }
  ::fcntl(s->socket.get(), F_SETFL, O_NONBLOCK);
  return greeted(std::move(s), greeting_of_socket, {});
}

result<std::shared_ptr<connection>> connection::to_program(const std::vector<std::string>& words,
                                                           const std::string& name, milliseconds most,
                                                           const std::function<bool()>& cancelled) {
  auto s = std::make_unique<state>();
  s->name = name;
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(error_code::unavailable, "cannot make a socket: " + describe_errno(errno), name);
  s->socket = unique_descriptor(ends[0]);
  unique_descriptor of_program(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  auto started =
      child_process::start({.words = words, .input = ends[1], .output = ends[1], .errors = child_stream::pipe});
  if (!started) return tl::unexpected(started.error());
  s->program = std::move(*started);
  s->said.take(std::move(s->program.errors()));
  of_program = {};  // So that the end of the program ends the stream.
  return greeted(std::move(s), most, cancelled);
}

std::uint64_t connection::begin(frame_kind kind, std::span<const std::byte> payload, on_reply then) {
  std::uint64_t id = 0;
  std::optional<error> over;
  {
    const std::scoped_lock lock(state_->mutex);
    id = ++state_->last_id;
    over = state_->over;
    if (!over) state_->open.emplace(id, std::move(then));
  }
  if (over) {
    then(tl::unexpected(*over));
    return id;
  }
  if (auto sent = state_->send_frame(kind, id, payload); !sent) {
    state_->end_with(sent.error());
    state_->stop();
  }
  return id;
}

void connection::withdraw(std::uint64_t id) {
  {
    const std::scoped_lock lock(state_->mutex);
    if (state_->open.erase(id) == 0) return;
  }
  static_cast<void>(state_->send_frame(frame_kind::withdraw, id, {}));
}

result<frame> connection::ask(frame_kind kind, std::span<const std::byte> payload, frame_kind wanted,
                              milliseconds most) {
  struct waiting {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<result<frame>> reply;
  };
  const auto shared = std::make_shared<waiting>();
  const std::uint64_t id = begin(kind, payload, [shared](result<frame> reply) {
    const std::scoped_lock lock(shared->mutex);
    shared->reply = std::move(reply);
    shared->came.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  if (!shared->came.wait_for(lock, most, [&] { return shared->reply.has_value(); })) {
    lock.unlock();
    const std::scoped_lock forget(state_->mutex);
    state_->open.erase(id);
    return fail(error_code::io, "no reply", name());
  }
  if (*shared->reply && (**shared->reply).kind != wanted)
    return fail(error_code::corrupt, "received an unexpected kind of reply", name());
  return std::move(*shared->reply);
}

}  // namespace sluice::remote
