#include "core/remote/served_recording.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/files/regular_file.hpp"
#include "core/trace/file/byte_source.hpp"
#include "core/trace/file/same_file.hpp"

namespace sluice::remote {

served_recording::~served_recording() {
  for (const open_file& each : files_)
    if (each.descriptor >= 0) ::close(each.descriptor);
}

served_recording::open_file* served_recording::find(std::uint64_t generation) {
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const open_file& each) { return each.generation == generation; });
  return generation == 0 || found == files_.end() ? nullptr : &*found;
}

/// Opens the file at the path if it has been replaced.
void served_recording::follow_path() {
  const open_file* const now = find(newest_);
  if (now != nullptr && trace::finds_same_file(path_, now->descriptor).value_or(true)) return;
  auto found = regular_file::open(path_);
  if (!found) return;
  open_file& place = files_[(newest_ + 1) % files_.size()];
  if (place.descriptor >= 0) ::close(place.descriptor);
  place = {++newest_, found->release(), 0};
}

result<extent_message> served_recording::poll(std::uint64_t generation) {
  if (newest_ == 0) follow_path();
  if (newest_ == 0) return extent_message{.growing = ended_ ? 0U : 1U};
  const open_file* const which = find(generation == 0 ? newest_ : generation);
  if (which == nullptr)
    return fail(error_code::not_found, "the recording was replaced, and the old file is gone", path_);
  extent_message message{.generation = which->generation};
  // Keep the order of these checks, so that the last writes of a writer that ends are seen.
  message.growing = trace::has_writer(which->descriptor) ? 1 : 0;
  struct stat status {};
  if (::fstat(which->descriptor, &status) != 0)
    return fail(error_code::io, "cannot stat: " + describe_errno(errno), path_);
  message.bytes = static_cast<std::uint64_t>(status.st_size);
  follow_path();
  message.newest = newest_;
  note_rest(*which);
  return message;
}

void served_recording::reply_with_bytes(const frame& request, std::vector<std::byte>& out) {
  const auto asked = message_in<read_message>(request.payload);
  if (!asked || request.payload.size() != sizeof *asked || asked->bytes > max_read)
    return put_failure(out, request.id,
                       {error_code::invalid_argument, "invalid read request", {}, error::no_offset, {}});
  open_file* const which = find(asked->generation);
  if (which == nullptr)
    return put_failure(
        out, request.id,
        {error_code::not_found, "the recording was replaced, and the old file is gone", path_, error::no_offset, {}});
  std::vector<std::byte> bytes(asked->bytes);
  std::size_t done = 0;
  const auto most = static_cast<std::uint64_t>(INT64_MAX) - max_read;
  while (done < bytes.size() && asked->offset < most) {
    const ssize_t got =
        ::pread(which->descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(asked->offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      return put_failure(out, request.id,
                         {error_code::io, "cannot read: " + describe_errno(errno), path_, asked->offset, {}});
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  put_frame(out, frame_kind::bytes, request.id, std::span(bytes).first(done));
  which->read_to = asked->offset + done;
  note_rest(*which);
}

void served_recording::note_rest(const open_file& file) {
  struct stat status {};
  has_all_ = ended_ && file.generation == newest_ && ::fstat(file.descriptor, &status) == 0 &&
             file.read_to >= static_cast<std::uint64_t>(status.st_size);
}

bool served_recording::reply(const frame& request, std::vector<std::byte>& out) {
  if (request.kind == frame_kind::read) {
    reply_with_bytes(request, out);
    return true;
  }
  if (request.kind != frame_kind::look) return false;
  const auto asked = message_in<look_message>(request.payload);
  if (!asked || request.payload.size() != sizeof *asked) {
    put_failure(out, request.id, {error_code::invalid_argument, "invalid look request", {}, error::no_offset, {}});
    return true;
  }
  const auto there = poll(asked->generation);
  if (there) {
    put_frame(out, frame_kind::extent, request.id, get_bytes(*there));
  } else {
    put_failure(out, request.id, there.error());
  }
  return true;
}

}  // namespace sluice::remote
