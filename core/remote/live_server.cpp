#include "core/remote/live_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/system/unique_descriptor.hpp"
#include "core/base/threads/worker_thread.hpp"
#include "core/remote/frames.hpp"
#include "core/remote/served_recording.hpp"
#include "core/remote/socket_address.hpp"

namespace sluice::remote {
namespace {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The most bytes read from a peer at once.
constexpr std::size_t taken_at_once = std::size_t{64} << 10;
/// The longest payload of this server's requests.
constexpr std::size_t max_payload = 64;
constexpr milliseconds longest_wait{1'000};

bool is_allowed(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

/// A connected peer.
class peer {
 public:
  peer(int socket, const std::string& path) : socket_(socket), recording_(path) {}

  [[nodiscard]] int socket() const { return socket_.get(); }
  [[nodiscard]] short awaits() const { return sent_ < out_.size() ? POLLOUT : POLLIN; }
  [[nodiscard]] bool has_all() const { return recording_.has_all() && sent_ == out_.size(); }
  [[nodiscard]] steady::time_point active() const { return active_; }

  /// The time at which a silent peer is disconnected; none if the peer may be silent.
  [[nodiscard]] std::optional<steady::time_point> deadline(const server_limits& limits) const {
    if (!greeted_) return since_ + limits.greeting;
    if (sent_ < out_.size()) return std::min(active_ + limits.stalled, replied_ + limits.reply);
    return std::nullopt;
  }

  /// Sends and receives as much as possible without waiting. Returns false if the connection has ended.
  bool go_on(short ready, bool ended) {
    if (ended) recording_.end();
    if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0 && sent_ == out_.size() && !take()) return false;
    return send() && handle();
  }

 private:
  bool take() {
    std::byte bytes[taken_at_once];
    const ssize_t got = ::recv(socket(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    active_ = steady::now();
    in_.add(std::span(bytes).first(static_cast<std::size_t>(got)));
    return true;
  }

  bool send() {
    while (sent_ < out_.size()) {
      const ssize_t went = ::send(socket(), out_.data() + sent_, out_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (went < 0 && errno == EINTR) continue;
      if (went < 0) return errno == EAGAIN;
      sent_ += static_cast<std::size_t>(went);
      active_ = steady::now();
    }
    out_.clear();
    sent_ = 0;
    return true;
  }

  /// Replies to one request after another. An unsent reply delays the next request, so that a peer cannot take more
  /// memory than one reply.
  bool handle() {
    while (out_.empty()) {
      const auto next = in_.next();
      if (!next) return false;
      if (!*next) return true;
      replied_ = steady::now();
      if (!greeted_) {
        const auto said = message_in<hello_message>((*next)->payload);
        if ((*next)->kind != frame_kind::hello || !said || said->magic != protocol_magic) return false;
        greeted_ = true;
        put_frame(out_, frame_kind::hello, (*next)->id, get_bytes(hello_message{}),
                  std::as_bytes(std::span(recording_.path())));
      } else if (!recording_.reply(**next, out_)) {
        return false;
      }
      if (!send()) return false;
    }
    return true;
  }

  const unique_descriptor socket_;
  served_recording recording_;
  frame_buffer in_{max_payload};
  std::vector<std::byte> out_;  ///< The reply that is being sent.
  std::size_t sent_ = 0;
  bool greeted_ = false;
  const steady::time_point since_ = steady::now();
  steady::time_point active_ = since_;   ///< The last time that bytes were sent or received.
  steady::time_point replied_ = since_;  ///< The time of the last reply.
};

/// A listening socket of mode 0600 at `path`.
result<int> listen_at(const std::string& path) {
  const auto address = socket_address(path);
  if (!address)
    return fail(error_code::invalid_argument, "is not a path for a socket, which has at most 107 bytes", path);
  const int value = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto* const where = reinterpret_cast<const sockaddr*>(&*address);
  // The socket's file gets the mode of the socket.
  const bool bound = value >= 0 && ::fchmod(value, 0600) == 0 && ::bind(value, where, sizeof *address) == 0;
  if (bound && ::listen(value, 16) == 0) return value;
  const int why = errno;
  if (value >= 0) ::close(value);
  if (why == EADDRINUSE)
    return fail(error_code::invalid_argument, "already exists", path, "choose another socket, or remove it");
  return fail(error_code::unavailable, "cannot listen there: " + describe_errno(why), path);
}

/// Removes a socket of this user that a killed process left at `path`.
void remove_left_socket(const std::string& path) {
  const auto address = socket_address(path);
  struct stat there {};
  if (!address || ::lstat(path.c_str(), &there) != 0 || !S_ISSOCK(there.st_mode) || there.st_uid != ::geteuid()) return;
  const unique_descriptor asks(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int result = ::connect(asks.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  if (result != 0 && errno == ECONNREFUSED) ::unlink(path.c_str());
}

}  // namespace

struct live_server::state {
  state(std::string recording, std::string socket, int listening, int event, const server_limits& method)
      : path(std::move(recording)), name(std::move(socket)), limits(method), listener(listening), wake_event(event) {}

  const std::string path;
  const std::string name;
  const server_limits limits;
  const unique_descriptor listener;
  const unique_descriptor wake_event;  ///< An eventfd that is signalled when one of the members below changes.
  std::atomic<bool> stopping{false};
  std::atomic<bool> ended{false};  ///< The recording is complete.
  std::mutex mutex;
  std::condition_variable served;
  bool all_served = false;  ///< True if `ended` is set and no peer needs more data. Guarded by `mutex`.
  // Only the thread uses the members below.
  std::list<peer> peers;
  steady::time_point accepts_again{};  ///< The time to accept peers again, after the process ran out of descriptors.
  worker_thread thread;

  void ring() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_event.get(), &one, sizeof one));
  }

  void accept_some() {
    for (int i = 0; i < 16; ++i) {
      const int came = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (came < 0) {
        // Without a free descriptor, the peer stays in the queue and the socket stays readable. Retry later.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) accepts_again = steady::now() + longest_wait;
        return;
      }
      if (!is_allowed(came) || !makes_room()) {
        ::close(came);
        continue;
      }
      peers.emplace_back(came, path);
    }
  }

  /// Returns false if all connections are in use.
  bool makes_room() {
    if (peers.size() < limits.connections) return true;
    const auto oldest = std::min_element(peers.begin(), peers.end(),
                                         [](const peer& a, const peer& b) { return a.active() < b.active(); });
    if (steady::now() - oldest->active() < limits.silent) return false;
    peers.erase(oldest);
    return true;
  }

  [[nodiscard]] int wait_milliseconds() const {
    auto wait = longest_wait;
    const auto now = steady::now();
    for (const peer& each : peers)
      if (const auto at = each.deadline(limits))
        wait = std::clamp(std::chrono::ceil<milliseconds>(*at - now), milliseconds(0), wait);
    return static_cast<int>(wait.count());
  }

  void work() {
    // This affects only this thread. The recorded program comes first.
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, 10));
    std::vector<pollfd> watched;
    while (!stopping) {
      const short accepts = steady::now() < accepts_again ? 0 : POLLIN;
      watched.assign({{wake_event.get(), POLLIN, 0}, {listener.get(), accepts, 0}});
      for (const peer& each : peers) watched.push_back({each.socket(), each.awaits(), 0});
      if (::poll(watched.data(), watched.size(), wait_milliseconds()) < 0) continue;
      std::uint64_t rung = 0;
      if (watched[0].revents != 0) static_cast<void>(!::read(wake_event.get(), &rung, sizeof rung));
      const bool over = ended;
      const auto now = steady::now();
      std::size_t at = 2;
      for (auto each = peers.begin(); each != peers.end(); ++at) {
        const short ready = watched[at].revents;
        const auto deadline = each->deadline(limits);
        const bool late = ready == 0 && deadline && now >= *deadline;
        const bool goes_on = !late && (ready == 0 || each->go_on(ready, over));
        each = goes_on ? std::next(each) : peers.erase(each);
      }
      if (watched[1].revents != 0) accept_some();
      if (!over) continue;
      const std::scoped_lock lock(mutex);
      all_served = std::all_of(peers.begin(), peers.end(), [](const peer& each) { return each.has_all(); });
      served.notify_all();
    }
  }
};

live_server::live_server(std::unique_ptr<state> s) : state_(std::move(s)) {}

result<std::unique_ptr<live_server>> live_server::start(const std::string& path, const std::string& socket,
                                                        const server_limits& limits) {
  remove_left_socket(socket);
  const auto listening = listen_at(socket);
  if (!listening) return tl::unexpected(listening.error());
  auto s = std::make_unique<state>(path, socket, *listening, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), limits);
  if (auto started = s->thread.start([raw = s.get()] { raw->work(); }, socket); !started) {
    ::unlink(socket.c_str());
    return tl::unexpected(started.error());
  }
  return std::unique_ptr<live_server>(new live_server(std::move(s)));
}

live_server::~live_server() {
  state_->stopping = true;
  state_->ring();
  state_->thread.join();
  ::unlink(state_->name.c_str());
}

const std::string& live_server::socket() const { return state_->name; }

void live_server::finish(milliseconds most) {
  state_->ended = true;
  state_->ring();
  std::unique_lock lock(state_->mutex);
  state_->served.wait_for(lock, most, [this] { return state_->all_served; });
}

}  // namespace sluice::remote
