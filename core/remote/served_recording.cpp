#include "core/remote/served_recording.hpp"

#include <algorithm>
#include <utility>

namespace sluice::remote {
namespace {

/// A file has no bytes from here on.
constexpr auto max_offset = static_cast<std::uint64_t>(INT64_MAX) - max_read;

}  // namespace

served_recording::served_recording(std::shared_ptr<trace::byte_source> first)
    : path_(first->name()), files_{{{}, {1, std::move(first), 0}, {}}}, newest_(1) {}

served_recording::open_file* served_recording::find(std::uint64_t generation) {
  const auto found =
      std::find_if(files_.begin(), files_.end(), [&](const open_file& each) { return each.generation == generation; });
  return generation == 0 || found == files_.end() ? nullptr : &*found;
}

/// Opens the file at the path if it has been replaced.
void served_recording::follow_path() {
  const open_file* const now = find(newest_);
  auto next = now != nullptr ? now->bytes->successor() : trace::open_local_source(path_);
  if (!next || *next == nullptr) return;
  ++newest_;
  files_[newest_ % files_.size()] = {newest_, std::move(*next), 0};
}

result<extent_message> served_recording::poll(std::uint64_t generation) {
  if (newest_ == 0) follow_path();
  if (newest_ == 0) return extent_message{.growing = ended_ ? 0U : 1U};
  const open_file* const which = find(generation == 0 ? newest_ : generation);
  if (which == nullptr)
    return fail(error_code::not_found, "the recording was replaced, and the old file is gone", path_);
  const auto there = which->bytes->poll();
  if (!there) return tl::unexpected(there.error());
  extent_message message{.generation = which->generation, .bytes = there->bytes, .growing = there->growing ? 1U : 0U};
  // Keep the order of these checks, so that the last writes of a writer that ends are seen.
  const open_file seen = *which;
  follow_path();
  message.newest = newest_;
  note_rest(seen);
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
  const auto got = which->bytes->read_at(std::min(asked->offset, max_offset), bytes);
  if (!got) return put_failure(out, request.id, got.error());
  put_frame(out, frame_kind::bytes, request.id, std::span(bytes).first(*got));
  which->read_to = asked->offset + *got;
  note_rest(*which);
}

void served_recording::note_rest(const open_file& file) {
  if (!ended_ || file.generation != newest_) return;
  const auto there = file.bytes->poll();
  has_all_ = there && file.read_to >= there->bytes;
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
