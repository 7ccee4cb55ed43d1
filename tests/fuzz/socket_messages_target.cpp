// Handles data that clients send to the recorder's socket, including descriptors. The input is | clients u8 | and for
// each client | what u8 | length u8 | bytes |: `what` gives the number and kind of the descriptors sent with the bytes,
// and whether the bytes begin like a greeting.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "instrumentation/ring/protocol.hpp"
#include "instrumentation/ring/ring.hpp"
#include "instrumentation/writer/session/listener.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::socket_messages {
namespace {

constexpr std::size_t max_clients = 8;
constexpr unsigned max_descriptors = 8;

/// A descriptor of a kind that may be sent by mistake or with malicious intent.
int make_descriptor(unsigned kind, std::span<const std::uint8_t> content) {
  if (kind == 0) return ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (kind == 1) return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int file = memfd_create("fuzz-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const std::size_t sizes[] = {0, 100, ring::ring_data_offset + ring::minimum_ring_bytes};
  const std::size_t size = sizes[std::min(kind, 4U) - 2];
  if (ftruncate(file, static_cast<off_t>(size)) != 0) return file;
  (void)!pwrite(file, content.data(), std::min(content.size(), size), 0);
  if (content.size() % 2 == 0) (void)fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
  return file;
}

/// The sockets of this process, and what a recorded program knows about them.
struct recorder {
  writer::listener heard = writer::listener::open().value();
  ring::writer_address writer_address;
  recorder() {
    if (!ring::parse_writer_address(heard.name().c_str(), writer_address)) __builtin_trap();
  }
};

int connected(const ring::writer_address& to) {
  sockaddr_un address{};
  socklen_t length = 0;
  const int client = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (!ring::socket_address(to.name, address, length) ||
      ::connect(client, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    __builtin_trap();
  }
  return client;
}

void send(int client, std::span<const std::uint8_t> content, unsigned subject, const ring::writer_address& to) {
  const unsigned descriptors = subject % max_descriptors;
  const unsigned kind = subject / max_descriptors % 5;
  bytes message(content.begin(), content.end());
  if (subject >= 128) {
    ring::hello greeting{};
    std::memcpy(greeting.secret, to.secret, sizeof greeting.secret);
    const auto* begin = reinterpret_cast<const std::uint8_t*>(&greeting);
    message.insert(message.begin(), begin, begin + sizeof greeting);
  }
  iovec part{message.data(), message.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * max_descriptors)> control{};
  std::array<int, max_descriptors> files{};
  for (unsigned i = 0; i < descriptors; ++i) files[i] = make_descriptor(kind, content);
  msghdr whole{};
  whole.msg_iov = &part;
  whole.msg_iovlen = 1;
  if (descriptors > 0) {
    whole.msg_control = control.data();
    whole.msg_controllen = CMSG_SPACE(sizeof(int) * descriptors);
    cmsghdr* const head = CMSG_FIRSTHDR(&whole);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int) * descriptors);
    std::memcpy(CMSG_DATA(head), files.data(), sizeof(int) * descriptors);
  }
  (void)::sendmsg(client, &whole, MSG_NOSIGNAL);
  for (unsigned i = 0; i < descriptors; ++i) ::close(files[i]);
}

/// The lowest free descriptor number, which grows if a descriptor leaks.
int lowest_free() {
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(file);
  return file;
}

/// Parses one message or note directly, without a socket.
void read_texts(std::span<const std::uint8_t> input, const ring::writer_address& ours) {
  const std::string text(input.begin(), input.end());
  ring::writer_address other;
  (void)ring::parse_writer_address(text.c_str(), other);
  (void)writer::parse_note(text);
  (void)writer::check_greeting(std::as_bytes(input), ours.secret);
}

void run(std::span<const std::uint8_t> input) {
  static recorder ours;
  static std::vector<std::string> complaints;
  read_texts(input, ours.writer_address);
  if (input.empty()) return;
  (void)ours.heard.take(complaints);  // The first call opens a descriptor that stays open.
  const int before = lowest_free();
  std::vector<int> clients;
  const std::size_t count = input.front() % max_clients;
  for (input = input.subspan(1); clients.size() < count && input.size() >= 2;) {
    const std::size_t length = std::min<std::size_t>(input[1], input.size() - 2);
    clients.push_back(connected(ours.writer_address));
    if (input[0] != 0) send(clients.back(), input.subspan(2, length), input[0], ours.writer_address);  // 0: it stalls.
    input = input.subspan(2 + length);
  }
  for (int turn = 0; turn < 2; ++turn) {
    (void)ours.heard.take(complaints);
    for (const int client : clients) ::close(client);
    clients.clear();
  }
  complaints.clear();
  if (lowest_free() != before) __builtin_trap();
}

std::vector<bytes> seeds() {
  const auto client = [](std::uint8_t value, const bytes& content) {
    bytes output{value, static_cast<std::uint8_t>(content.size())};
    output.insert(output.end(), content.begin(), content.end());
    return output;
  };
  bytes whole{5};
  for (const bytes& each : {client(128 + 4 * 8 + 1, {}), client(128 + 3 * 8 + 2, {1}), client(0, {}),
                            client(1, bytes(16, 7)), client(128, {})}) {
    whole.insert(whole.end(), each.begin(), each.end());
  }
  bytes one{1};
  const bytes ring = client(128 + 4 * 8 + 1, bytes(200, 0));
  one.insert(one.end(), ring.begin(), ring.end());
  return {whole, one};
}

}  // namespace
}  // namespace sluice::fuzz::socket_messages

sluice::fuzz::target sluice::fuzz::socket_messages_target() {
  return {"socket_messages", socket_messages::run, socket_messages::seeds};
}
