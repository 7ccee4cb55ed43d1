#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// How a ring reaches the writer: over a SOCK_SEQPACKET Unix socket, one connection a ring, one message with the ring's
/// memfd attached, and the connection is closed. So a recorded program holds no descriptor of ours open: it may close
/// all of them, or run out of them, and nothing of what follows goes astray. All else is in the ring itself.
namespace sluice::collector {

inline constexpr std::uint64_t hello_magic = 0x6f6c'6c65'6863'6c73;  // "slchello" in a dump.

struct hello {
  std::uint64_t magic = hello_magic;
  std::uint32_t version = 1;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(hello) == 16);

/// Address of a socket by the name that `SLUICE_SOCKET` carries: "@name" is in the abstract namespace, else a path.
/// False if it does not fit.
[[nodiscard]] inline bool socket_address(const char* name, sockaddr_un& address, socklen_t& length) noexcept {
  const std::size_t characters = std::strlen(name);
  if (characters < 2 || characters >= sizeof address.sun_path) return false;
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name, characters);
  const bool abstract = name[0] == '@';
  if (abstract) address.sun_path[0] = '\0';
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + characters + (abstract ? 0 : 1));
  return true;
}

}  // namespace sluice::collector
