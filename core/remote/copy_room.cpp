#include "core/remote/copy_room.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <string>

#include "core/base/format.hpp"

namespace sluice::remote {
namespace {

constexpr auto where_to = "name a folder with more space in TMPDIR, or open the recording's own file";

}  // namespace

result<void> copy_room::take(int descriptor, std::uint64_t bytes) {
  if (bytes > limits_.most_bytes || taken_ > limits_.most_bytes - bytes)
    return fail(error_code::no_space, "the copy would be larger than " + format_bytes(limits_.most_bytes), {},
                "open the recording's own file");
  struct statvfs disk {};
  // A disk that does not say its size has no part of it to keep.
  if (::fstatvfs(descriptor, &disk) == 0 && disk.f_blocks > 0) {
    const std::uint64_t reserve = std::min<std::uint64_t>(limits_.most_reserve, disk.f_blocks * disk.f_frsize / 20);
    const std::uint64_t available = disk.f_bavail * disk.f_frsize;
    if (available < reserve || available - reserve < bytes)
      return fail(error_code::no_space,
                  "the disk of the copy has " + format_bytes(available) + " left, of which " + format_bytes(reserve) +
                      " stay free",
                  {}, where_to);
  }
  taken_ += bytes;
  return {};
}

}  // namespace sluice::remote
