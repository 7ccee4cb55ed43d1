#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/metrics/base/stack_use.hpp"
#include "core/metrics/comparison/idle_changes.hpp"
#include "core/metrics/idle/idle_gaps.hpp"
#include "core/metrics/statistics/range_statistics.hpp"
#include "core/symbols/frames.hpp"
#include "core/trace/file/reader.hpp"
#include "core/trace/model/tables.hpp"

/// Computes the differences between two recordings, or between two time ranges of one recording.
namespace sluice::index {
class event_store;
}

namespace sluice::metrics {

/// Memory metrics of one of the two compared recordings, with the call stacks that hold or allocate that memory.
struct compared_memory {
  memory_statistics metrics;
  stack_use at_peak;    ///< Blocks live when the use of this memory is highest, by call stack.
  stack_use allocated;  ///< Blocks allocated in the range, by call stack.
};

/// Transfer metrics of one of the two compared recordings, with the call stacks that requested the copies.
struct compared_transfers {
  transfer_statistics metrics;
  stack_use sites;  ///< Bytes copied, by the call stack that requested the copy.
};

/// All metrics of one recording, or of a time range in it, that `compare` needs.
struct compared_metrics {
  std::vector<compared_memory> memory;        ///< Sorted by device, layer and kind.
  std::vector<compared_transfers> transfers;  ///< Sorted by device and direction.
  std::vector<device_idle> idle;              ///< Sorted by device; only devices that ran kernels.
};

/// Returns the part of `whole` that belongs to `device`.
[[nodiscard]] compared_metrics metrics_of_device(const compared_metrics& whole, trace::device_id device);

/// Returns the text by which `compare` recognizes a frame in another recording. Frames with the same text are the same
/// code.
[[nodiscard]] std::string text_to_match(const symbols::frame_line& line);

/// Computes the metrics of `range` for `compare` from the events in `store`, which must have read all of `trace`.
/// O(events log events).
[[nodiscard]] compared_metrics metrics_to_compare(const index::event_store& store, const trace::snapshot& trace,
                                                  time_range range);

/// Returns text such as " (+12 %)", to append to a difference; empty if `before` is zero or so small that the value
/// grew more than a hundredfold.
[[nodiscard]] std::string percent_of_change(double before, double after);

/// One of the two inputs of `compare`, each with its own tables of names and ids.
struct diff_side {
  const compared_metrics& metrics;
  const trace::tables& tables;
};

/// How `compare` pairs the devices of the two sides.
enum class device_match : std::uint8_t {
  by_ordinal,  ///< Pairs devices with the same number. Used for two ranges of one recording.
  /// If both sides used the same number of devices, pairs the first device of each side, the second of each, and so on,
  /// because the same program may get other GPUs in another run. Otherwise, works like `by_ordinal`.
  by_role,
};

/// One call stack before and after. Two stacks are the same if their functions and file names (without folders) are
/// equal, and so are the program lines to which they are attributed. Lines that only moved, for example because text
/// was inserted above them, count as equal. All lines of a function are assumed to have moved by the same distance,
/// which is the distance that makes most lines match. All events without a stack count as one stack.
struct stack_change {
  symbols::frame_line line;  ///< The program line to which the stack is attributed.
  /// The line number in `after`; the expected number if only `before` has the stack.
  std::uint64_t line_after = 0;
  /// The frames of the stack, innermost frame first, from `after` if it has the stack. Empty if no stack was recorded.
  std::vector<symbols::frame_line> stack;
  stack_metrics before, after;
  /// The ids in each recording of the stacks that this change covers.
  std::vector<trace::stack_id> stacks_before, stacks_after;
  [[nodiscard]] bool appeared() const { return before.count == 0 && after.count > 0; }
  [[nodiscard]] bool vanished() const { return before.count > 0 && after.count == 0; }
};

/// The ordinals of a device on each side; -1 for the host or an unknown device.
struct matched_device {
  std::int64_t before = -1;
  std::int64_t after = -1;
  friend bool operator==(const matched_device&, const matched_device&) = default;
};

/// The change of the memory of one layer and kind on a device.
struct memory_change {
  matched_device device;
  trace::layer layer = trace::layer::driver;
  trace::memory_kind kind = trace::memory_kind::unknown;
  memory_statistics before, after;      ///< All members are zero if that recording has no such memory.
  std::vector<stack_change> at_peak;    ///< Bytes live at each recording's peak, by stack; largest difference first.
  std::vector<stack_change> allocated;  ///< Bytes allocated in the range, by stack; largest difference first.
};

/// The change of the copies of one direction on a device.
struct transfer_change {
  matched_device device;
  trace::direction direction = trace::direction::unknown;
  transfer_statistics before, after;
  std::vector<stack_change> sites;  ///< Bytes copied, by requesting call stack; largest difference first.
};

/// The change of the time in which a device was idle.
struct idle_change {
  matched_device device;
  device_idle before, after;              ///< All members are zero if the device ran no kernels on that side.
  std::vector<idle_cause_change> causes;  ///< Largest change first; with those that did not change.
};

/// Returns the change in one line, such as "idle 12.0 s of 30.0 s -> 2.00 s of 20.1 s; went away: the host compiles CUDA
/// C++ (NVRTC), at model.py:64 (forward) (-9.40 s)".
[[nodiscard]] std::string describe_idle_change(const idle_change& change);

/// The result of `compare`.
struct difference {
  std::vector<memory_change> memory;       ///< Sorted by device, layer and kind.
  std::vector<transfer_change> transfers;  ///< Sorted by device and direction.
  std::vector<idle_change> idle;           ///< Sorted by device.
};

/// Compares `before` with `after`. Because ids differ between recordings, stacks are matched by the text of their
/// frames. The frame caches resolve native functions on the machine that runs this. O(frames of all stacks).
[[nodiscard]] difference compare(const diff_side& before, symbols::frame_cache& names_before, const diff_side& after,
                                 symbols::frame_cache& names_after, device_match devices = device_match::by_role);

}  // namespace sluice::metrics
