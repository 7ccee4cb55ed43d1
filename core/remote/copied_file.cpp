#include "core/remote/copied_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/scratch_file.hpp"

namespace sluice::remote {

result<std::shared_ptr<copied_file>> copied_file::make(std::uint64_t generation, std::shared_ptr<copy_room> room) {
  auto scratch = scratch_file::make();
  if (!scratch) return tl::unexpected(scratch.error());
  unique_descriptor opened(::open(scratch->path().c_str(), O_RDWR | O_CLOEXEC));
  if (!opened) return fail(error_code::io, "cannot open a scratch file: " + describe_errno(errno));
  return std::shared_ptr<copied_file>(new copied_file(generation, std::move(opened), std::move(room)));
}

result<void> copied_file::add(std::span<const std::byte> more) {
  if (auto taken = room_->take(descriptor_.get(), more.size()); !taken) return taken;
  while (!more.empty()) {
    const ssize_t went = ::pwrite(descriptor_.get(), more.data(), more.size(), static_cast<off_t>(bytes_.load()));
    if (went < 0 && errno == EINTR) continue;
    if (went <= 0) {
      const int why = went < 0 ? errno : ENOSPC;
      room_->give_back(more.size());
      return fail(code_of_failed_write(why), "cannot write to a scratch file: " + describe_errno(why), {},
                  "set TMPDIR to a folder with more space");
    }
    bytes_ += static_cast<std::uint64_t>(went);
    more = more.subspan(static_cast<std::size_t>(went));
  }
  return {};
}

void copied_file::cut(std::uint64_t to) {
  if (::ftruncate(descriptor_.get(), static_cast<off_t>(to)) == 0) room_->give_back(bytes_.exchange(to) - to);
}

result<std::size_t> copied_file::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(descriptor_.get(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(error_code::io, "cannot read a scratch file: " + describe_errno(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace sluice::remote
