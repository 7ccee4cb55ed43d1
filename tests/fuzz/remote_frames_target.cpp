// Handles data that a client sends to the server of a recording: frames, and requests for bytes of the file.
#include "core/remote/frames.hpp"
#include "core/remote/served_recording.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace sluice::fuzz::remote_frames {
namespace {

/// The served recording; its content does not matter.
const memory_file& served() {
  static const bytes content(100'000, 'x');
  static const memory_file file(content);
  return file;
}

void run(std::span<const std::uint8_t> input) {
  remote::frame_buffer stream(64);
  remote::served_recording recording(served().path());
  stream.add(std::as_bytes(input));
  std::vector<std::byte> out;
  for (auto next = stream.next(); next && *next; next = stream.next()) {
    out.clear();
    static_cast<void>(remote::failure_in((**next).payload, "peer"));
    if (!recording.reply(**next, out)) continue;
    if (out.size() < sizeof(remote::frame_header) || out.size() > remote::max_read + 4096) __builtin_trap();
  }
}

std::vector<bytes> seeds() {
  std::vector<std::byte> items;
  remote::put_frame(items, remote::frame_kind::hello, 1, remote::get_bytes(remote::hello_message{}));
  remote::put_frame(items, remote::frame_kind::look, 2, remote::get_bytes(remote::look_message{}));
  remote::put_frame(items, remote::frame_kind::read, 3, remote::get_bytes(remote::read_message{1, 99'990, 100, 0}));
  const auto* first = reinterpret_cast<const std::uint8_t*>(items.data());
  return {bytes(first, first + items.size())};
}

}  // namespace
}  // namespace sluice::fuzz::remote_frames

sluice::fuzz::target sluice::fuzz::remote_frames_target() {
  return {"remote_frames", remote_frames::run, remote_frames::seeds};
}
