#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "core/trace/model/model.hpp"
#include "instrumentation/ring/producer.hpp"
#include "instrumentation/runtime/stream.hpp"

// Internal: writes the runtime's own records, which are blocks of pools and users, file I/O and host ranges. The
// capture library or the backend records the driver layer below. Any thread may call any function. Each call costs one
// load and a branch if nothing is recorded.

namespace sluice::backend {
class simulated_clock;
}

namespace sluice::runtime::layer_log {

[[nodiscard]] inline bool on() noexcept { return ring::active(); }

/// The clock of a simulated recording; null otherwise.
inline constinit std::atomic<backend::simulated_clock*> recording_clock{nullptr};
[[nodiscard]] std::uint64_t simulated_latest(const backend::simulated_clock& clock) noexcept;

/// True if records use the time-stamp counter, the usual case. False for a simulated clock and CLOCK_MONOTONIC.
[[nodiscard]] inline bool by_counter() noexcept {
  return ring::detail::current_clock.load(std::memory_order_relaxed) == ring::clock_kind::tsc;
}
[[nodiscard]] std::uint64_t now_otherwise() noexcept;

/// The current time on the recording's clock: simulated time in a simulated recording, else the collector's clock.
[[nodiscard]] inline std::uint64_t now() noexcept {
  if (by_counter()) [[likely]]
    return ring::read_tsc();
  return now_otherwise();
}

/// The latest time in the whole process. With a simulated clock, each thread has its own time.
[[nodiscard]] inline std::uint64_t latest() noexcept {
  const backend::simulated_clock* clock = recording_clock.load(std::memory_order_acquire);
  return clock == nullptr ? ring::now() : simulated_latest(*clock);
}

/// Number of the current recording; keys of one recording are invalid in the next. Never 0. Incremented twice per
/// recording: by `recording_comes` before the first event, and by `recording_is_here` once names can be sent.
inline constinit std::atomic<std::uint32_t> recordings{1};
[[nodiscard]] inline std::uint32_t generation() noexcept { return recordings.load(std::memory_order_relaxed); }
void recording_comes() noexcept;
void recording_is_here() noexcept;

/// Sets the clock of a simulated recording; null restores real time. The clock must outlive the recording.
void use_clock(backend::simulated_clock* clock) noexcept;

/// A block of the pool layer or the user layer. `address` is the address used in traces.
struct block {
  trace::layer layer = trace::layer::user;
  memory_space space = memory_space::device;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t reserved = 0;  ///< size after rounding; 0: same as `bytes`
  std::uint64_t parent = 0;    ///< address of the enclosing block of the layer below; 0: the writer finds it
  std::uint64_t pool = 0;
  std::uint64_t begin = 0;   ///< time at which the call began
  bool born_before = false;  ///< true if the block is older than the recording
  std::string_view name{};   ///< tag, or the creating type; the current scoped_tag is added before it
};

void allocated(const stream_ref& stream, const block& b) noexcept;
void freed(const stream_ref& stream, const block& b) noexcept;
void failed(const stream_ref& stream, const block& b, int status) noexcept;

/// A new pool key for traces. It is unique in the process across devices and across copies of this runtime (a program
/// and its libraries may each have a copy). It is not an address, because addresses differ from run to run.
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
