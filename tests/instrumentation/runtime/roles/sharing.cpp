// The processes of ipc_test.cpp: one has numbers in a block of a pool, the other reads and changes them.
#include "tests/instrumentation/runtime/roles/sharing.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "instrumentation/backend/simulated/device/device.hpp"
#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/device.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/instrumentation/backend/roles/role.hpp"

namespace sluice::runtime {
namespace {

using backend::backend_kind;
using backend::hear;
using backend::tell;

constexpr std::size_t words = 10'000;

std::optional<device_ref> device_for(backend_kind kind) {
  if (kind == backend_kind::simulated) return simulated_device();
  if (!is_available()) return std::nullopt;
  return devices().front();
}

/// Writes numbers into a block of a pool, and lets the other process double one of them.
int producer(backend_kind kind, int in, int out) {
  const auto device = device_for(kind);
  if (!device) return backend::no_device;
  const device_guard guard(*device);
  const auto pool = std::make_shared<pool_memory_resource>(std::make_shared<device_memory_resource>(),
                                                           pool_options{.ipc_capable = true, .name = "shared"});
  const stream s;
  const device_buffer before(4096, s, pool), numbers(words * 4, s, pool);
  std::vector<std::uint32_t> values(words);
  for (std::uint32_t i = 0; i < words; ++i) values[i] = i * 3;
  ipc_event written;
  copy_async(numbers.data(), values.data(), words * 4, s);
  s.record(written);
  if (!tell(out, parcel{share_memory(numbers.data(), numbers.size_bytes()), written.share()})) return 1;
  char result = 0;
  if (!hear(in, result)) return 2;
  copy(values.data(), numbers.data(), words * 4, s);
  return values[9] == 54 && values[10] == 30 ? 0 : 3;
}

/// Releases imported memory during a capture: waiting for the device would break the capture, and the graph's launches
/// use the memory. Returns 0 if the capture and the launches succeeded.
int let_go_while_captured(imported_memory numbers, const std::vector<std::uint32_t>& values) {
  const stream s;
  const device_buffer copied(numbers.size_bytes(), s);
  std::vector<std::uint32_t> out(values.size());
  try {
    graph_capture capture(s);
    copy_async(copied.data(), numbers.data(), numbers.size_bytes(), s);
    { const imported_memory gone = std::move(numbers); }
    const graph g = capture.finish();
    graph_exec(g).launch(s);
    copy(out.data(), copied.data(), copied.size_bytes(), s);
  } catch (const error&) {
    return 4;
  }
  return out[10] == values[10] ? 0 : 5;
}

int consumer(backend_kind kind, int in, int /*out*/) {
  parcel given;
  if (!hear(in, given)) return 1;
  const auto device = device_for(kind);
  if (!device) return backend::no_device;
  const device_guard guard(*device);
  imported_memory numbers(given.numbers);
  const ipc_event written = ipc_event::open(given.written);
  const stream s;
  s.wait(written);
  std::vector<std::uint32_t> values(numbers.size_bytes() / 4);
  copy(values.data(), numbers.data(), numbers.size_bytes(), s);
  if (values.size() != words || values[9] != 27 || values[words - 1] != (words - 1) * 3) return 2;
  const std::uint32_t doubled = 54;
  copy(numbers.as<std::uint32_t>().data() + 9, &doubled, 4, s);
  try {
    shared_memory_handle beyond = given.numbers;
    beyond.bytes = std::uint64_t{1} << 40;
    const imported_memory never(beyond);
    return 3;
  } catch (const error&) {
  }
  return let_go_while_captured(std::move(numbers), values);
}

}  // namespace
}  // namespace sluice::runtime

int main(int argc, char** argv) {
  using namespace sluice::runtime;
  return sluice::backend::play(argc, argv, {{"producer", producer}, {"consumer", consumer}});
}
