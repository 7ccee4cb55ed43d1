// Writing, opening and reading a trace: rows per second, on a file in memory so that the disk is not measured.
#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <unistd.h>

#include <random>
#include <string>

#include "core/trace/file/reader.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice::trace {
namespace {

/// A file in memory, with a path.
class memory_file {
 public:
  memory_file() : descriptor_(memfd_create("bench", MFD_CLOEXEC)) {}
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file() { ::close(descriptor_); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// `count` kernels and as many copies, as in a training loop: a few names and sizes, and varying durations.
std::uint64_t write_recording(const std::string& path, std::int64_t count) {
  auto writer = std::move(file_writer::create(path).value());
  const string_id names[] = {writer.intern("gemm"), writer.intern("softmax"), writer.intern("adam")};
  std::minstd_rand random(7);
  time_ns now = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    kernel_event kernel;
    kernel.time = now += 1'000 + static_cast<time_ns>(random() % 1'000);
    kernel.end = now += 4'000 + static_cast<time_ns>(random() % 4'000);
    kernel.name = names[i % 3];
    writer.add(kernel);
    transfer_event copy;
    copy.time = now += 1'000 + static_cast<time_ns>(random() % 1'000);
    copy.end = now += 2'000 + static_cast<time_ns>(random() % 1'000);
    copy.bytes = std::uint64_t{1} << (12 + i % 10);
    writer.add(copy);
  }
  (void)writer.close();
  return writer.bytes_written();
}

void write(benchmark::State& state) {
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const memory_file file;
    bytes = write_recording(file.path(), state.range(0));
  }
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
  state.counters["bytes/row"] = static_cast<double>(bytes) / static_cast<double>(2 * state.range(0));
}
BENCHMARK(write)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// Measures the wait before the first image: reads the index and the tables.
void open(benchmark::State& state) {
  const memory_file file;
  write_recording(file.path(), state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(trace::file::open(file.path()).value()->latest()->chunks().size());
}
BENCHMARK(open)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void read_every_row(benchmark::State& state) {
  const memory_file file;
  write_recording(file.path(), state.range(0));
  for (auto _ : state) {
    time_ns busy = 0;
    const auto snapshot = trace::file::open(file.path()).value()->latest();
    (void)snapshot->for_each<kernel_event>([&](const kernel_event& row) { busy += row.end - row.time; });
    (void)snapshot->for_each<transfer_event>([&](const transfer_event& row) { busy += row.end - row.time; });
    benchmark::DoNotOptimize(busy);
  }
  state.SetItemsProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(read_every_row)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice::trace
