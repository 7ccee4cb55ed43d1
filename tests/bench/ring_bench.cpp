// The cost of a record for the recorded program, and the writer's throughput.
//   ./dev bench
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "instrumentation/ring/clock.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/ring/ring.hpp"
#include "instrumentation/writer/session/session.hpp"

namespace {

using namespace sluice::ring;

/// A ring that is emptied without cost, so that only the producer's side is measured.
void put(benchmark::State& state) {
  std::vector<std::uint64_t> memory((ring_data_offset + (std::size_t{1} << 20)) / 8);
  ring_producer ring;
  ring.format(memory.data(), std::size_t{1} << 20, clock_kind::tsc);
  alloc_record record{};
  for (auto _ : state) {
    record.header.time = 1;
    benchmark::DoNotOptimize(ring.put(&record.header, record_type::alloc, sizeof record));
    ring.header()->tail.store(ring.header()->head.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * sizeof record));
}
BENCHMARK(put);

void read_the_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(read_tsc());
}
BENCHMARK(read_the_clock);

class with_session : public benchmark::Fixture {
 public:
  void SetUp(benchmark::State& state) override {
    if (state.thread_index() != 0) return;
    path_ = (std::filesystem::temp_directory_path() / ("sluice-bench-" + std::to_string(getpid()))).string();
    auto started = writer::session::start(path_);
    if (!started) return state.SkipWithError(started.error().to_string().c_str());
    session_ = std::make_unique<writer::session>(std::move(*started));
    start(session_->socket_name().c_str(), {.ring_bytes = std::size_t{1} << 24});
  }
  void TearDown(benchmark::State& state) override {
    if (state.thread_index() != 0 || !session_) return;
    stop();
    if (const auto summary = session_->stop()) {
      state.counters["lost"] = static_cast<double>(summary->lost_events);
      state.counters["file_bytes_per_event"] =
          static_cast<double>(summary->bytes) / static_cast<double>(summary->events);
    }
    session_.reset();
    std::filesystem::remove(path_);
  }

 private:
  std::string path_;
  std::unique_ptr<writer::session> session_;
};

/// As in the capture library: reads the clock, fills in and emits the record while the writer drains.
BENCHMARK_DEFINE_F(with_session, emit_alloc_and_free)(benchmark::State& state) {
  std::uint64_t address =
      0x7000'0000'0000 + (std::uint64_t{1} << 32) * static_cast<std::uint64_t>(state.thread_index());
  for (auto _ : state) {
    alloc_record born{};
    born.header.time = now();
    born.address = address;
    born.bytes = 4096;
    born.device = no_device;
    emit(born);
    free_record died{};
    died.header.time = now();
    died.address = address;
    emit(died);
    address += 4096;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * 2);
}
// There are few enough iterations to fit into the ring, so that dropped records do not make the result look faster.
BENCHMARK_REGISTER_F(with_session, emit_alloc_and_free)->Iterations(50'000)->Threads(1)->Threads(2);

BENCHMARK_DEFINE_F(with_session, intern_a_known_name)(benchmark::State& state) {
  const std::string name =
      "void gemm_kernel<float, 128, 128, 8, true>(float const*, float const*, float*, int, int, int)";
  for (auto _ : state) benchmark::DoNotOptimize(intern(name.c_str(), name.size()));
}
BENCHMARK_REGISTER_F(with_session, intern_a_known_name);

BENCHMARK_DEFINE_F(with_session, intern_a_known_stack)(benchmark::State& state) {
  std::vector<std::uint64_t> frames(static_cast<std::size_t>(state.range(0)));
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = 0x7f12'3456'0000 + 4711 * i;
  for (auto _ : state) benchmark::DoNotOptimize(intern_stack(frames.data(), frames.size()));
}
BENCHMARK_REGISTER_F(with_session, intern_a_known_stack)->Arg(8)->Arg(32);

void emit_when_nobody_records(benchmark::State& state) {
  for (auto _ : state) {
    marker_record record{};
    benchmark::DoNotOptimize(emit(record));
  }
}
BENCHMARK(emit_when_nobody_records);

}  // namespace
