// RMM's random mix (benchmarks/random_allocations): 73 of a hundred operations allocate while less than a limit is in
// use; sizes are uniform up to 4 MiB. The time is per operation.
#include <fmt/format.h>

#include <random>
#include <vector>

#include "tests/bench/runtime/lines.hpp"
#include "tests/bench/runtime/peers.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t largest = 4 * mib;
constexpr std::size_t max_in_use = std::size_t{16} << 30;

struct operation {
  bool allocates;
  std::size_t value;  ///< Bytes, or the index of the live block to free.
};

/// The operations, which are the same for all peers and are generated before anything is measured.
std::vector<operation> mix(std::size_t allocations) {
  std::mt19937 random(42);
  std::uniform_int_distribution<std::size_t> bytes(1, largest);
  std::uniform_int_distribution<int> percent(0, 99);
  std::vector<operation> out;
  std::vector<std::size_t> live;
  std::size_t in_use = 0, made = 0;
  for (std::size_t i = 0; i < allocations * 2; ++i) {
    const std::size_t size = bytes(random);
    const bool allocates = live.empty() || (percent(random) < 73 && made < allocations && in_use + size < max_in_use);
    if (allocates) {
      out.push_back({true, size});
      live.push_back(size);
      in_use += size;
      ++made;
    } else {
      const std::size_t which = random() % live.size();
      out.push_back({false, which});
      in_use -= live[which];
      live[which] = live.back();
      live.pop_back();
    }
  }
  while (!live.empty()) {
    out.push_back({false, live.size() - 1});
    live.pop_back();
  }
  return out;
}

void run(const std::vector<operation>& operations, memory_resource& resource, const stream_ref& on) {
  std::vector<std::pair<void*, std::size_t>> live;
  for (const operation& o : operations) {
    if (o.allocates) {
      live.emplace_back(resource.allocate(on, o.value), o.value);
    } else {
      resource.deallocate(on, live[o.value].first, live[o.value].second);
      live[o.value] = live.back();
      live.pop_back();
    }
  }
}

const bench::topic_lines lines([](const device_ref& device) {
  for (const std::size_t allocations : {1'000, 10'000, 100'000}) {
    for (const bench::peer& who : bench::find_peers(device)) {
      // At tens of microseconds per operation, cudaMalloc would take most of the run.
      if (who.name == "cudaMalloc" && allocations > 1'000) continue;
      bench::line(device, fmt::format("pool/mix/{}k/{}", allocations / 1000, who.name), [=](benchmark::State& state) {
        const auto operations = mix(allocations);
        const auto resource = who.make();
        const stream s(device);
        const stream_ref on(s);
        run(operations, *resource, on);
        while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(operations.size())))
          run(operations, *resource, on);
      });
    }
  }
});

}  // namespace
