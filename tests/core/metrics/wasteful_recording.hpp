#pragma once

#include <initializer_list>
#include <string_view>

#include "core/metrics/make_report.hpp"
#include "core/metrics/report/report.hpp"
#include "tests/core/recordings/recording.hpp"
#include "tests/core/recordings/stacks.hpp"

/// A synthetic recording of a program that wastes memory or time. All time parameters are in microseconds.
namespace sluice::testing {

inline constexpr time_ns us = 1'000;

class wasteful_recording {
 public:
  wasteful_recording() { recorded.standard_tables(); }

  void alloc(time_ns time, std::uint64_t block, std::uint64_t bytes, trace::stack_id stack = {}) {
    auto row = recorded.event<trace::alloc_event>(time * us);
    row.block = trace::block_id{block};
    row.bytes = bytes;
    row.kind = trace::memory_kind::device;
    row.device = trace::device_id{1};
    row.address = block << 32;
    row.stack = stack;
    recorded.writer().add(row);
  }
  void free(time_ns time, std::uint64_t block) { recorded.add_free(time * us, block); }
  /// Launches a kernel that uses the blocks.
  void launch(time_ns time, std::initializer_list<std::uint64_t> blocks, std::string_view kernel = "gemm") {
    for (const std::uint64_t block : blocks) {
      auto row = recorded.event<trace::touch_event>(time * us);
      row.block = trace::block_id{block};
      row.name = recorded.text(kernel);
      recorded.writer().add(row);
    }
  }
  /// Launches a kernel that uses the block, every 10 us in [from, to).
  void work(time_ns begin, time_ns to, std::uint64_t block) {
    for (time_ns time = begin; time < to; time += 10) launch(time, {block});
  }
  void clear(time_ns time, std::uint64_t block, std::uint64_t bytes) {
    auto row = recorded.event<trace::memset_event>(time * us);
    row.end = row.time + us;
    row.block = trace::block_id{block};
    row.bytes = bytes;
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    recorded.writer().add(row);
  }
  void upload(time_ns time, std::uint64_t block, std::uint64_t bytes) {
    auto row = recorded.event<trace::transfer_event>(time * us);
    row.end = row.time + us;
    row.enqueued = row.time;
    row.bytes = bytes;
    row.direction = trace::direction::h2d;
    row.source_kind = trace::memory_kind::pinned;
    row.destination_kind = trace::memory_kind::device;
    row.destination_block = trace::block_id{block};
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{1};
    recorded.writer().add(row);
  }
  void kernel(time_ns begin, time_ns to) { recorded.add_kernel(begin * us, to * us); }
  void call(time_ns begin, time_ns to, std::string_view name) { recorded.add_call(begin * us, to * us, name); }

  /// Closes the recording and computes its waste metrics.
  [[nodiscard]] metrics::waste_metrics waste() {
    recorded.close();
    const indexed loaded(recorded.open());
    return metrics::compute_metrics(loaded.index, *loaded.snapshot).waste;
  }

  recording recorded;
  stack_maker stack{recorded};
};

}  // namespace sluice::testing
