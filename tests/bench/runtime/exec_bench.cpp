// Small work: the latency of one copy, and many small copies and kernels, individually, batched and in a graph. With a
// GPU, each is compared with the same calls to the driver itself. On the simulated device the times are those of the
// runtime's own code.
#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/graph.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/bench/runtime/lines.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;

constexpr std::size_t small = 4096;
constexpr std::size_t many = 1000;

/// The driver's calls, looked up as any program does.
struct driver {
  using device_pointer = unsigned long long;
  int (*copy)(device_pointer, const void*, std::size_t, void*) = nullptr;
  int (*sync)(void*) = nullptr;

  static const driver& get() {
    static const driver only = [] {
      driver d;
      void* library = dlopen("libcuda.so.1", RTLD_NOW);
      if (!library) return d;
      d.copy = reinterpret_cast<decltype(copy)>(dlsym(library, "cuMemcpyHtoDAsync_v2"));
      d.sync = reinterpret_cast<decltype(sync)>(dlsym(library, "cuStreamSynchronize"));
      return d;
    }();
    return only;
  }
};

/// Host and device memory for `many` small pieces, and a stream.
struct ground {
  explicit ground(const device_ref& device)
      : guard(device), host(many * small, s), there(many * small, s), words(there.as<std::uint32_t>().data()) {
    for (std::size_t i = 0; i < many; ++i) pieces.push_back({to(i), from(i), small});
    copy_batch_async(pieces, s);
    s.sync();
  }
  [[nodiscard]] std::byte* to(std::size_t i) const { return static_cast<std::byte*>(there.data()) + i * small; }
  [[nodiscard]] std::byte* from(std::size_t i) const { return static_cast<std::byte*>(host.data()) + i * small; }
  void copy_each() const {
    for (std::size_t i = 0; i < many; ++i) copy_async(to(i), from(i), small, s);
  }
  void launch_each() const {
    for (std::size_t i = 0; i < many; ++i) {
      launch(kernels::affine_u32, launch_config::for_size(64), s, words, std::uint64_t{64}, 3u, 1u, 1u);
    }
  }
  template <class Work>
  [[nodiscard]] graph_exec captured(const Work& work) const {
    graph_capture capture(s);
    work();
    graph_exec exec(capture.finish());
    exec.upload(s);
    s.sync();
    return exec;
  }

  device_guard guard;
  stream s;
  pinned_buffer host;
  device_buffer there;
  std::uint32_t* words;
  std::vector<copy_piece> pieces;
};

/// Registers a line, each iteration of which runs `work(ground)` and waits for that work.
template <class Work>
void waited(benchmark::State& state, const device_ref& device, const Work& work) {
  const ground g(device);
  for (auto _ : state) {
    work(g);
    g.s.sync();
  }
}

/// Registers a line, each iteration of which launches a graph of `work`.
template <class Work>
void replayed(benchmark::State& state, const device_ref& device, const Work& work) {
  const ground g(device);
  graph_exec exec = g.captured([&] { work(g); });
  for (auto _ : state) {
    exec.launch(g.s);
    g.s.sync();
  }
}

const bench::topic_lines lines([](const device_ref& device) {
  const auto add = [&](const char* name, auto run, const char* bar = "") {
    bench::line(device, name, [=](benchmark::State& state) {
      run(state);
      if (*bar != '\0' && !device.simulated()) state.SetLabel(bar);
    })->UseRealTime();
  };
  const auto copy_one = [](const ground& g) { copy_async(g.to(0), g.from(0), small, g.s); };
  const auto copies = [](const ground& g) { g.copy_each(); };
  const auto launches = [](const ground& g) { g.launch_each(); };
  const auto batch = [](const ground& g) { copy_batch_async(g.pieces, g.s); };

  add(
      "small/copy 4 KiB and wait/sluice", [=](auto& state) { waited(state, device, copy_one); },
      "time <= 1.1 of small/copy 4 KiB and wait/driver");
  add(
      "small/1000 copies of 4 KiB/one by one", [=](auto& state) { waited(state, device, copies); },
      "time <= 1.1 of small/1000 copies of 4 KiB/driver, one by one");
  add(
      "small/1000 copies of 4 KiB/batched", [=](auto& state) { waited(state, device, batch); },
      "time <= 1 of small/1000 copies of 4 KiB/one by one");
  add(
      "small/1000 copies of 4 KiB/in a graph", [=](auto& state) { replayed(state, device, copies); },
      "time <= 1 of small/1000 copies of 4 KiB/one by one");
  add("small/1000 kernels/launched", [=](auto& state) { waited(state, device, launches); });
  add(
      "small/1000 kernels/in a graph", [=](auto& state) { replayed(state, device, launches); },
      "time <= 1 of small/1000 kernels/launched");
  if (device.simulated() || !driver::get().copy || !driver::get().sync) return;
  const auto driver_copies = [=](benchmark::State& state, std::size_t count) {
    const ground g(device);
    const driver& d = driver::get();
    void* const native = reinterpret_cast<void*>(g.s.get());
    for (auto _ : state) {
      for (std::size_t i = 0; i < count; ++i)
        d.copy(reinterpret_cast<driver::device_pointer>(g.to(i)), g.from(i), small, native);
      d.sync(native);
    }
  };
  add("small/copy 4 KiB and wait/driver", [=](auto& state) { driver_copies(state, 1); });
  add("small/1000 copies of 4 KiB/driver, one by one", [=](auto& state) { driver_copies(state, many); });
});

}  // namespace
