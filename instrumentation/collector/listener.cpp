#include "instrumentation/collector/listener.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "instrumentation/collector/protocol.hpp"

namespace sluice::collector {

unique_descriptor& unique_descriptor::operator=(unique_descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

unique_descriptor::~unique_descriptor() {
  if (number_ >= 0) ::close(number_);
}

int unique_descriptor::release() { return std::exchange(number_, -1); }

namespace {

constexpr std::size_t most_silent_clients = 256;

std::string new_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) random = static_cast<std::uint64_t>(getpid());
  char name[64];
  std::snprintf(name, sizeof name, "@sluice-%d-%016llx", static_cast<int>(getpid()),
                static_cast<unsigned long long>(random));
  return name;
}

/// Whether `client` may send us rings: our own user, root, or anyone if we are root.
bool trusted(int client, std::uint64_t& pid) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  pid = peer.pid > 0 ? static_cast<std::uint64_t>(peer.pid) : 0;
  return geteuid() == 0 || peer.uid == 0 || peer.uid == geteuid();
}

enum class reception : std::uint8_t { silent, nonsense, gone, ring };

/// Reads the one message of a client. Descriptors that it did not have to send are closed.
reception receive(int client, int& ring_file) {
  hello greeting{.magic = 0, .version = 0};
  iovec part{&greeting, sizeof greeting};
  constexpr std::size_t most_files = 16;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * most_files)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? reception::silent : reception::gone;

  ring_file = -1;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t files = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < files; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(c) + i * sizeof file, sizeof file);
      if (ring_file < 0) {
        ring_file = file;
      } else {
        ::close(file);
      }
    }
  }
  if (got == 0 && ring_file < 0) return reception::gone;
  const bool sensible = got == static_cast<ssize_t>(sizeof greeting) && greeting.magic == hello_magic &&
                        greeting.version == hello{}.version && ring_file >= 0;
  if (!sensible && ring_file >= 0) ::close(std::exchange(ring_file, -1));
  return sensible ? reception::ring : reception::nonsense;
}

}  // namespace

result<listener> listener::open() {
  unique_descriptor s(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  std::string name = new_name();
  sockaddr_un address{};
  socklen_t length = 0;
  if (!s || !socket_address(name.c_str(), address, length) ||
      ::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 || ::listen(s.get(), SOMAXCONN) != 0) {
    return fail(error_code::unavailable, "cannot open a socket for the recording: " + describe_errno(errno), name);
  }
  return listener(std::move(s), std::move(name));
}

std::vector<arrival> listener::take(std::vector<std::string>& complaints) {
  for (;;) {
    unique_descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      break;
    }
    silent_.push_back(std::move(client));
  }
  std::vector<arrival> arrivals;
  std::vector<unique_descriptor> still_silent;
  for (unique_descriptor& client : silent_) {
    std::uint64_t pid = 0;
    if (!trusted(client.get(), pid)) continue;
    int ring_file = -1;
    switch (receive(client.get(), ring_file)) {
      case reception::silent:
        still_silent.push_back(std::move(client));
        break;
      case reception::gone:
        break;
      case reception::nonsense:
        complaints.push_back("process " + std::to_string(pid) + " sent something that is no recording; it is ignored");
        break;
      case reception::ring:
        if (auto reader = ring_reader::adopt(ring_file)) {
          arrivals.push_back({std::move(*reader), pid});
        } else {
          complaints.push_back("process " + std::to_string(pid) + " sent " + reader.error().message +
                               "; it is ignored");
        }
        break;
    }
  }
  // Clients speak at once or never; the oldest of too many go first.
  if (still_silent.size() > most_silent_clients) {
    still_silent.erase(still_silent.begin(), still_silent.end() - most_silent_clients);
  }
  silent_ = std::move(still_silent);
  return arrivals;
}

process_watch::process_watch(std::uint64_t pid)
    : pid_(pid), handle_(pid == 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0))) {}

bool process_watch::ended() const {
  if (pid_ == 0) return false;
  if (!handle_) return ::kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
  pollfd state{handle_.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace sluice::collector
