#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Defines how a ring reaches the writer: by a SOCK_SEQPACKET Unix socket. Each ring uses one connection and one
/// message, to which the ring's memfd is attached; then the connection is closed. So a recorded program keeps no
/// descriptor of ours open. It may close all its descriptors, or run out of them, without data loss. All other data is
/// in the ring.
///
/// `SLUICE_SOCKET` contains the addresses. Socket names are public, so it also contains a secret, by which the writer
/// recognizes the recorded program:
///
///   32 hexadecimal digits, "@name" of an abstract socket, then optionally ":" and the path of a second socket
///
/// The second socket is in a folder that only the recorder's user can enter. The producer tries it first, because other
/// users cannot flood it and because it works in other network namespaces. The first socket also works in a chroot and
/// after a change of user.
namespace sluice::ring {

inline constexpr std::size_t secret_bytes = 16;

struct hello {
  static constexpr std::uint64_t magic_number = 0x6f6c'6c65'6863'6c73;  // "slchello" in a dump.
  std::uint64_t magic = magic_number;
  std::uint32_t version = 2;
  std::uint32_t reserved = 0;
  unsigned char secret[secret_bytes] = {};
};
static_assert(sizeof(hello) == 32);

/// The contents of `SLUICE_SOCKET`.
struct writer_address {
  static constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path);
  unsigned char secret[secret_bytes] = {};
  char name[longest_name] = {};  ///< "@name" in the abstract namespace.
  char path[longest_name] = {};  ///< Path of the second socket; empty if there is none.
};

namespace detail {
[[nodiscard]] constexpr int hexadecimal_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
}  // namespace detail

/// Parses the contents of `SLUICE_SOCKET`. Returns false if `text` is not in the format of this version.
[[nodiscard]] inline bool parse_writer_address(const char* text, writer_address& to) noexcept {
  to = {};
  for (unsigned char& byte : to.secret) {
    const int high = detail::hexadecimal_digit(*text);
    const int low = high < 0 ? -1 : detail::hexadecimal_digit(text[1]);
    if (low < 0) return false;
    byte = static_cast<unsigned char>(high * 16 + low);
    text += 2;
  }
  const char* colon = std::strchr(text, ':');
  const std::size_t characters = colon == nullptr ? std::strlen(text) : static_cast<std::size_t>(colon - text);
  if (*text != '@' || characters < 2 || characters >= writer_address::longest_name) return false;
  std::memcpy(to.name, text, characters);
  if (colon == nullptr) return true;
  const std::size_t rest = std::strlen(colon + 1);
  if (rest == 0 || rest >= writer_address::longest_name) return false;
  std::memcpy(to.path, colon + 1, rest);
  return true;
}

/// Makes the address of socket `name`: "@name" is in the abstract namespace, any other name is a path. Returns false if
/// the name does not fit into `address`.
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

/// A process that cannot send a ring leaves a note in the second socket's folder: a dangling symbolic link whose target
/// describes what was lost and why. A link needs no descriptor, and no limit on file sizes applies to it. The link's
/// name consists of this prefix and the pid.
inline constexpr const char* note_prefix = "lost-";

/// Why a process, or some of its threads, had no ring. Notes contain the letter, which means the same in all versions.
enum class no_ring_reason : char {
  descriptors = 'd',  ///< EMFILE, ENFILE: no more open files for the process or the system.
  file_limit = 'f',   ///< The process's limit on file sizes (RLIMIT_FSIZE) is below a ring's size.
  memory = 'm',       ///< No memory for a ring or for its mapping.
  refused = 'r',      ///< The writer's sockets cannot be reached, or are not being emptied.
  slots = 's',        ///< More threads at once than can be recorded.
};

}  // namespace sluice::ring
