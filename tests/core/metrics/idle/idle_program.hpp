#pragma once

#include <string_view>
#include <vector>

#include "core/metrics/idle/idle_gaps.hpp"
#include "tests/core/recordings/recording.hpp"

/// A synthetic recording of calls and of the work that they request. All times are in microseconds.
namespace sluice::testing {

class idle_program {
 public:
  static constexpr time_ns us = 1'000;

  idle_program() { recorded.standard_tables(); }

  /// Records a kernel that runs in [begin, end). Its launch call begins at `called` and takes `takes`.
  void launch(time_ns called, time_ns begin, time_ns end, time_ns takes = 3, std::string_view kernel = "gemm",
              std::uint64_t stream = 1) {
    call(called, called + takes, "cuLaunchKernel");
    kernel_of(called, begin, end, kernel, stream);
  }
  /// Records a kernel whose call began at `called` without the call.
  void kernel_of(time_ns called, time_ns begin, time_ns end, std::string_view name = "gemm", std::uint64_t stream = 1) {
    auto row = recorded.event<trace::kernel_event>(begin * us);
    row.end = end * us;
    row.enqueued = called * us;
    row.name = recorded.text(name);
    row.device = trace::device_id{1};
    row.stream = trace::stream_id{stream};
    recorded.writer().add(row);
  }
  void call(time_ns begin, time_ns end, std::string_view name, std::uint64_t thread = 1) {
    auto row = recorded.event<trace::api_call_event>(begin * us);
    row.end = end * us;
    row.name = recorded.text(name);
    row.thread = trace::thread_id{thread};
    recorded.writer().add(row);
  }

  /// Closes the recording and adds it to a builder, cut at `cuts` (us, in order).
  [[nodiscard]] metrics::idle_gaps_builder build(const std::vector<time_ns>& cuts = {}) {
    if (!loaded_) {
      recorded.close();
      loaded_ = std::make_unique<indexed>(recorded.open());
      scope_ = {loaded_->snapshot.get(), bounded(all_time)};
    }
    metrics::idle_gaps_builder builder(scope_, 100);
    builder.keep_parts();
    time_ns begin = -latest_time;
    for (const time_ns cut : cuts) {
      builder.add(loaded_->index, {begin, cut * us});
      begin = cut * us;
    }
    builder.add(loaded_->index, {begin, latest_time});
    return builder;
  }

  recording recorded;

 private:
  std::unique_ptr<indexed> loaded_;
  metrics::metrics_scope scope_;
};

/// Returns how long device 1 was idle for this cause, in us.
[[nodiscard]] inline time_ns get_idle(const metrics::idle_gaps_builder& builder, metrics::gap_cause cause) {
  for (const metrics::device_idle& device : builder.devices())
    for (const metrics::cause_time& each : device.causes)
      if (device.device == trace::device_id{1} && each.cause == cause) return each.total / idle_program::us;
  return 0;
}

}  // namespace sluice::testing
