#include "core/remote/copy_room.hpp"

#include <sys/statvfs.h>

#include <algorithm>
#include <string>

#include "core/base/format.hpp"

namespace sluice::remote {
namespace {

constexpr auto where_to = "set TMPDIR to a folder with more space, or open the recording's own file";

}  // namespace

result<void> copy_room::take(int descriptor, std::uint64_t bytes) {
  if (bytes > limits_.max_bytes || taken_ > limits_.max_bytes - bytes)
    return fail(error_code::no_space, "the copy would be larger than " + format_bytes(limits_.max_bytes), {},
                "open the recording's own file");
  struct statvfs disk {};
  // If the disk does not report its size, no bytes are reserved.
  if (::fstatvfs(descriptor, &disk) == 0 && disk.f_blocks > 0) {
    const std::uint64_t reserve = std::min<std::uint64_t>(limits_.max_reserve, disk.f_blocks * disk.f_frsize / 20);
    const std::uint64_t available = disk.f_bavail * disk.f_frsize;
    if (available < reserve || available - reserve < bytes)
      return fail(error_code::no_space,
                  "the disk of the copy has " + format_bytes(available) + " left, of which " + format_bytes(reserve) +
                      " are reserved",
                  {}, where_to);
  }
  taken_ += bytes;
  return {};
}

}  // namespace sluice::remote
