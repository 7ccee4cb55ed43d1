// Allocates, frees and allocates the same block again: 1 KiB, 1 MiB, 64 MiB.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/producer_losses.hpp"
#include "instrumentation/runtime/pool_memory_resource.hpp"
#include "instrumentation/runtime/recording.hpp"
#include "tests/bench/runtime/lines.hpp"
#include "tests/bench/runtime/peers.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;

struct size {
  const char* name;
  std::size_t bytes;
};
constexpr size sizes[] = {
    {"1KiB", std::size_t{1} << 10}, {"1MiB", std::size_t{1} << 20}, {"64MiB", std::size_t{1} << 26}};

void alloc_free(benchmark::State& state, memory_resource& resource, const device_ref& device, std::size_t bytes,
                bool sync) {
  const stream s(device);
  const stream_ref on(s);
  for (auto _ : state) {
    void* block = resource.allocate(on, bytes);
    benchmark::DoNotOptimize(block);
    resource.deallocate(on, block, bytes);
    if (sync) on.sync();
  }
}

/// Records faster than any writer could follow, so the timing is paused while the writer works.
void alloc_free_recorded(benchmark::State& state, const device_ref& device, std::size_t bytes) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("sluice-bench-{}.sluice", getpid());
  {
    pool_memory_resource pool(std::make_shared<device_memory_resource>(device));
    const stream s(device);
    const stream_ref on(s);
    recording file(path.string(), device);
    const auto some = [&](int times) {
      for (int i = 0; i < times; ++i) {
        void* block = pool.allocate(on, bytes);
        benchmark::DoNotOptimize(block);
        pool.deallocate(on, block, bytes);
      }
    };
    const auto wait_for_the_writer = [] {
      while (!ring::has_room(64)) std::this_thread::sleep_for(std::chrono::microseconds(200));
    };
    // The number of records that fit into the part of a ring of usual size that is reserved for memory events.
    constexpr int batch = 1024;
    // Goes around the ring once, because its memory is untouched so far.
    for (int i = 0; i < 20; ++i) {
      some(batch);
      wait_for_the_writer();
    }
    while (state.KeepRunningBatch(batch)) {
      wait_for_the_writer();
      const auto begin = std::chrono::steady_clock::now();
      some(batch);
      state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    // Dropped records must not make the recorder appear faster.
    const std::uint64_t lost = ring::lost_memory_events();
    if (lost != 0) state.SkipWithError(fmt::format("{} events were lost", lost).c_str());
  }
  std::filesystem::remove(path);
}

/// The minimum for a recorded pair: the times of its allocation and its free.
void two_clock_reads(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(ring::read_tsc());
    benchmark::DoNotOptimize(ring::read_tsc());
  }
}

/// As `two_clock_reads`, plus the allocation and the free themselves, and as much memory written as their two records
/// take, in a ring of usual size that nobody reads: a lower bound for any recorder of both times.
void min_of_a_recorded_pair(benchmark::State& state, const device_ref& device, std::size_t bytes) {
  constexpr std::size_t record_words = 10;
  std::vector<std::uint64_t> ring((std::size_t{1} << 20) / sizeof(std::uint64_t));
  std::size_t at = 0;
  const auto put = [&](std::uint64_t time) {
    if (at + record_words > ring.size()) at = 0;
    for (std::size_t i = 0; i < record_words; ++i) ring[at + i] = time;
    at += record_words;
    benchmark::ClobberMemory();
  };
  pool_memory_resource pool(std::make_shared<device_memory_resource>(device));
  const stream s(device);
  const stream_ref on(s);
  for (auto _ : state) {
    void* block = pool.allocate(on, bytes);
    benchmark::DoNotOptimize(block);
    put(ring::read_tsc());
    put(ring::read_tsc());
    pool.deallocate(on, block, bytes);
  }
}

const bench::topic_lines lines([](const device_ref& device) {
  for (const size& subject : sizes) {
    for (const bench::peer& who : bench::find_peers(device)) {
      bench::line(device, fmt::format("pool/alloc_free/{}/{}", subject.name, who.name),
                  [device, who, bytes = subject.bytes](benchmark::State& state) {
                    alloc_free(state, *who.make(), device, bytes, false);
                    if (who.name == "sluice") state.SetLabel("time <= 25 ns");
                  });
    }
    bench::line(device, fmt::format("pool/alloc_free/{}/sluice, recorded", subject.name),
                [device, bytes = subject.bytes](benchmark::State& state) {
                  alloc_free_recorded(state, device, bytes);
                  state.SetLabel("time <= 65 ns");
                })
        ->UseManualTime();
  }
  bench::line(device, "pool/alloc_free/clock/read twice", two_clock_reads);
  bench::line(device, "pool/alloc_free/clock/and a hit of 1 KiB and 160 bytes written",
              [device](benchmark::State& state) { min_of_a_recorded_pair(state, device, sizes[0].bytes); });
  for (const size& target : sizes) {
    for (const bench::peer& who : bench::find_peers(device)) {
      bench::line(device, fmt::format("pool/alloc_free_sync/{}/{}", target.name, who.name),
                  [device, who, bytes = target.bytes](benchmark::State& state) {
                    alloc_free(state, *who.make(), device, bytes, true);
                  });
    }
  }
});

}  // namespace
