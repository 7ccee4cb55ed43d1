#pragma once

#include <string_view>

#include "tests/core/metrics/wasteful_recording.hpp"

/// Recordings of programs that multiply matrices. All time parameters are in microseconds.
namespace sluice::testing {

inline constexpr std::string_view sgemm = "ampere_sgemm_128x64_tn";

/// A kernel that the host requested at `requested`.
inline void add_product(wasteful_recording& to, time_ns requested, time_ns begin, time_ns end,
                        std::string_view name = sgemm) {
  auto row = to.recorded.event<trace::kernel_event>(begin * us);
  row.end = end * us;
  row.enqueued = requested * us;
  row.name = to.recorded.text(name);
  row.device = trace::device_id{1};
  row.stream = trace::stream_id{1};
  to.recorded.writer().add(row);
}

/// A wait of the host for the device.
inline void add_wait(wasteful_recording& to, time_ns begin, time_ns end) {
  auto row = to.recorded.event<trace::sync_event>(begin * us);
  row.end = end * us;
  to.recorded.writer().add(row);
}

/// Gives the device this compute capability.
inline void set_capability(wasteful_recording& to, std::uint32_t major, std::uint32_t minor) {
  trace::device_row device;
  device.id = trace::device_id{1};
  device.name = to.recorded.text("a GPU");
  device.kind = trace::device_kind::cuda;
  device.ordinal = 0;
  device.compute_major = major;
  device.compute_minor = minor;
  to.recorded.writer().add(device);
}

}  // namespace sluice::testing
