#include "instrumentation/writer/session/listener.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace sluice::writer {

namespace {

constexpr std::size_t max_silent_clients = 64;
constexpr int max_accepted_at_once = 256;  ///< Per socket.
constexpr std::size_t max_notes = 4096;

/// An unguessable number. Does not use std::random_device, which would require a C library as new as the build
/// machine's.
std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (getrandom(&word, sizeof word, 0) == sizeof word) return word;
  const unique_descriptor source(::open("/dev/urandom", O_RDONLY | O_CLOEXEC));  // A sandbox may forbid getrandom.
  if (!source || ::read(source.get(), &word, sizeof word) != sizeof word) std::abort();
  return word;
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) (text += digits[byte >> 4]) += digits[byte & 15];
  return text;
}

unique_descriptor listen_at(const std::string& name) {
  unique_descriptor s(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  socklen_t length = 0;
  const bool listens = s && ring::socket_address(name.c_str(), address, length) &&
                       ::bind(s.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 &&
                       ::listen(s.get(), SOMAXCONN) == 0;
  return listens ? std::move(s) : unique_descriptor();
}

/// The client's pid, from the kernel; 0 if the client is in a pid namespace that is not visible from here.
std::uint64_t get_pid(int client) {
  ucred peer{};
  socklen_t length = sizeof peer;
  const bool known = getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0;
  return known ? static_cast<std::uint64_t>(peer.pid) : 0;
}

/// A client's only message, and the first descriptor sent with it. Other descriptors are closed.
struct client_message {
  ssize_t bytes = -1;  ///< Length of the message; -1: no message yet, see errno.
  ring::hello content{.magic = 0, .version = 0};
  int file = -1;
};

client_message receive(int client) {
  client_message got;
  iovec part{&got.content, sizeof got.content};
  constexpr std::size_t max_files = 16;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * max_files)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  do {
    got.bytes = recvmsg(client, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got.bytes < 0 && errno == EINTR);
  if (got.bytes < 0) return got;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t files = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < files; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(c) + i * sizeof file, sizeof file);
      if (got.file < 0) {
        got.file = file;
      } else {
        ::close(file);
      }
    }
  }
  return got;
}

bool out_of_descriptors(int number) { return number == EMFILE || number == ENFILE; }

}  // namespace

greeting check_greeting(std::span<const std::byte> message, std::span<const unsigned char, ring::secret_bytes> secret) {
  ring::hello said{.magic = 0, .version = 0};
  if (message.size() != sizeof said) return greeting::stranger;
  std::memcpy(&said, message.data(), sizeof said);
  unsigned different = 0;
  for (std::size_t i = 0; i < ring::secret_bytes; ++i) different |= static_cast<unsigned>(said.secret[i] ^ secret[i]);
  if (different != 0) return greeting::stranger;
  const bool sensible = said.magic == ring::hello::magic_number && said.version == ring::hello{}.version;
  return sensible ? greeting::known : greeting::nonsense;
}

std::optional<loss_note> parse_note(std::string_view text) {
  loss_note note;
  const std::string whole(text);
  char why = 0;
  int pid = 0;
  unsigned long long events = 0, memory_events = 0;
  char program[65] = {};
  if (std::sscanf(whole.c_str(), "%c %d %llu %llu %64[ -~]", &why, &pid, &events, &memory_events, program) < 4)
    return {};
  if (pid <= 0 || std::string_view("dfmrs").find(why) == std::string_view::npos) return {};
  note.why = static_cast<ring::no_ring_reason>(why);
  note.pid = static_cast<std::uint64_t>(pid);
  note.events = std::min<std::uint64_t>(events, std::uint64_t{1} << 48);
  note.memory_events = std::min<std::uint64_t>(memory_events, note.events);
  note.program = program;
  return note;
}

result<listener> listener::open() {
  listener opened;
  for (std::size_t at = 0; at < ring::secret_bytes; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random_word();
    std::memcpy(opened.secret_.data() + at, &word, sizeof word);
  }
  const std::string name = "@sluice-" + std::to_string(::getpid()) + "-" + std::to_string(random_word());
  opened.public_socket_ = listen_at(name);
  if (!opened.public_socket_) {
    return fail(error_code::unavailable, "cannot open a socket for the recording: " + describe_errno(errno));
  }
  opened.name_ = hexadecimal(opened.secret_) + name;
  opened.folder_ = private_folder::make();
  if (opened.folder_) {
    const std::string path = opened.folder_->path() + "/socket";
    opened.private_socket_ = listen_at(path);
    if (opened.private_socket_) opened.name_ += ":" + path;
  }
  opened.spare_ = unique_descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return opened;
}

void listener::close() {
  public_socket_ = {};
  private_socket_ = {};
  silent_.clear();
}

/// Accepts a client. Returns false if none is waiting.
bool listener::accept_one(const unique_descriptor& socket, std::vector<std::string>& complaints) {
  const auto accept = [&] { return ::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); };
  unique_descriptor client(accept());
  if (client) {
    silent_.push_back(std::move(client));
    return true;
  }
  if (errno == EINTR || errno == ECONNABORTED) return true;
  if (!out_of_descriptors(errno)) return false;
  // If the client stayed in the queue, it would wait forever while its process believes that it is being recorded.
  if (!std::exchange(descriptors_spent_, true)) {
    complaints.push_back(
        "the recorder has no descriptor left for more processes: their activity is not recorded (ulimit -n)");
  }
  if (!silent_.empty()) silent_.erase(silent_.begin());
  spare_ = {};
  const bool turned_away = static_cast<bool>(unique_descriptor(accept()));
  if (turned_away) ++turned_away_;
  spare_ = unique_descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return turned_away;
}

void listener::accept_from(const unique_descriptor& socket, std::vector<std::string>& complaints) {
  if (!socket) return;
  for (int i = 0; i < max_accepted_at_once && accept_one(socket, complaints); ++i) {
  }
}

void listener::hear(unique_descriptor client, std::vector<arrival>& arrivals, std::vector<std::string>& complaints) {
  client_message got = receive(client.get());
  if (got.bytes < 0) {
    if (errno == EAGAIN) silent_.push_back(std::move(client));
    return;
  }
  unique_descriptor file(got.file);
  if (got.bytes == 0 && !file) return;  // The client has ended, or only woke us because its ring is half full.
  const std::uint64_t pid = get_pid(client.get());
  const std::string who = "process " + std::to_string(pid);
  const auto bytes = std::as_bytes(std::span(&got.content, 1)).first(static_cast<std::size_t>(got.bytes));
  switch (check_greeting(bytes, secret_)) {
    case greeting::stranger:
      if (!std::exchange(strangers_met_, true)) {
        complaints.push_back(
            who +
            " contacted the recorder without its secret, which only CMD and its child processes have: this and "
            "other such processes are ignored");
      }
      return;
    case greeting::nonsense:
      complaints.push_back(who + " sent an invalid message; it is ignored");
      ++turned_away_;
      return;
    case greeting::known:
      break;
  }
  auto reader =
      file ? ring_reader::adopt(file.release())
           : result<ring_reader>(fail(error_code::unavailable, "no ring (is the recorder out of descriptors?)"));
  if (reader) {
    arrivals.push_back({std::move(*reader), pid});
  } else {
    ++turned_away_;
    complaints.push_back(who + " sent " + reader.error().message + "; it is ignored");
  }
}

std::vector<arrival> listener::take(std::vector<std::string>& complaints) {
  accept_from(private_socket_, complaints);
  accept_from(public_socket_, complaints);
  std::vector<arrival> arrivals;
  for (unique_descriptor& client : std::exchange(silent_, {})) hear(std::move(client), arrivals, complaints);
  // Clients send their message immediately or never. If too many are silent, drop those that connected first.
  if (silent_.size() > max_silent_clients) silent_.erase(silent_.begin(), silent_.end() - max_silent_clients);
  return arrivals;
}

std::vector<loss_note> listener::notes() const {
  std::vector<loss_note> found;
  if (!folder_) return found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder_->path(), none)) {
    if (found.size() == max_notes) break;
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(ring::note_prefix) || name.ends_with(".new")) continue;
    if (auto note = parse_note(std::filesystem::read_symlink(entry.path(), none).string()))
      found.push_back(std::move(*note));
  }
  return found;
}

process_watch::process_watch(std::uint64_t pid, bool with_descriptor)
    : pid_(pid),
      handle_(pid == 0 || !with_descriptor ? -1
                                           : static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0))) {}

bool process_watch::ended() const {
  if (pid_ == 0) return false;
  if (!handle_) return ::kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH;
  pollfd state{handle_.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

}  // namespace sluice::writer
