#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace sluice::trace {

/// True if `path` is the file that is open as `fd`. Empty if `path` does not exist or cannot be compared with `fd`.
[[nodiscard]] inline std::optional<bool> finds_same_file(const std::string& path, int fd) {
  struct stat ours {
  }, there{};
  if (::fstat(fd, &ours) != 0 || ::stat(path.c_str(), &there) != 0) return std::nullopt;
  return ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

}  // namespace sluice::trace
