// The times of a view's queries, and of indexing a trace before the first query.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <random>

#include "core/index/growing_index.hpp"
#include "core/metrics/make_report.hpp"
#include "core/query/results/query_operator.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/file/writer.hpp"

namespace sluice {
namespace {

/// A training-like trace: kernels on four streams, calls that launch them, blocks of a caching allocator, copies, samples.
std::string make_trace(std::int64_t events) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice-bench-" + std::to_string(::getpid()) + ".sluice")).string();
  auto writer = trace::file_writer::create(path).value();
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> live;
  std::uint64_t blocks = 0;
  trace::time_ns now = 0;
  const auto in = [&](auto row) {
    row.process = trace::process_id{1};
    row.thread = trace::thread_id{1};
    return row;
  };
  for (std::int64_t i = 0; i < events; ++i) {
    now += static_cast<trace::time_ns>(random() % 4000);
    const auto kind = random() % 100;
    if (kind < 35) {
      auto row = in(trace::kernel_event{});
      row.time = now;
      row.end = now + static_cast<trace::time_ns>(random() % 8000);
      row.stream = trace::stream_id{1 + random() % 4};
      row.device = trace::device_id{1};
      row.name = writer.intern("kernel " + std::to_string(random() % 60));
      writer.add(row);
    } else if (kind < 70) {
      auto row = in(trace::api_call_event{});
      row.time = now;
      row.end = now + 2500;
      row.name = writer.intern("cuLaunchKernel");
      writer.add(row);
    } else if (kind < 95) {
      if (live.size() < 200 || random() % 2 == 0) {
        auto row = in(trace::alloc_event{});
        row.time = now;
        row.block = trace::block_id{++blocks};
        row.bytes = 512 << (random() % 16);
        row.layer = trace::layer::framework;
        row.kind = trace::memory_kind::device;
        row.device = trace::device_id{1};
        live.push_back(blocks);
        writer.add(row);
      } else {
        const std::size_t at = random() % live.size();
        auto row = in(trace::free_event{});
        row.time = now;
        row.block = trace::block_id{live[at]};
        live[at] = live.back();
        live.pop_back();
        writer.add(row);
      }
    } else {
      auto row = in(trace::transfer_event{});
      row.time = now;
      row.end = now + static_cast<trace::time_ns>(random() % 100'000);
      row.bytes = random() % 4'000'000;
      row.direction = random() % 2 == 0 ? trace::direction::h2d : trace::direction::d2h;
      row.source_kind = row.destination_kind = trace::memory_kind::pinned;
      row.stream = trace::stream_id{5};
      row.device = trace::device_id{1};
      writer.add(row);
    }
  }
  static_cast<void>(writer.close());
  return path;
}

/// One indexed trace of a size, created once and kept.
struct taken_in {
  explicit taken_in(std::int64_t events)
      : path(make_trace(events)), file(trace::file::open(path).value()), snapshot(file->latest()) {
    while (!index.absorb(*snapshot, 1 << 20)) {
    }
  }
  ~taken_in() { std::filesystem::remove(path); }
  std::string path;
  std::shared_ptr<trace::file> file;
  std::shared_ptr<const trace::snapshot> snapshot;
  index::growing_index index;
};

const taken_in& get_trace(std::int64_t events) {
  static std::map<std::int64_t, std::unique_ptr<taken_in>> ins;
  auto& known = ins[events];
  if (!known) known = std::make_unique<taken_in>(events);
  return *known;
}

void take_in(benchmark::State& state) {
  const taken_in& in = get_trace(state.range(0));
  for (auto _ : state) {
    index::growing_index index;
    while (!index.absorb(*in.snapshot, 1)) {
    }
    benchmark::DoNotOptimize(index.events());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(take_in)->Arg(1'000'000)->Arg(4'000'000)->Unit(benchmark::kMillisecond);

/// Queries every track that a window shows, 1600 pixels wide, for a range in the middle of the trace. The second
/// argument is the share of the trace that the range covers, as a power of ten.
void all_tracks(benchmark::State& state) {
  const taken_in& in = get_trace(state.range(0));
  const std::atomic<bool> never{false};
  symbols::frame_cache frames;
  bool provisional = false;
  const query::sources sources{
      .index = in.index, .trace = *in.snapshot, .cancelled = never, .frames = frames, .provisional = provisional};
  const auto tracks = query::result_to(query::tracks_query{}, sources).value();
  trace::time_ns length = tracks.span.length();
  for (std::int64_t i = 0; i < state.range(1); ++i) length /= 10;
  const trace::time_ns begin = (tracks.span.length() - length) / 2;
  for (auto _ : state) {
    for (const query::track& t : tracks.tracks) {
      const bool curves = t.kind == query::track_kind::memory || t.kind == query::track_kind::bandwidth;
      if (curves) {
        benchmark::DoNotOptimize(query::result_to(query::series_query{t.id, {begin, begin + length}, 1600}, sources));
      } else {
        benchmark::DoNotOptimize(query::result_to(query::slices_query{t.id, {begin, begin + length}, 1600}, sources));
      }
    }
  }
}
BENCHMARK(all_tracks)->ArgsProduct({{1'000'000, 4'000'000}, {0, 1, 2, 4}})->Unit(benchmark::kMicrosecond);

void statistics(benchmark::State& state) {
  const taken_in& in = get_trace(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(metrics::measure(in.index, in.snapshot->tables(), index::recorded_range(*in.snapshot)));
  }
}
BENCHMARK(statistics)->Arg(1'000'000)->Arg(4'000'000)->Unit(benchmark::kMillisecond);

void summary(benchmark::State& state) {
  const taken_in& in = get_trace(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(metrics::make_report(in.index, *in.snapshot));
}
BENCHMARK(summary)->Arg(1'000'000)->Arg(4'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sluice
