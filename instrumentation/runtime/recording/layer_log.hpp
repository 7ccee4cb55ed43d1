#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/trace/model/model.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/stream.hpp"

// The runtime's own records: blocks of pools and users, file I/O, host ranges. The driver's layer below is written by
// the capture library, or by the backend. Internal. Every function is a load and a branch when nobody records, and
// may be called from any thread.

namespace sluice::backend {
class simulated_clock;
}

namespace sluice::runtime::layer_log {

[[nodiscard]] inline bool on() noexcept { return collector::active(); }

/// The clock of a simulated recording; null otherwise.
inline constinit std::atomic<backend::simulated_clock*> recording_clock{nullptr};
[[nodiscard]] std::uint64_t simulated_latest(const backend::simulated_clock& clock) noexcept;

/// A recording is on the time-stamp counter, which is usual. False of a simulated clock's.
[[nodiscard]] inline bool by_counter() noexcept {
  return collector::detail::current_clock.load(std::memory_order_relaxed) == collector::clock_kind::tsc;
}
[[nodiscard]] std::uint64_t now_otherwise() noexcept;

/// Now, on the clock of the recording: simulated if the recording is, else the collector's.
[[nodiscard]] inline std::uint64_t now() noexcept {
  if (by_counter()) [[likely]]
    return collector::read_tsc();
  return now_otherwise();
}

/// The same of the whole process: on a simulated clock threads have times of their own.
[[nodiscard]] inline std::uint64_t latest() noexcept {
  const backend::simulated_clock* clock = recording_clock.load(std::memory_order_acquire);
  return clock == nullptr ? collector::now() : simulated_latest(*clock);
}

/// Counts recordings: what is called by a key in one is called by another in the next. Never 0. It moves twice a recording, by
/// `recording_comes` before the first event can be written and by `recording_is_here` once names can be sent.
inline constinit std::atomic<std::uint32_t> recordings{1};
[[nodiscard]] inline std::uint32_t generation() noexcept { return recordings.load(std::memory_order_relaxed); }
void recording_comes() noexcept;
void recording_is_here() noexcept;

/// The clock of a simulated recording; null goes back to real time. It must outlive the recording.
void use_clock(backend::simulated_clock* clock) noexcept;

/// A block of the pool layer or of the user's. `address` is as traces name it.
struct block {
  trace::layer layer = trace::layer::user;
  memory_space space = memory_space::device;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< with rounding; 0: `bytes`
  std::uint64_t parent = 0;    ///< address of the block of the layer below that holds it; 0: found by address
  std::uint64_t pool = 0;
  std::uint64_t begin = 0;   ///< entry of the call
  bool born_before = false;  ///< existed when the recording began
  std::string_view name{};   ///< tag, or the type that made it; within a scoped_tag that goes before it
};

void allocated(const stream_ref& stream, const block& b) noexcept;
void freed(const stream_ref& stream, const block& b) noexcept;
void failed(const stream_ref& stream, const block& b, int status) noexcept;

/// The next pool's name in traces, like no other in the process, whatever the device, and whichever copy of this runtime makes it (a
/// program and its libraries may have one each). An address would differ from run to run.
[[nodiscard]] std::uint64_t next_pool_key() noexcept;
void define_pool(const device_ref& device, std::uint64_t pool, memory_space space, std::string_view name) noexcept;
void pool_state(std::uint64_t pool, std::uint64_t reserved, std::uint64_t used,
                trace::pool_operation operation) noexcept;

void file_io(trace::file_operation operation, std::string_view file, std::uint64_t offset, std::uint64_t bytes,
             std::uint64_t begin) noexcept;
void range(std::string_view name, std::uint64_t begin) noexcept;
void marker(std::string_view name, std::int64_t step) noexcept;
void define_counter(std::uint64_t counter, std::string_view name, trace::counter_unit unit) noexcept;
void counter(std::uint64_t counter, double value) noexcept;

}  // namespace sluice::runtime::layer_log
