// Files: reads from a file to the device, and from file to file through the device, compared with the link's limit and
// with a plain loop.
//
// Files are 8 GiB on a CUDA device and 64 MiB on the simulated one, in the temporary folder; SLUICE_BENCH_FILE_BYTES
// and TMPDIR override this. The files are in the page cache: the benchmark measures the path through memory, not the
// disk. Uses up to three files.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "instrumentation/runtime/buffer.hpp"
#include "instrumentation/runtime/chunk_pipeline.hpp"
#include "instrumentation/runtime/copy.hpp"
#include "instrumentation/runtime/kernel.hpp"
#include "tests/bench/runtime/lines.hpp"

namespace {

using namespace sluice;
using namespace sluice::runtime;
namespace fs = std::filesystem;

constexpr std::size_t mib = 1u << 20;
constexpr std::size_t plain_chunk = 64 * mib;  // typical for loops of this kind; larger chunks are not faster

// The files of all lines of one device, created on first use and deleted at the end.
class files {
 public:
  explicit files(const device_ref& device) : device_(device) {
    std::string name = (fs::temp_directory_path() / "sluice-bench-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error(name + ": cannot be made; set TMPDIR");
    folder_ = name;
    const char* said = std::getenv("SLUICE_BENCH_FILE_BYTES");
    bytes_ = said ? std::strtoull(said, nullptr, 10) : device.simulated() ? 64 * mib : 8192 * mib;
    bytes_ = std::max<std::uint64_t>(bytes_ / mib, 1) * mib;
  }
  ~files() { fs::remove_all(folder_); }
  files(const files&) = delete;
  files& operator=(const files&) = delete;

  [[nodiscard]] mapped_file in() const { return mapped_file(made("in"), file_access::read_only, device_); }
  [[nodiscard]] mapped_file out(const char* name) const {
    return mapped_file(made(name), file_access::read_write, device_);
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] fs::path made(const char* name) const {
    fs::path path = folder_ / name;
    if (!fs::exists(path)) {
      mapped_file file = mapped_file::create(path, bytes_, device_);
      fill(file);
    }
    return path;
  }
  // Writes every page, so that all of them are in the cache.
  static void fill(mapped_file& file) {
    const std::span<std::byte> items = file.writable_bytes();
    std::vector<std::thread> threads;
    const std::size_t count = std::max(1u, std::thread::hardware_concurrency());
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([=] {
        auto* words = reinterpret_cast<std::uint64_t*>(items.data());
        const std::size_t n = items.size() / 8;
        for (std::size_t i = n * t / count; i < n * (t + 1) / count; ++i) words[i] = i * 0x9E3779B97F4A7C15u;
      });
    }
    for (std::thread& t : threads) t.join();
  }

  device_ref device_;
  fs::path folder_;
  std::uint64_t bytes_ = 0;
};

using files_ptr = std::shared_ptr<std::unique_ptr<files>>;

const files& made(const files_ptr& ptr, const device_ref& device) {
  if (!*ptr) *ptr = std::make_unique<files>(device);
  return **ptr;
}

void set_rate(benchmark::State& state, std::uint64_t bytes) {
  state.counters["rate"] = benchmark::Counter(static_cast<double>(bytes) * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
}

void compute(std::span<std::byte> there, const stream_ref& s) {
  launch(kernels::affine_u32, launch_config::for_size(there.size() / 4), s,
         reinterpret_cast<std::uint32_t*>(there.data()), std::uint64_t{there.size() / 4}, 3u, 1u, 1u);
}

unsigned number(const char* variable, unsigned otherwise) {
  const char* said = std::getenv(variable);
  return said ? static_cast<unsigned>(std::strtoul(said, nullptr, 10)) : otherwise;
}

// A reader for each core, up to 16, and 64 MiB in flight, in copies that are long enough for the link. More data in
// flight would not fit into the CPU's cache, and would be slower. SLUICE_BENCH_READERS, _DEPTH and _CHUNK_BYTES
// override this.
chunk_options find_options(const files& whole, chunk_source source) {
  chunk_options out;
  out.source = source;
  out.readers = number("SLUICE_BENCH_READERS", std::clamp(std::thread::hardware_concurrency(), 4u, 16u));
  out.depth = number("SLUICE_BENCH_DEPTH", 4);
  out.chunk_bytes = number("SLUICE_BENCH_CHUNK_BYTES", 16u << 20);
  // A small file still has enough pieces for a trial.
  while (out.chunk_bytes > 64u << 10 && whole.bytes() / out.chunk_bytes < 4 * out.depth) out.chunk_bytes /= 2;
  return out;
}

void tell(benchmark::State& state, const chunk_report& report) {
  state.counters["registered"] = report.source == chunk_source::registered;
  state.counters["trial_staged"] = report.staged_rate;
  state.counters["trial_registered"] = report.registered_rate;
}

void link(benchmark::State& state, const device_ref& device) {
  const stream s(device);
  const std::size_t bytes = device.simulated() ? 16 * mib : 1024 * mib;
  const pinned_buffer host(bytes, s);
  const device_buffer there(bytes, s);
  std::memset(host.data(), 1, bytes);
  for (auto _ : state) {
    for (int i = 0; i < 4; ++i) copy_async(there.data(), host.data(), bytes, s);
    s.sync();
  }
  set_rate(state, 4 * bytes);
}

void to_device_piped(benchmark::State& state, const device_ref& device, const files& whole, chunk_source source) {
  const mapped_file in = whole.in();
  const chunk_pipeline pipeline(find_options(whole, source), device);
  const auto run = [&] { return pipeline.run(in, nullptr, [](const chunk&, const stream_ref&) {}); };
  chunk_report report = run();  // untimed, to warm the caches, as in all of these benchmarks
  for (auto _ : state) report = run();
  set_rate(state, report.bytes);
  tell(state, report);
}

// Registers a mapping once and copies from it often.
void to_device_pinned(benchmark::State& state, const device_ref& device, const files& whole) {
  const mapped_file in = whole.in();
  const auto pinned = in.pin();
  const chunk_pipeline pipeline(find_options(whole, chunk_source::automatic), device);
  const auto run = [&] { (void)pipeline.run(in, nullptr, [](const chunk&, const stream_ref&) {}); };
  run();
  for (auto _ : state) run();
  set_rate(state, whole.bytes());
}

void to_device_plain(benchmark::State& state, const device_ref& device, const files& whole) {
  const stream s(device);
  const mapped_file in = whole.in();
  const device_buffer there(plain_chunk, s);
  const auto run = [&] {
    for (std::size_t at = 0; at < whole.bytes(); at += plain_chunk) {
      copy(there.data(), in.bytes().data() + at, std::min<std::size_t>(plain_chunk, whole.bytes() - at), s);
    }
  };
  run();
  for (auto _ : state) run();
  set_rate(state, whole.bytes());
}

// Every word of the output is the result for the corresponding input word.
void check(benchmark::State& state, const files& whole, const mapped_file& out) {
  const mapped_file in = whole.in();
  const auto t = in.as<std::uint32_t>(), to = out.as<std::uint32_t>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < t.size(); ++i) wrong += to[i] != t[i] * 3 + 1;
  if (wrong != 0) state.SkipWithError(fmt::format("{} words of the result are wrong", wrong).c_str());
}

void round_trip_piped(benchmark::State& state, const device_ref& device, const files& whole) {
  const mapped_file in = whole.in();
  mapped_file out = whole.out("piped");
  const chunk_pipeline pipeline(find_options(whole, chunk_source::automatic), device);
  const auto run = [&] {
    return pipeline.run(in, &out, [](const chunk& c, const stream_ref& s) { compute(c.device, s); });
  };
  chunk_report report = run();
  for (auto _ : state) report = run();
  set_rate(state, report.bytes);
  tell(state, report);
  check(state, whole, out);
}

// Equivalent to `there = cupy.asarray(file[i:j]); compute; out[i:j] = there.get()`, without Python.
void round_trip_plain(benchmark::State& state, const device_ref& device, const files& whole) {
  const stream s(device);
  const mapped_file in = whole.in();
  mapped_file out = whole.out("plain");
  const auto run = [&] {
    for (std::size_t at = 0; at < whole.bytes(); at += plain_chunk) {
      const std::size_t bytes = std::min<std::size_t>(plain_chunk, whole.bytes() - at);
      const device_buffer there(bytes, s);
      copy(there.data(), in.bytes().data() + at, bytes, s);
      compute(there.as<std::byte>(), s);
      const std::unique_ptr<std::byte[]> result(new std::byte[bytes]);
      copy(result.get(), there.data(), bytes, s);
      std::memcpy(out.writable_bytes().data() + at, result.get(), bytes);
    }
  };
  run();
  for (auto _ : state) run();
  set_rate(state, whole.bytes());
  check(state, whole, out);
}

const bench::topic_lines lines([](const device_ref& device) {
  const auto whole = std::make_shared<std::unique_ptr<files>>();
  const auto add = [&](const std::string& name, const char* bar, auto run) {
    bench::line(device, "files/" + name,
                [=](benchmark::State& state) {
                  // The targets concern real links and CPUs.
                  if (!device.simulated()) state.SetLabel(bar);
                  run(state, device, made(whole, device));
                })
        ->Unit(benchmark::kMillisecond)
        ->Iterations(name.ends_with("plain") ? 1 : 5)
        ->UseRealTime();
  };
  add("link/pinned", "", [](auto& state, const auto& d, const files&) { link(state, d); });
  const char* near_the_link = "rate >= 0.95 of files/link/pinned";
  for (const auto& [name, source] : {std::pair{"sluice", chunk_source::automatic},
                                     {"sluice-staged", chunk_source::staged},
                                     {"sluice-registered", chunk_source::registered}}) {
    add(std::string("to-device/") + name, source == chunk_source::automatic ? near_the_link : "",
        [s = source](auto& state, const auto& d, const files& f) { to_device_piped(state, d, f, s); });
  }
  add("to-device/sluice-pinned", near_the_link, to_device_pinned);
  add("to-device/plain", "", to_device_plain);
  add("round-trip/plain", "", round_trip_plain);
  add("round-trip/sluice", "rate >= 4 of files/round-trip/plain", round_trip_piped);
});

}  // namespace
