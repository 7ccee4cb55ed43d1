#include "core/base/files/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace sluice {

const int regular_file::flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

int regular_file::release() { return descriptor_.release(); }

result<regular_file> regular_file::open(const std::string& path, std::uint64_t max_bytes) {
  // Check the file before opening it, because opening a device can have side effects. The opened file is checked again.
  struct stat before {};
  if (::stat(path.c_str(), &before) == 0 && !S_ISREG(before.st_mode))
    return fail(error_code::foreign, "is not a regular file", path);
  const int descriptor = ::open(path.c_str(), flags);
  if (descriptor < 0) {
    const bool absent = errno == ENOENT || errno == ENOTDIR;
    return fail(absent ? error_code::not_found : error_code::io, "cannot open: " + describe_errno(errno), path);
  }
  return of(descriptor, path, max_bytes);
}

result<regular_file> regular_file::of(int descriptor, const std::string& path, std::uint64_t max_bytes) {
  regular_file opened(descriptor, path);
  struct stat about {};
  if (::fstat(descriptor, &about) != 0) return fail(error_code::io, "cannot open: " + describe_errno(errno), path);
  if (!S_ISREG(about.st_mode)) return fail(error_code::foreign, "is not a regular file", path);
  opened.bytes_ = static_cast<std::uint64_t>(about.st_size);
  opened.changed_ = about.st_mtim;
  if (opened.bytes_ > max_bytes) {
    return fail(
        error_code::foreign,
        "is too large: " + std::to_string(opened.bytes_) + " bytes; expected at most " + std::to_string(max_bytes),
        path);
  }
  return opened;
}

result<std::string> regular_file::read() const {
  std::string text(bytes_, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ssize_t more = ::pread(descriptor(), text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return fail(error_code::io, "cannot read: " + describe_errno(errno), path_, {}, got);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  text.resize(got);
  return text;
}

result<std::string> read_regular_file(const std::string& path, std::uint64_t max_bytes) {
  const auto opened = regular_file::open(path, max_bytes);
  if (!opened) return tl::unexpected(opened.error());
  return opened->read();
}

}  // namespace sluice
