// The cost of a native call stack for the recorded program, compared with glibc's and libunwind's.
//   ./dev bench
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <execinfo.h>

#include "instrumentation/capture/stacks/native_stack.hpp"
#include "instrumentation/ring/producer.hpp"
#include "tests/instrumentation/capture/native/shapes.hpp"

namespace {

using sluice::test::visit;

constexpr std::size_t most = 128;

/// Calls `call` from a stack of `state.range(0)` functions that save registers, above Google Benchmark's own frames.
[[gnu::noinline]] void deeper(long depth, visit call, void* with) {
  if (depth > 0) {
    deeper(depth - 1, call, with);
  } else {
    call(with);
  }
  asm volatile("" : : "r"(&depth) : "memory");
}

template <class Walk>
void measure(benchmark::State& state, const Walk& walk) {
  struct run {
    benchmark::State& state;
    const Walk& walk;
    std::size_t frames;
  } with{state, walk, 0};
  deeper(
      state.range(0),
      [](void* to) {
        auto& r = *static_cast<run*>(to);
        for (auto _ : r.state) r.frames = r.walk();
      },
      &with);
  state.counters["frames"] = static_cast<double>(with.frames);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(with.frames) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void ours(benchmark::State& state) {
  sluice::capture::start_native_stacks();
  std::uint64_t frames[most];
  measure(state, [&] {
    const std::size_t count = sluice::capture::native_frames(frames, most, 0);
    benchmark::DoNotOptimize(frames);
    return count;
  });
}
BENCHMARK(ours)->Arg(0)->Arg(20)->Arg(60);

template <std::size_t bytes>
[[gnu::noinline]] void further_down(long depth, visit call, void* with) {
  char room[bytes];
  benchmark::DoNotOptimize(room);
  deeper(depth, call, with);
  benchmark::DoNotOptimize(room);
}

/// Consecutive walks share only the benchmark's own frames. The time includes that of the calls.
void ours_elsewhere(benchmark::State& state) {
  struct walk {
    std::uint64_t frames[most];
    std::size_t count;
    static void take(void* with) {
      auto& w = *static_cast<walk*>(with);
      w.count = sluice::capture::native_frames(w.frames, most, 0);
    }
  } with{};
  sluice::capture::start_native_stacks();
  bool odd = false;
  for (auto _ : state) {
    odd = !odd;
    if (odd) {
      further_down<64>(state.range(0), walk::take, &with);
    } else {
      further_down<256>(state.range(0), walk::take, &with);
    }
  }
  state.counters["frames"] = static_cast<double>(with.count);
  state.counters["each"] = benchmark::Counter(static_cast<double>(with.count) * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(ours_elsewhere)->Arg(20)->Arg(60);

void first_sight(benchmark::State& state) {
  std::uint64_t frames[most];
  measure(state, [&] {
    state.PauseTiming();
    sluice::capture::start_native_stacks();  // This empties the cache.
    state.ResumeTiming();
    return sluice::capture::native_frames(frames, most, 0);
  });
}
BENCHMARK(first_sight)->Arg(20)->Iterations(200);

void glibc_backtrace(benchmark::State& state) {
  void* frames[most];
  measure(state, [&] { return static_cast<std::size_t>(backtrace(frames, most)); });
}
BENCHMARK(glibc_backtrace)->Arg(0)->Arg(20)->Arg(60);

void libunwind_backtrace(benchmark::State& state) {
  void* const library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
  auto* const walk =
      library == nullptr ? nullptr : reinterpret_cast<int (*)(void**, int)>(dlsym(library, "unw_backtrace"));
  if (walk == nullptr) return state.SkipWithError("there is no libunwind.so.8");
  void* frames[most];
  measure(state, [&] { return static_cast<std::size_t>(walk(frames, most)); });
}
BENCHMARK(libunwind_backtrace)->Arg(0)->Arg(20)->Arg(60);

}  // namespace
