#include "core/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace sluice {

scratch_file::scratch_file(int fd) : fd_(fd), path_("/proc/self/fd/" + std::to_string(fd)) {}

scratch_file::scratch_file(scratch_file&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

scratch_file::~scratch_file() {
  if (fd_ >= 0) ::close(fd_);
}

result<scratch_file> scratch_file::make() {
  std::error_code none;  // TMPDIR may name what is no folder.
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  std::string name = ((folder.empty() ? "/tmp" : folder) / "sluice-XXXXXX").string();
  const int fd = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd < 0) {
    return fail(error_code::io, "cannot make a scratch file: " + describe_errno(errno), name,
                "name a folder with space in TMPDIR");
  }
  ::unlink(name.c_str());
  return scratch_file(fd);
}

}  // namespace sluice
