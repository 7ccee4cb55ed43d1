#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <string>

namespace sluice::remote {

/// Returns the address of the Unix socket at `path`, or nullopt if the path is empty or longer than 107 bytes.
[[nodiscard]] inline std::optional<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof un.sun_path) return std::nullopt;
  std::memcpy(un.sun_path, path.data(), path.size());
  return un;
}

}  // namespace sluice::remote
