#pragma once

#include "core/trace/model/kinds.hpp"

/// What the environment asks of the capture library. Read once, at its start.
namespace sluice::capture {

/// Whose frames are in the stacks of allocations, copies and memsets.
enum class stack_mode : unsigned char { none, python, native, all };

struct capture_options {
  /// SLUICE_MODE=memory|timeline|all
  trace::recording_mode mode = trace::recording_mode::memory;
  /// SLUICE_GRAPHS=node: each node of a graph is traced; else a launch is one interval (tracing each node makes replays up
  /// to 1.6 times as long).
  bool graph_nodes = false;
  stack_mode stacks = stack_mode::python;  ///< SLUICE_STACKS=none|python|native|all
  bool launch_stacks = false;              ///< SLUICE_MODE=all: launches have stacks too.
  /// SLUICE_FIND_DUPLICATES=PERCENT: what host-to-device copies move is hashed, in at most this share of each thread's time; 0: not.
  unsigned duplicates_percent = 0;
  // SLUICE_CAPTURE_WITHOUT=part,part: parts to leave out, to measure what each costs.
  bool launch_calls = true;  ///< "launches": the calls that launch kernels
  bool touches = true;       ///< "touches": which blocks their parameters name
  bool kernels = true;       ///< "kernels": their device times; not in `memory` mode
  bool copies = true;        ///< "copies": device times of copies and memsets
  bool graphs = true;        ///< "graphs": intervals of graph launches
  bool migrations = true;    ///< "migrations": of managed memory
  bool samples = true;       ///< "samples": of device memory and pools
  bool flushes = true;       ///< "flushes": fetching device times before the end
  bool autograd = true;      ///< "autograd": whose backward pass it is that threads of PyTorch's own run
  // "entry-points": memory mode through CUPTI, as the other modes (may_use_entry_points)
  bool clock = true;  ///< "clock": CUPTI's times on the trace's clock (without it they cannot be placed)
};

extern capture_options options;

/// The mode holds what `mode` does, or more.
[[nodiscard]] inline bool records_at_least(trace::recording_mode mode) { return options.mode >= mode; }

/// Fills `options` from the environment; `otherwise` is the mode if it names none.
void read_options(trace::recording_mode otherwise) noexcept;

/// The environment asks for a recording in `memory` mode: the driver's functions may be handed out as ours. Asked before anything
/// of CUDA runs, and in processes that never use it: connects to nobody. O(1) from the second time on.
[[nodiscard]] bool may_use_entry_points() noexcept;

}  // namespace sluice::capture
