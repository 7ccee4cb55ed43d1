// Devices, streams of other libraries, per-thread streams, and version numbers.
//   example_devices
#include <fmt/format.h>

#include <thread>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/stream.hpp"

using namespace sluice::runtime;

int main() try {
  fmt::print("CUDA: {}; built with {}, driver {}, runtime in this process {}\n",
             is_available() ? "available" : why_unavailable(), built_version(), driver_version(), runtime_version());
  for (const device_ref& each : devices()) {
    const device_guard guard(each);
    const auto memory = each.memory();
    fmt::print("{}: {}, {} of {} bytes free\n", current_device().id(), each.name(), memory.free_bytes,
               memory.total_bytes);
  }
  set_device(devices().front());

  // Wraps the stream of another library. The work below is enqueued on it by default.
  const stream theirs;
  const stream_ref wrapped = stream_ref::from_native(current_device(), theirs.get());
  device_buffer a;
  {
    const stream_guard guard(wrapped);
    a = device_buffer(1 << 20);
    set_async(a.data(), 7, a.size_bytes(), current_stream());
  }
  // A stream of another thread waits for the work on the device.
  ipc_event filled;
  filled.record(wrapped);
  unsigned char seen = 0;
  std::thread([&] {
    const stream_ref mine = per_thread_stream();
    mine.wait(filled);
    copy(&seen, a.data(), 1, mine);
  }).join();
  current_device().sync();
  fmt::print("{}\n", seen == 7 ? "the other thread saw the data" : "the other thread saw WRONG data");
  return seen == 7 ? 0 : 1;
} catch (const error& e) {
  fmt::print(stderr, "{}\n", e.what());
  return 1;
}
