// The processes of sharing_test.cpp: one owns memory and an event, the other uses them.
#include "tests/instrumentation/backend/roles/sharing.hpp"

#include <array>
#include <memory>

#include "instrumentation/backend/cuda/open.hpp"
#include "instrumentation/backend/simulated/device/device.hpp"
#include "tests/instrumentation/backend/roles/role.hpp"
#include "tests/instrumentation/sizes.hpp"

namespace sluice::backend {
namespace {

constexpr std::uint64_t bytes = 2 * mib + 4096;

std::shared_ptr<device> open_device(backend_kind kind) {
  if (kind == backend_kind::simulated) return make_simulated_device();
  auto found = open_cuda_devices();
  return found.devices.empty() ? nullptr : found.devices.front();
}

/// Owns a block and an event; waits until the other process reports that it has read and written the block.
int owner(backend_kind kind, int in, int out) {
  const auto d = open_device(kind);
  if (!d) return no_device;
  const auto block = d->allocate(bytes);
  const auto event = d->create_event({.interprocess = true});
  const auto s = d->create_stream({true, 0});
  if (!block || !event || !s) return 1;
  const auto memory = d->export_memory(*block);
  const auto filled = d->export_event(*event);
  if (!memory || !filled) return 2;
  if (d->import_memory(*memory)) return 3;  // The process that created a handle must not import it.
  // Enqueues the fill and the event without waiting for them: the other process waits.
  if (!d->set_async(*block, 5, bytes, *s) || !d->record_event(*event, *s)) return 4;
  if (!tell(out, handles{*memory, *filled})) return 5;
  char read_and_written = 0;
  if (!hear(in, read_and_written)) return 6;
  std::array<unsigned char, 2> ends{};
  if (!d->copy_async(ends.data(), *block, 1, stream_handle::null) ||
      !d->copy_async(&ends[1], static_cast<std::byte*>(*block) + bytes - 1, 1, stream_handle::null) ||
      !d->synchronize()) {
    return 7;
  }
  if (ends[0] != 6 || ends[1] != 5) return 8;
  d->destroy_event(*event);
  return d->free(*block) ? 0 : 9;
}

/// The other process: opens the block and the event received on `in`, waits for the event on a stream, and then reads
/// and writes the block on that stream.
int user(backend_kind kind, int in, int /*out*/) {
  handles given;
  if (!hear(in, given)) return 1;
  const auto d = open_device(kind);
  if (!d) return no_device;
  const auto block = d->import_memory(given.memory);
  const auto again = d->import_memory(given.memory);
  if (!block || !again || *block != *again) return 2;
  const auto filled = d->import_event(given.filled);
  const auto s = d->create_stream({true, 0});
  if (!filled || !s) return 3;
  std::array<unsigned char, 2> ends{};
  if (!d->wait_event(*s, *filled) || !d->copy_async(ends.data(), *block, 1, *s) ||
      !d->copy_async(&ends[1], static_cast<std::byte*>(*block) + bytes - 1, 1, *s) || !d->set_async(*block, 6, 1, *s) ||
      !d->sync_stream(*s)) {
    return 4;
  }
  if (ends[0] != 5 || ends[1] != 5) return 5;
  const auto done = d->event_done(*filled);
  if (!done || !*done) return 6;
  if (!d->close_memory(*block) || !d->close_memory(*again)) return 7;
  if (kind == backend_kind::simulated && d->close_memory(*block)) return 8;  // The block is already closed.
  d->destroy_event(*filled);
  return 0;
}

}  // namespace
}  // namespace sluice::backend

int main(int argc, char** argv) {
  using namespace sluice::backend;
  return play(argc, argv, {{"owner", owner}, {"user", user}});
}
