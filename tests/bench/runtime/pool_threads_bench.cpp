// Threads that each allocate on their own stream, compared with threads that only count, in one variable or in several
// variables at once.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/bench/runtime/lines.hpp"
#include "tests/bench/runtime/peers.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;

/// A thread's own loop, which runs `times` iterations.
using loop = std::function<void(int times)>;
using loop_maker = std::function<loop()>;

/// Iterations per second of `threads` threads together.
double rate(int threads, const loop_maker& make) {
  constexpr int rounds_a_look = 256;
  constexpr auto window = std::chrono::milliseconds(60);
  std::atomic<int> ready{0};
  std::atomic<bool> go{false}, stop{false};
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> items;
  for (int t = 0; t < threads; ++t) {
    items.emplace_back([&, t] {
      const loop work = make();
      work(rounds_a_look);
      ++ready;
      while (!go) std::this_thread::yield();
      const auto begin = std::chrono::steady_clock::now();
      std::uint64_t rounds = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        work(rounds_a_look);
        rounds += rounds_a_look;
      }
      rates[static_cast<std::size_t>(t)] =
          static_cast<double>(rounds) / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    });
  }
  while (ready != threads) std::this_thread::yield();
  go = true;
  std::this_thread::sleep_for(window);
  stop = true;
  for (auto& t : items) t.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

void scaling(benchmark::State& state, int threads, const loop_maker& make) {
  double one = 0, many = 0, seconds = 0;
  int runs = 0;
  for (auto _ : state) {
    one += rate(1, make);
    many += rate(threads, make);
    ++runs;
    seconds = static_cast<double>(threads) * runs / many;
    state.SetIterationTime(seconds);
  }
  state.counters["scaling"] = many / one;
}

loop nothing() {
  return [](int times) {
    std::uint64_t value = 1;
    for (int i = 0; i < times; ++i) {
      // Takes about as long as a hit, but shares nothing with other threads.
      for (int j = 0; j < 12; ++j) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        benchmark::DoNotOptimize(value);
      }
    }
  };
}

/// Takes about as long as a hit, even on a core that runs four or more instructions per cycle, so that two threads that
/// share a core's units lose as much speed as with hits.
loop nothing_at_full_width() {
  return [](int times) {
    const auto mixed = [](std::uint64_t value) { return (value << 7 ^ value >> 9) + 0x9e3779b9; };
    std::uint64_t a = 1, b = 2, c = 3, d = 4;
    for (int i = 0; i < times; ++i) {
      for (int j = 0; j < 16; ++j) {
        a = mixed(a);
        b = mixed(b);
        c = mixed(c);
        d = mixed(d);
      }
      std::uint64_t total = a ^ b ^ c ^ d;
      benchmark::DoNotOptimize(total);
    }
  };
}

loop allocations(memory_resource& resource, const device_ref& device, std::size_t bytes) {
  return [&resource, bytes, s = std::make_shared<stream>(device)](int times) {
    const stream_ref on(*s);
    for (int i = 0; i < times; ++i) {
      void* block = resource.allocate(on, bytes);
      benchmark::DoNotOptimize(block);
      resource.deallocate(on, block, bytes);
    }
  };
}

/// A thread-local pool as in the standard library: lists in memory that no other thread touches.
loop allocations_of_its_own(std::size_t bytes) {
  return [bytes, pool = std::make_shared<std::pmr::unsynchronized_pool_resource>()](int times) {
    for (int i = 0; i < times; ++i) {
      void* block = pool->allocate(bytes);
      benchmark::DoNotOptimize(block);
      pool->deallocate(block, bytes);
    }
  };
}

const bench::topic_lines lines([](const device_ref& device) {
  for (const int threads : {4, 16}) {
    const std::string group = fmt::format("pool/scaling/{}/", threads);
    bench::line(device, group + "empty loop", [threads](benchmark::State& state) { scaling(state, threads, nothing); })
        ->UseManualTime()
        ->Iterations(3);
    bench::line(device, group + "empty loop, full width",
                [threads](benchmark::State& state) { scaling(state, threads, nothing_at_full_width); })
        ->UseManualTime()
        ->Iterations(3);
    bench::line(
        device, group + "std's unsynchronized pool, one a thread",
        [threads](benchmark::State& state) { scaling(state, threads, [] { return allocations_of_its_own(512); }); })
        ->UseManualTime()
        ->Iterations(3);
    for (const bench::peer& who : bench::find_peers(device)) {
      // The driver's allocators would take minutes here, and are known not to scale.
      if (who.name == "cudaMalloc") continue;
      bench::line(device, group + who.name,
                  [=](benchmark::State& state) {
                    const auto resource = who.make();
                    scaling(state, threads, [&] { return allocations(*resource, device, 4096); });
                    if (who.name == "sluice") state.SetLabel(fmt::format("scaling >= 0.9 of {}empty loop", group));
                  })
          ->UseManualTime()
          ->Iterations(3);
    }
  }
});

}  // namespace
