#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "tests/core/metrics/wasteful_recording.hpp"

/// Synthetic recordings of jobs with several ranks. All time parameters are in microseconds.
namespace sluice::testing {

inline constexpr const char* all_reduce = "ncclDevKernel_AllReduce_Sum_f32_RING_LL";
inline constexpr const char* send_and_receive = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";

inline void add_rank(wasteful_recording& reported, std::uint64_t process, std::int64_t rank) {
  trace::process_row row;
  row.id = trace::process_id{process};
  row.pid = process;
  row.rank = rank;
  reported.recorded.writer().add(row);
}

inline void alloc(wasteful_recording& reported, std::uint64_t process, time_ns time, std::uint64_t block,
                  std::uint64_t bytes, trace::stack_id stack = {}, trace::layer layer = trace::layer::driver) {
  auto row = reported.recorded.event<trace::alloc_event>(time * us);
  row.process = trace::process_id{process};
  row.block = trace::block_id{block};
  row.bytes = bytes;
  row.layer = layer;
  row.kind = trace::memory_kind::device;
  row.device = trace::device_id{1};
  row.stack = stack;
  reported.recorded.writer().add(row);
}

/// `stream`: 0 selects the stream whose number equals that of the process.
inline void kernel(wasteful_recording& reported, std::uint64_t process, time_ns begin, time_ns to,
                   std::string_view name, std::uint64_t stream = 0) {
  auto row = reported.recorded.event<trace::kernel_event>(begin * us);
  row.process = trace::process_id{process};
  row.end = to * us;
  row.name = reported.recorded.text(name);
  row.device = trace::device_id{1};
  row.stream = trace::stream_id{stream == 0 ? process : stream};
  reported.recorded.writer().add(row);
}

/// A job whose ranks compute and run collectives. Each rank has a block of 64 MiB.
class simulated_job {
 public:
  explicit simulated_job(std::size_t ranks) : now_(ranks, 10), waited_(ranks, 0) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      add_rank(recording_, process(rank), static_cast<std::int64_t>(rank));
      alloc(recording_, process(rank), 0, 1 + rank, 64 * mib);
    }
  }

  void compute(std::size_t rank, time_ns length, std::string_view name = "gemm") {
    kernel(recording_, process(rank), now_[rank], now_[rank] + length, name);
    now_[rank] += length;
  }
  /// Leaves the rank's device idle for `length`.
  void pause(std::size_t rank, time_ns length) { now_[rank] += length; }
  /// Each rank waits for the last one, on its stream with this number; then the collective takes `length` in all ranks,
  /// plus `apart` for each rank after the first.
  void meet(const std::vector<std::size_t>& ranks, time_ns length, std::uint64_t stream,
            std::string_view name = all_reduce, time_ns apart = 0) {
    time_ns last = 0;
    for (const std::size_t rank : ranks) last = std::max(last, now_[rank]);
    for (const std::size_t rank : ranks) {
      kernel(recording_, process(rank), now_[rank], last + length, name, 1000 * process(rank) + stream);
      waited_[rank] += last - now_[rank];
      now_[rank] = last + length;
      length += apart;
    }
  }
  /// Records that the rank's host has waited for its device for `length`, until now.
  void wait_on_host(std::size_t rank, time_ns length) {
    auto wait = recording_.recorded.event<trace::sync_event>((now_[rank] - length) * us);
    wait.end = now_[rank] * us;
    wait.process = trace::process_id{process(rank)};
    wait.thread = trace::thread_id{process(rank)};
    recording_.recorded.writer().add(wait);
  }
  void add_threads() {
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      trace::thread_row row;
      row.id = trace::thread_id{process(rank)};
      row.process = trace::process_id{process(rank)};
      recording_.recorded.writer().add(row);
    }
  }

  [[nodiscard]] static std::uint64_t process(std::size_t rank) { return 10 + rank; }
  /// The total time for which the rank has waited for other ranks.
  [[nodiscard]] time_ns waited(std::size_t rank) const { return waited_[rank]; }
  [[nodiscard]] time_ns now(std::size_t rank) const { return now_[rank]; }
  [[nodiscard]] wasteful_recording& recording() { return recording_; }

 private:
  wasteful_recording recording_;
  std::vector<time_ns> now_;
  std::vector<time_ns> waited_;
};

}  // namespace sluice::testing
