#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/time/time_range.hpp"
#include "core/timeline/slice_set.hpp"

/// The causes for which a device is idle, their words, and the calls and ranges that indicate them.
namespace sluice::metrics {

/// Why a device had no work. Files store these numbers, so new causes go to the end.
enum class gap_cause : std::uint8_t {
  host,           ///< The program's own code, or a call that has no cause of its own.
  wait,           ///< A call that only waits for the device, such as cuStreamSynchronize.
  blocking_copy,  ///< A copy call that returns only when the copy is done, because it is synchronous or uses pageable
                  ///< memory.
  allocation,     ///< cuMemAlloc and similar calls.
  release,        ///< cuMemFree and similar calls, which wait for the device.
  loading,        ///< Calls that compile, load or instantiate modules, libraries or graphs.
  file,           ///< Reading or writing a file.
  // The following causes are the program's own code inside a range with one of these names. Sluice itself records these
  // ranges: see instrumentation/capture.
  garbage,      ///< "garbage collection": Python's garbage collector.
  compilation,  ///< "torch.compile".
  data,         ///< "next batch of the DataLoader", or torch.profiler's "enumerate(DataLoader)...".
  // The following causes count only while all threads that launch work are waiting, because some threads always wait,
  // such as a backward thread between two passes.
  lock,  ///< "waiting for a lock", "waiting for another thread".
  gil,   ///< "waiting for Python's GIL".
  // The following causes need no activity of the host.
  launch,  ///< The host launches one kernel after another, but more slowly than the device runs them.
  queued   ///< The next work was enqueued before the last work ended: it waits for a dependency or for the device.
};
inline constexpr std::size_t gap_cause_count = 14;

/// Returns the cause that a range of this name indicates; `host` for the program's own ranges.
[[nodiscard]] gap_cause cause_of_range(std::string_view name);

/// Returns the cause that a call of this name indicates; `host` for calls that return at once.
[[nodiscard]] gap_cause cause_of_call(std::string_view name);

/// Returns the cause of a recorded copy call (`name` contains "Memcpy"), by its size and duration.
[[nodiscard]] gap_cause cause_of_copy(const timeline::slice_item& call, std::string_view name);
/// A copy call that is named asynchronous but takes this long waits for its source or for the device.
inline constexpr time_ns blocking_copy_time = 50'000;
/// A call that reads data from the device in less time did not wait.
inline constexpr time_ns min_read_time = 8'000;
/// A copy to the host of at most this many bytes reads a value that the program wants to inspect.
inline constexpr std::uint64_t small_read = 4096;

/// True if a call with this cause blocks the host, which could otherwise run ahead of the device.
[[nodiscard]] bool blocks_host(gap_cause cause);

/// Returns the cause as findings word it, such as "synchronization".
[[nodiscard]] std::string_view get_words(gap_cause cause);

/// Returns the cause as one word for SQL and JSON, such as "blocking_copy". These words are public.
[[nodiscard]] std::string_view get_word(gap_cause cause);

}  // namespace sluice::metrics
