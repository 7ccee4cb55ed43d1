// `pwrite` and `ftruncate` that fail as failing_disk.hpp describes. In a program that loads this as a library, the
// environment sets the limits:
//
//   FAILING_DISK="ROOM LONGEST FAILURES ERRNO MOST_AT_ONCE"
#include "tests/core/trace/failing_disk.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace sluice::testing {
namespace {

failing_disk from_environment() {
  failing_disk disk;
  const char* const said = std::getenv("FAILING_DISK");
  unsigned long long room = 0, longest = 0, failures = 0, most = 0;
  if (said == nullptr || std::sscanf(said, "%llu %llu %llu %d %llu", &room, &longest, &failures, &disk.why, &most) != 5)
    return disk;
  disk.room = room;
  disk.longest = longest;
  disk.failures = failures;
  disk.max_at_once = most;
  return disk;
}

/// The number of bytes that a write of `count` bytes at `offset` can write.
std::uint64_t possible(failing_disk& on, std::uint64_t count, std::uint64_t offset) {
  const std::uint64_t below = offset < on.longest ? on.longest - offset : 0;
  const std::uint64_t most = std::min({count, on.room, below, on.max_at_once});
  if (most != 0 || count == 0) return most;
  if (on.failures != UINT64_MAX && --on.failures == 0) on.room = on.longest = on.failures = UINT64_MAX;
  return 0;
}

}  // namespace

failing_disk& disk() {
  static failing_disk output = from_environment();
  return output;
}

}  // namespace sluice::testing

extern "C" {

ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  sluice::testing::failing_disk& on = sluice::testing::disk();
  const std::uint64_t most = sluice::testing::possible(on, count, static_cast<std::uint64_t>(offset));
  if (most == 0 && count != 0) {
    errno = on.why;
    return -1;
  }
  const long wrote = syscall(SYS_pwrite64, file, bytes, most, offset);
  if (wrote > 0 && on.room != UINT64_MAX) on.room -= static_cast<std::uint64_t>(wrote);
  return wrote;
}
ssize_t pwrite64(int file, const void* bytes, size_t count, off64_t offset) {
  return pwrite(file, bytes, count, offset);
}

int ftruncate(int file, off_t length) noexcept {
  if (!sluice::testing::disk().truncates) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_ftruncate, file, length));
}
int ftruncate64(int file, off64_t length) noexcept { return ftruncate(file, length); }
}
