#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <optional>
#include <string>

namespace sluice::remote {

/// Returns the address of the Unix socket at `path`, or nullopt if the path is empty or longer than 107 bytes.
[[nodiscard]] inline std::optional<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un made{};
  made.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof made.sun_path) return std::nullopt;
  std::memcpy(made.sun_path, path.data(), path.size());
  return made;
}

}  // namespace sluice::remote
