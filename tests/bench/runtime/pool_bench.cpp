// Pools: a block that was freed and is asked for again.
#include <string>

#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "tests/bench/runtime/lines.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;

const bench::topic_lines lines([](const device_ref& device) {
  for (const auto& [name, bytes] : {std::pair{"1KiB", 1u << 10}, {"1MiB", 1u << 20}, {"64MiB", 1u << 26}}) {
    bench::line(device, std::string("pool/hit/") + name + "/sluice",
                [device, size = std::size_t{bytes}](benchmark::State& state) {
                  pool_memory_resource pool(std::make_shared<device_memory_resource>(device));
                  const stream s(device);
                  const stream_ref on(s);
                  for (auto _ : state) {
                    void* block = pool.allocate(on, size);
                    benchmark::DoNotOptimize(block);
                    pool.deallocate(on, block, size);
                  }
                  state.SetLabel("time <= 25 ns");
                });
  }
});

}  // namespace
