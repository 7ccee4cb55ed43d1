#include "core/trace/file/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/files/full_disk.hpp"
#include "core/base/files/origin.hpp"
#include "core/base/files/replacement.hpp"
#include "core/trace/file/same_file.hpp"

namespace sluice::trace {
namespace {

class local_source final : public byte_source {
 public:
  local_source(std::string path, regular_file opened) : byte_source(std::move(path)), file_(std::move(opened)) {}

  result<extent> poll() override {
    extent now;
    now.growing = has_writer(file_.descriptor());
    struct stat status {};
    if (::fstat(file_.descriptor(), &status) != 0) {
      return fail(error_code::io, "cannot stat: " + describe_errno(errno), name());
    }
    now.bytes = static_cast<std::uint64_t>(status.st_size);
    return now;
  }

  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    std::size_t done = 0;
    while (done < into.size()) {
      const ssize_t got =
          ::pread(file_.descriptor(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(error_code::io, "cannot read: " + describe_errno(errno), name(), {}, offset);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  bool is_recorded_here(std::span<const std::byte> header) const override {
    return origin::is_marked(file_.descriptor(), header);
  }

  result<std::shared_ptr<byte_source>> successor() const override {
    if (finds_same_file(name(), file_.descriptor()).value_or(true)) return nullptr;
    return open_local_source(name());
  }

 private:
  const regular_file file_;
};

}  // namespace

result<std::shared_ptr<byte_source>> open_local_source(const std::string& path) {
  auto found = regular_file::open(path);
  if (!found) {
    found.error().hint = "name a recording that `sluice record` or `sluice demo` wrote";
    return tl::unexpected(found.error());
  }
  if (found->bytes() == 0) {
    return fail(error_code::foreign, "the file is empty", path, "nothing was recorded into it; record again");
  }
  return make_local_source(std::move(*found), path);
}

std::shared_ptr<byte_source> make_local_source(regular_file opened, std::string path) {
  return std::make_shared<local_source>(std::move(path), std::move(opened));
}

result<void> copy_bytes(byte_source& source, int descriptor) {
  const auto there = source.poll();
  if (!there) return tl::unexpected(there.error());
  std::vector<std::byte> bytes(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < there->bytes;) {
    const auto next = std::span(bytes).first(std::min<std::uint64_t>(bytes.size(), there->bytes - at));
    const auto got = source.read_at(at, next);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return {};
    for (std::size_t done = 0; done < *got;) {
      const ssize_t went = ::pwrite(descriptor, next.data() + done, *got - done, static_cast<off_t>(at + done));
      if (went < 0 && errno == EINTR) continue;
      if (went <= 0) return fail(code_of_failed_write(errno), "cannot write: " + describe_errno(errno));
      done += static_cast<std::size_t>(went);
    }
    at += *got;
  }
  return {};
}

/// Only checks for the lock, without taking it.
bool has_writer(int descriptor) {
  struct flock content {};  // A claim on the file (replacement.hpp) does not count as a writer.
  content.l_type = F_RDLCK;
  content.l_len = replacement::claimed_byte;
  return ::fcntl(descriptor, F_OFD_GETLK, &content) == 0 && content.l_type != F_UNLCK;
}

}  // namespace sluice::trace
