#pragma once

#include "core/trace/model/kinds.hpp"

/// The options of the capture library. They are read from environment variables once, when the library starts.
namespace sluice::capture {

/// Which frames the stacks of allocations, copies and memsets contain.
enum class stack_mode : unsigned char { none, python, native, all };

struct capture_options {
  /// SLUICE_MODE=memory|timeline|all
  trace::recording_mode mode = trace::recording_mode::memory;
  /// SLUICE_GRAPHS=node: record each node of a launched graph. Otherwise a launch is recorded as one interval, because
  /// tracing each node makes replays up to 1.6 times as long.
  bool graph_nodes = false;
  stack_mode stacks = stack_mode::python;  ///< SLUICE_STACKS=none|python|native|all
  bool launch_stacks = false;              ///< SLUICE_MODE=all: record stacks of launches too.
  /// SLUICE_FIND_DUPLICATES=PERCENT: hash copies to and from the host, in at most this share of a thread's time; 0:
  /// off.
  unsigned duplicates_percent = 0;
  /// SLUICE_SAMPLING=HZ: how often the Python frames of all threads are read, per second; 0: never. Always 0 in `memory`
  /// mode.
  unsigned sampling_hz = 0;
  // SLUICE_CAPTURE_WITHOUT=NAME,NAME: turns off the features with these (quoted) names, to measure what each costs.
  bool launch_calls = true;  ///< "launches": the calls that launch kernels
  bool touches = true;       ///< "touches": the memory blocks in launch parameters
  bool kernels = true;       ///< "kernels": device times of kernels; not in `memory` mode
  bool copies = true;        ///< "copies": device times of copies and memsets
  bool graphs = true;        ///< "graphs": intervals of graph launches
  bool migrations = true;    ///< "migrations": migrations of managed memory
  bool samples = true;       ///< "samples": regular samples of device memory and pool sizes
  bool flushes = true;       ///< "flushes": fetching device times before the recording ends
  bool autograd = true;      ///< "autograd": inferred stacks for PyTorch's backward threads
  // "entry-points": without them, memory mode uses CUPTI like the other modes (may_use_entry_points)
  bool clock = true;  ///< "clock": CUPTI's times on the trace's clock; without this, they are unusable
};

extern capture_options options;

/// True if the current mode includes everything that `mode` records.
[[nodiscard]] inline bool records_at_least(trace::recording_mode mode) { return options.mode >= mode; }

/// Fills `options` from the environment. `otherwise` is the mode to use if the environment sets no mode.
void read_options(trace::recording_mode otherwise) noexcept;

/// True if the environment asks for `memory` mode, so that our functions may replace the driver's. The capture library
/// calls this before any CUDA code runs, also in processes that never use CUDA. So this function does not connect to
/// the writer. O(1) from the second call on.
[[nodiscard]] bool may_use_entry_points() noexcept;

/// True if the environment asks for hashing the contents of copies. Like `may_use_entry_points`, but reads the
/// environment each time.
[[nodiscard]] bool may_look_at_contents() noexcept;

}  // namespace sluice::capture
