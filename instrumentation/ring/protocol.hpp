#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// How a ring reaches the writer: over a SOCK_SEQPACKET Unix socket, one connection a ring, one message with the ring's
/// memfd attached, and the connection is closed. So a recorded program holds no descriptor of ours open: it may close
/// all of them, or run out of them, and nothing of what follows goes astray. All else is in the ring itself.
///
/// `SLUICE_SOCKET` says where, and carries the secret that only the recorded program has, for names of sockets are public:
///
///   32 hexadecimal digits, "@name" of an abstract socket, then, where there is one, ":" and the path of a second socket
///
/// The second lies in a folder that only the recorder's user may enter. It is tried first: other users cannot crowd it, and it
/// is there in another network namespace. The first is there in a chroot, and for a program that becomes another user.
namespace sluice::collector {

inline constexpr std::size_t secret_bytes = 16;

struct hello {
  static constexpr std::uint64_t magic_number = 0x6f6c'6c65'6863'6c73;  // "slchello" in a dump.
  std::uint64_t magic = magic_number;
  std::uint32_t version = 2;
  std::uint32_t reserved = 0;
  unsigned char secret[secret_bytes] = {};
};
static_assert(sizeof(hello) == 32);

/// What `SLUICE_SOCKET` says.
struct door {
  static constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path);
  unsigned char secret[secret_bytes] = {};
  char name[longest_name] = {};  ///< "@name", in the abstract namespace.
  char path[longest_name] = {};  ///< "" if there is none.
};

namespace detail {
[[nodiscard]] constexpr int hexadecimal_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
}  // namespace detail

/// False: it is not what a recorder of this version says.
[[nodiscard]] inline bool parse_door(const char* text, door& to) noexcept {
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
  if (*text != '@' || characters < 2 || characters >= door::longest_name) return false;
  std::memcpy(to.name, text, characters);
  if (colon == nullptr) return true;
  const std::size_t rest = std::strlen(colon + 1);
  if (rest == 0 || rest >= door::longest_name) return false;
  std::memcpy(to.path, colon + 1, rest);
  return true;
}

/// Address of a socket: "@name" is in the abstract namespace, else a path. False if it does not fit.
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

/// A process that cannot send a ring leaves a note beside the path's socket: a symbolic link that leads nowhere and says in its
/// target what was lost and why. Making one takes no descriptor and no file of any size. Its name begins so, then the pid:
inline constexpr const char* note_prefix = "lost-";

/// Why a process, or some of its threads, had no ring. In notes by its letter, so that old and new may meet.
enum class no_ring_reason : char {
  descriptors = 'd',  ///< EMFILE, ENFILE: it, or the system, may open no more.
  file_limit = 'f',   ///< Its limit on the size of files (RLIMIT_FSIZE) is less than a ring.
  memory = 'm',       ///< No memory for a ring, or for its mapping.
  refused = 'r',      ///< No socket of the writer's could be reached, or it is not being emptied.
  slots = 's',        ///< More threads at once than are recorded.
};

}  // namespace sluice::collector
