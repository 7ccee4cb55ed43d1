#include "core/base/files/privacy.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

namespace sluice::privacy {
namespace {

std::atomic<mode_t> permitted{0777};

/// Returns the permissions that group and others have. If they may not read the file, they may not search a folder
/// either.
mode_t get_permissions(const struct stat& file) {
  const mode_t others = file.st_mode & S_IRWXO;
  const mode_t group = file.st_gid == ::getegid() ? file.st_mode & S_IRWXG : file.st_mode & S_IRWXG & (others << 3);
  const mode_t both = (group | others) & 066;
  return S_IRWXU | both | (both & 044) >> 2;
}

}  // namespace

void keep_as_private_as(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return;
  permitted = permitted & get_permissions(file);
  const mode_t before = ::umask(077);
  ::umask(before | (0777 & ~permitted));
}

mode_t allowed() { return permitted; }

}  // namespace sluice::privacy
